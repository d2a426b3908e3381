//! `runseal clarify`: asks the open questions of an intent until its bundle is complete.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use runseal_core::hidden::one_line;
use runseal_core::verify::Outcome;
use runseal_kernel::question::Question;
use runseal_kernel::{Intent, ResultKind, answer_round, transform};

use crate::error::CliError;
use crate::intent_input::{internal, read_intent};
use crate::output::put_json;
use crate::ui;

/// Ask the open questions of an intent and write the answered intent.
///
/// Answers are read from standard input, one line each: the number of an option, or any text. An
/// empty line leaves a question for later, `b` goes back to the previous one, `q` quits and writes
/// nothing. Questions are shown on standard error, so it works over a pipe too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal clarify examples/intents/vague.json -o answered.json\n  \
                  runseal transform answered.json"
)]
pub struct Args {
    /// The intent: a file, because standard input is for the answers.
    intent: PathBuf,
    /// Write the answered intent to FILE instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What one line of input means.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Answer(String),
    Later,
    Back,
    Quit,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    if args.intent == Path::new("-") {
        let hint = "name the intent's file; answers come from standard input";
        return Err(CliError::usage(
            "`clarify` cannot read both from standard input",
            hint,
        ));
    }
    let mut intent = match read_intent(&args.intent)? {
        Ok(intent) => intent,
        Err(refusal) => {
            ui::tell_line(&refusal.to_string());
            return Ok(Outcome::Invalid);
        }
    };
    let mut lines = io::stdin().lock().lines();
    let mut next_line = move || lines.next().and_then(Result::ok);
    loop {
        let bundle = transform(&intent).map_err(|e| internal(&e))?;
        if bundle.kind() == ResultKind::Bundle {
            break;
        }
        let Some(answers) = ask_round(&bundle.questions, &mut next_line) else {
            ui::tell("Nothing was written.");
            return Ok(Outcome::Invalid);
        };
        let given: Vec<(&Question, &str)> = bundle
            .questions
            .iter()
            .zip(&answers)
            .filter_map(|(question, answer)| Some((question, answer.as_deref()?)))
            .collect();
        if given.is_empty() {
            ui::tell("Questions are still open; nothing was written.");
            return Ok(Outcome::Invalid);
        }
        intent = apply(&intent, &given)?;
    }
    ui::tell("Nothing is left to ask.");
    put_json(&intent.to_value(), args.output.as_deref())?;
    Ok(Outcome::Valid)
}

fn apply(intent: &Intent, given: &[(&Question, &str)]) -> Result<Intent, CliError> {
    answer_round(intent, given).map_err(|refusal| CliError::internal(refusal.to_string()))
}

/// Asks every question once; returns `None` if the person quits or the input ends.
fn ask_round(
    questions: &[Question],
    next_line: &mut impl FnMut() -> Option<String>,
) -> Option<Vec<Option<String>>> {
    let mut answers: Vec<Option<String>> = vec![None; questions.len()];
    let mut at = 0;
    while let Some(question) = questions.get(at) {
        show(question, at, questions.len());
        match read_reply(&next_line()?, &question.options) {
            Reply::Answer(answer) => {
                answers[at] = Some(answer);
                at += 1;
            }
            Reply::Later => {
                answers[at] = None;
                at += 1;
            }
            Reply::Back => at = at.saturating_sub(1),
            Reply::Quit => return None,
        }
    }
    Some(answers)
}

fn show(question: &Question, at: usize, of: usize) {
    ui::tell(&format!("\n[{}/{of}] {}", at + 1, one_line(&question.text)));
    ui::tell_line(&format!("      why: {}", question.why_needed));
    for (number, option) in question.options.iter().enumerate() {
        ui::tell_line(&format!("      {}) {option}", number + 1));
    }
    if io::stdin().is_terminal() {
        let pick = if question.options.is_empty() {
            ""
        } else {
            "a number, "
        };
        ui::tell(&format!(
            "      ({pick}your answer, empty = later, b = back, q = quit)"
        ));
    }
}

/// A number picks an option, if there is one with that number; anything else is the answer itself.
fn read_reply(line: &str, options: &[String]) -> Reply {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "" => return Reply::Later,
        "b" | "back" => return Reply::Back,
        "q" | "quit" => return Reply::Quit,
        _ => {}
    }
    let picked = line
        .parse::<usize>()
        .ok()
        .and_then(|n| options.get(n.checked_sub(1)?));
    Reply::Answer(picked.map_or_else(|| line.to_owned(), Clone::clone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_number_picks_an_existing_option_only() {
        let options = ["red".to_owned(), "blue".to_owned()];
        assert_eq!(read_reply("2", &options), Reply::Answer("blue".to_owned()));
        assert_eq!(read_reply("3", &options), Reply::Answer("3".to_owned()));
        assert_eq!(read_reply("2", &[]), Reply::Answer("2".to_owned()));
        assert_eq!(read_reply("0", &options), Reply::Answer("0".to_owned()));
        assert_eq!(read_reply(" Back ", &options), Reply::Back);
        assert_eq!(read_reply("q", &options), Reply::Quit);
        assert_eq!(read_reply("", &options), Reply::Later);
    }
}
