//! Reading intents and answers, shared by the kernel's commands.

use std::path::Path;

use runseal_core::canon::{Kind, ReadOptions, parse_document};
use runseal_core::ids::QuestionId;
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_kernel::{Answers, Intent, KernelError, Refusal, parse_intent};

use crate::error::{CliError, Named};

/// Reads an intent. A file that is not JSON is an error; JSON that is not an intent is a refusal.
pub fn read_intent(path: &Path) -> Result<Result<Intent, Refusal>, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::INTENT;
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    Ok(parse_intent(&document))
}

/// Reads answers: a JSON object that maps question ids to texts.
pub fn read_answers(path: &Path) -> Result<Answers, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::INTENT;
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    let root = document.root();
    let mut answers = Answers::new();
    if root.kind() != Kind::Object {
        return Err(bad_answers(
            &input.shown(),
            "answers are an object of question ids and texts",
        ));
    }
    for (key, value) in root.members() {
        let text = match value.kind() {
            Kind::String => value.as_str().map(|text| text.into_owned()),
            Kind::Number => value.as_number().map(|number| number.text().to_owned()),
            Kind::Bool => value
                .as_bool()
                .map(|yes| if yes { "yes" } else { "no" }.to_owned()),
            _ => None,
        };
        let (Some(key), Some(text)) = (key.as_str(), text) else {
            let message = format!("the answer to `{}` is not a string", key.to_lossy());
            return Err(bad_answers(&input.shown(), &message));
        };
        let id = QuestionId::parse(&key)
            .map_err(|error| bad_answers(&input.shown(), &error.to_string()))?;
        answers.insert(id, text);
    }
    Ok(answers)
}

fn bad_answers(place: &str, message: &str) -> CliError {
    CliError::new(Outcome::Malformed, "ANSWERS", message)
        .at(place)
        .hint("{\"q_0123456789abcdef\": \"the answer\"}")
}

/// Reports an error of the kernel as a bug in this program.
pub fn internal(error: &KernelError) -> CliError {
    CliError::internal(error.to_string())
}
