//! The verifier for hosts that call WebAssembly: browsers, Node, and anything else.
//!
//! The module imports nothing, so it has no clock, no random numbers, no files and no network: all it
//! can do is compute an answer from the bytes it is given. [`answer`] does that; `exports` moves bytes in
//! and out. The answers are those of `runseal verify` and `runseal inspect`, by the same code
//! (`runseal-survey`).

mod exports;
mod request;

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::diagnosis::Diagnose;
use runseal_core::hidden::answer_text;
use runseal_core::verify::answer::{render_survey_json, render_survey_junit, render_survey_sarif};
use runseal_core::verify::{Outcome, SignatureDemand, one_line};
use runseal_report::terminal::{
    Screen, render_inspection_human, render_inspection_json, render_survey_human,
};

use runseal_survey::load::load;
use runseal_survey::signing::{
    ArchiveSignatures, LoadedPolicy, SignatureJudge, TrustQuestion, load_policy,
};
use runseal_survey::{MemoryFiles, Sequential, Tally, VerifyOptions, survey};

use request::{Asked, Form, Request};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Like the command's exit code: 0 everything is valid, 1 something is not, 2 something could not be
    /// read or nothing was found, 3 the request is wrong.
    pub code: u32,
    /// What the command would write to standard output. If there is none, the error that it would write to standard
    /// error; if the code is 3, what is wrong with the request.
    pub text: Vec<u8>,
}

/// The code of something that could not be read.
const UNREADABLE: u32 = 2;
/// The code of a wrong request.
const REFUSED: u32 = 3;

impl Answer {
    fn refusal(message: impl std::fmt::Display) -> Self {
        Self {
            code: REFUSED,
            text: message.to_string().into_bytes(),
        }
    }

    /// The error of a library, in what is at `path`, as the command reports it: `CODE: what is wrong: where`, and a
    /// line with a hint.
    fn diagnosed(code: u32, error: &dyn Diagnose, path: &Path) -> Self {
        let diagnosis = error.diagnosis();
        let mut text = format!("{}: {}", diagnosis.code, one_line(&diagnosis.message));
        if let Some(place) = diagnosis.place(Some(&path.to_string_lossy())) {
            text.push_str(&format!(": {}", one_line(&place)));
        }
        if let Some(hint) = diagnosis.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        Self {
            code,
            text: text.into_bytes(),
        }
    }

    fn json(outcome: Outcome, value: &Value) -> Self {
        match answer_text(value, Dialect::Kernel) {
            Ok(mut text) => {
                text.push('\n');
                Self::of(outcome, text.into_bytes())
            }
            Err(error) => Self::refusal(error),
        }
    }

    fn of(outcome: Outcome, text: Vec<u8>) -> Self {
        let code = match outcome {
            Outcome::Valid => 0,
            Outcome::Invalid => 1,
            Outcome::Unreadable => UNREADABLE,
            _ => REFUSED,
        };
        Self { code, text }
    }
}

/// Answers a request in the form of `docs/wasm.md`.
pub fn answer(bytes: &[u8]) -> Answer {
    let request = match Request::parse(bytes) {
        Ok(request) => request,
        Err(fault) => return Answer::refusal(fault),
    };
    let policy = match &request.policy {
        None => None,
        Some((path, now)) => {
            let path = Path::new(path);
            match load_policy(&request.files, path, *now) {
                Ok(policy) => Some(policy),
                Err(error) => return Answer::diagnosed(REFUSED, &error, path),
            }
        }
    };
    match request.asked {
        Asked::Verify => verify(&request, policy.as_ref()),
        Asked::Inspect => inspect(&request, policy.as_ref()),
    }
}

fn question<'a>(request: &Request<'_>, policy: Option<&'a LoadedPolicy>) -> TrustQuestion<'a> {
    TrustQuestion {
        policy,
        keys: &[],
        now: request.policy.as_ref().map_or(0, |(_, now)| *now),
        log: None,
    }
}

fn verify(request: &Request<'_>, policy: Option<&LoadedPolicy>) -> Answer {
    let files: &MemoryFiles<'_> = &request.files;
    let options = VerifyOptions {
        level: request.level,
        threads: Some(1),
    };
    let judge = SignatureJudge::new(files, question(request, policy));
    let paths: Vec<PathBuf> = request.paths.iter().map(PathBuf::from).collect();
    let seen = (&Tally::default(), &judge as _);
    let survey = survey(files, &Sequential, &paths, options, seen);
    let demand = SignatureDemand {
        signed: request.requires_signed,
        trusted: policy.is_some(),
        logged: false,
    };
    let survey = judge.answer(survey, demand).demanding(&request.demands);
    let outcome = survey.outcome();
    match request.form {
        Form::Json => Answer::json(outcome, &render_survey_json(&survey)),
        Form::Sarif => Answer::json(outcome, &render_survey_sarif(&survey, None)),
        Form::Junit => Answer::of(outcome, render_survey_junit(&survey).into_bytes()),
        Form::Human => {
            let text = render_survey_human(&survey, Screen::default());
            Answer::of(outcome, text.into_bytes())
        }
    }
}

fn inspect(request: &Request<'_>, policy: Option<&LoadedPolicy>) -> Answer {
    let files: &MemoryFiles<'_> = &request.files;
    let [path] = request.paths.as_slice() else {
        return Answer::refusal("`inspect` takes exactly one path");
    };
    let path = Path::new(path);
    let loaded = match load(files, path, request.level) {
        Ok(loaded) => loaded,
        Err(error) => return Answer::diagnosed(UNREADABLE, &error, path),
    };
    let asked = (question(request, policy), &ArchiveSignatures::default());
    loaded.show(files, asked, |exhibit| match request.form {
        Form::Json => Answer::json(Outcome::Valid, &render_inspection_json(exhibit)),
        Form::Human => {
            let text = render_inspection_human(exhibit, Screen::default());
            Answer::of(Outcome::Valid, text.into_bytes())
        }
        Form::Sarif | Form::Junit => Answer::refusal("`inspect` only answers in json or human"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks about one file, as a host does.
    fn ask(head: &str, bytes: &[u8]) -> (u32, String) {
        let mut request = u32::try_from(head.len()).unwrap().to_le_bytes().to_vec();
        request.extend_from_slice(head.as_bytes());
        request.extend_from_slice(bytes);
        let answer = answer(&request);
        (answer.code, String::from_utf8(answer.text).unwrap())
    }

    #[test]
    fn inspect_of_what_cannot_be_read_says_code_place_and_hint() {
        let head = r#"{"ask":"inspect","files":[["a.txt",1]],"paths":["a.txt"]}"#;
        let (code, text) = ask(head, b"x");
        assert_eq!(code, 2);
        assert_eq!(
            text,
            "JSON_UNEXPECTED: found `x` where a value was expected: a.txt line 1 column 1\n\
             hint: strict JSON has no comments, trailing commas or bare words"
        );
    }

    #[test]
    fn policy_that_cannot_be_used_is_named_with_its_line_and_a_hint() {
        let head = r#"{"at":"2026-01-01T00:00:00Z","files":[["trust.toml",8]],"paths":["trust.toml"],"trust":"trust.toml"}"#;
        let (code, text) = ask(head, b"not toml");
        assert_eq!(code, 3);
        assert!(text.starts_with("POLICY: "), "{text}");
        assert!(
            text.contains(": trust.toml:1\nhint: docs/trust.md"),
            "{text}"
        );
    }
}
