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
use runseal_core::hidden::answer_text;
use runseal_core::verify::answer::{render_survey_json, render_survey_junit, render_survey_sarif};
use runseal_core::verify::{Outcome, SignatureDemand};
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
    /// What the command would write to standard output; if the code is 3, what is wrong with the
    /// request.
    pub text: Vec<u8>,
}

impl Answer {
    fn refusal(message: impl std::fmt::Display) -> Self {
        Self {
            code: 3,
            text: message.to_string().into_bytes(),
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
            Outcome::Unreadable => 2,
            _ => 3,
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
        Some((path, now)) => match load_policy(&request.files, Path::new(path), *now) {
            Ok(policy) => Some(policy),
            Err(error) => return Answer::refusal(format!("the policy cannot be used: {error}")),
        },
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
        Err(error) => return Answer::of(Outcome::Unreadable, error.to_string().into_bytes()),
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
