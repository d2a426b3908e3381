//! model_io.json: recorded model calls, MI1-MI17.
//!
//! - [`asked`]: the form of a request that `prompt_hash` covers and replay matches by.
//! - [`fork`]: which recording another one was forked from.
//! - [`bodies`]: large bodies, which are files next to the recording.
//! - [`reading`], [`events`]: what an answer says, read from its exact bytes, streams included.
//!
//! Paths in findings are JSON paths that begin with `$`. A missing field silences only the rules
//! that need it.

pub mod asked;
pub mod bodies;
mod checks;
mod derivations;
pub mod events;
mod exchanges;
pub mod fork;
pub mod reading;
mod readings;

use crate::canon::{Dialect, Document, JsonError, Node, ReadOptions, Value};
use crate::canon::{canonical_bytes, parse_document};
use crate::digest::ContentHash;
use crate::formats::Format;
use crate::formats::definition::{
    DocumentFolder, FormatDefinition, Identity, Judgement, ProofScope, infos,
};
use crate::verify::{Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};
use asked::Volatile;
use bodies::BodyFacts;
use checks::{
    check_count, check_held_prompts, check_mode, check_names, check_numbers, check_order,
    check_prompts, check_responses, check_schema, check_sizes, check_unique, check_version,
    needs_interactions, needs_object,
};
pub use derivations::DERIVATIONS;
pub use exchanges::is_of_proxy;
use exchanges::{
    check_body_files, check_requests, check_response_parts, has_body_files, has_exchanges,
};
use fork::{check_fork, has_fork};
use readings::check_readings;

/// The most interactions of one recording, so that it can be replayed.
pub const MAX_INTERACTIONS: usize = 10_000;
/// The most bytes of one response.
pub const MAX_RESPONSE_BYTES: usize = 1_000_000;
/// The most bytes of all responses together.
pub const MAX_SESSION_BYTES: usize = 100_000_000;

const REQUIRED: [&str; 5] = [
    "model_io_schema_version",
    "adapter_id",
    "model_id",
    "mode",
    "interactions",
];
const CORE_OF_INTERACTION: [&str; 4] = ["i", "prompt_hash", "response_hash", "response_content"];

/// A recording as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct ModelIoView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
    /// The facts about large bodies; `None` if only the document was read.
    pub bodies: Option<&'a BodyFacts>,
}

/// Names the recording as the subject of its rules.
pub struct ModelIo;

impl Subject for ModelIo {
    type View<'a> = ModelIoView<'a>;
    const FORMAT: Format = Format::ModelIo;
}

/// Verifies a recording.
pub fn verify_model_io(view: &ModelIoView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

/// The hash of a recording: over the canonical form, without a trailing LF, of the five required
/// fields with only the four core fields of each interaction.
pub fn compute_model_io_hash(root: Node<'_>) -> Option<ContentHash> {
    let mut core = Value::object::<Value>([]);
    for field in REQUIRED {
        let node = root.get(field)?;
        if field == "interactions" {
            core.insert(field, Value::array(node.items().map(interaction_core)));
        } else {
            core.insert(field, node.to_value());
        }
    }
    let bytes = canonical_bytes(&core, Dialect::Kernel).ok()?;
    Some(ContentHash::of(&bytes))
}

fn interaction_core(node: Node<'_>) -> Value {
    let mut core = Value::object::<Value>([]);
    for field in CORE_OF_INTERACTION {
        if let Some(member) = node.get(field) {
            core.insert(field, member.to_value());
        }
    }
    core
}

const fn info(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::ModelIo,
        title,
        section: "002 §3.1 model_io.json",
        level: Level::Document,
        explanation,
    }
}

/// The rules of a recording.
pub static RULES: [Rule<ModelIo>; 17] = [
    Rule {
        info: info(
            "SCHEMA",
            "the fields are there",
            "The document is an object with model_io_schema_version, adapter_id, model_id, mode \
             and interactions (a list).",
        ),
        gate: |_| Gate::Ready,
        check: check_schema,
    },
    Rule {
        info: info(
            "MI1",
            "the version is given",
            "model_io_schema_version is three numbers separated by dots.",
        ),
        gate: needs_object,
        check: check_version,
    },
    Rule {
        info: info(
            "MI2",
            "adapter and model are named",
            "adapter_id and model_id are strings that are not empty.",
        ),
        gate: needs_object,
        check: check_names,
    },
    Rule {
        info: info("MI3", "the mode is known", "mode is record or replay."),
        gate: needs_object,
        check: check_mode,
    },
    Rule {
        info: info(
            "MI4",
            "there are not too many interactions",
            "A recording has at most 10,000 interactions.",
        ),
        gate: needs_interactions,
        check: check_count,
    },
    Rule {
        info: info(
            "MI5",
            "interactions are numbered from 0",
            "The field i of each interaction is its place in the list: 0, 1, 2 and so on.",
        ),
        gate: needs_interactions,
        check: check_numbers,
    },
    Rule {
        info: info(
            "MI6",
            "prompts are hashed",
            "prompt_hash is sha256: and 64 lower-case hex digits.",
        ),
        gate: needs_interactions,
        check: check_prompts,
    },
    Rule {
        info: info(
            "MI7",
            "responses have their hashes",
            "response_hash is sha256: and 64 lower-case hex digits, and the hash of the UTF-8 \
             bytes of response_content, which is a string. A difference means that a response \
             was changed after it was recorded.",
        ),
        gate: needs_interactions,
        check: check_responses,
    },
    Rule {
        info: info(
            "MI8",
            "no interaction appears twice",
            "No two interactions have the same prompt_hash and the same i.",
        ),
        gate: needs_interactions,
        check: check_unique,
    },
    Rule {
        info: info(
            "MI9",
            "interactions are in order",
            "i increases from each interaction to the next. Every violation is reported.",
        ),
        gate: needs_interactions,
        check: check_order,
    },
    Rule {
        info: info(
            "MI11",
            "responses are not too long",
            "A response has at most 1,000,000 bytes, all of them together at most 100,000,000.",
        ),
        gate: needs_interactions,
        check: check_sizes,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "MI12",
                "included prompts have their hashes",
                "prompt_content, if an interaction has it, is a string with the hash that \
                 prompt_hash states. Recordings of other producers need not include prompts.",
            )
        },
        gate: needs_interactions,
        check: check_held_prompts,
    },
    Rule {
        info: integrity(
            "MI13",
            "readable requests have their hashes",
            "In a recording that the proxy made, the request of each interaction (method, path, \
             query and body, without the members that capture.volatile names and with \
             placeholders reduced to their kind) is there and has the hash that prompt_hash states. A \
             difference means that what people read is not what was asked. No member that says what a model is \
             asked is named in capture.volatile: it always counts.",
        ),
        gate: has_exchanges,
        check: check_requests,
    },
    Rule {
        info: integrity(
            "MI14",
            "readable responses belong to their contents",
            "In a recording that the proxy made, each interaction has a response, model_id lists the models \
             of the readings, sorted and joined by commas, if these name any, and the lengths in \
             response.chunks add up to the bytes of the response: response_content, decoded if it is base64, or the file that \
             response.body_file names, whose hash is then response_content.",
        ),
        gate: has_exchanges,
        check: check_response_parts,
    },
    Rule {
        info: integrity(
            "MI15",
            "large bodies are there",
            "Each body_file is a file in the folder `<name>.bodies` next to the recording, or a body \
             in the recording's member `bodies`, named by its SHA-256, with that hash and the \
             stated size; `bodies` has no others. A recording with large bodies as files \
             that is given without its folder, as on standard input, cannot be checked.",
        ),
        gate: has_body_files,
        check: check_body_files,
    },
    Rule {
        info: integrity(
            "MI16",
            "readings are what the response says",
            "In a recording that the proxy made, reading, tokens_input and tokens_output, if \
             given, are what is read from the exact bytes of the response. Nothing is read \
             from a response over 32 MiB, so it has none of them.",
        ),
        gate: has_exchanges,
        check: check_readings,
    },
    Rule {
        info: integrity(
            "MI17",
            "a fork belongs to its recording",
            "In a recording that the proxy made, fork, if given, says after how many of its \
             interactions it was forked from another one, whose hashes it names. Its own hash, if it has \
             one, covers these three and the hash of this recording, so that none of them can be \
             replaced.",
        ),
        gate: has_fork,
        check: check_fork,
    },
];

const fn integrity(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        level: Level::Integrity,
        section: "formats/model-io.md",
        ..info(id, title, explanation)
    }
}

/// The member of an interaction with the prompt itself.
pub const PROMPT_CONTENT: &str = "prompt_content";

/// The definition of the model recording format.
pub static DEFINITION: ModelIoFormat = ModelIoFormat;

/// A model recording: one JSON document, with large bodies as files next to it.
pub struct ModelIoFormat;

impl ModelIoFormat {
    fn judge(
        &self,
        document: &Document<'_>,
        level: Level,
        bodies: Option<&BodyFacts>,
    ) -> Judgement {
        let root = document.root();
        let held = match bodies {
            Some(_) => None,
            None => BodyFacts::held(root),
        };
        let bodies = bodies.or(held.as_ref());
        let mut report = verify_model_io(&ModelIoView { root, bodies }, level);
        report.locate(None, document.text());
        let mut caveats = vec![
            "no hash covers it: a consistent change of what was asked or answered is noticed only \
             where it is signed or sealed with its run"
                .to_owned(),
        ];
        caveats.extend(Volatile::of_recording(root).unwrap_or_default().tell());
        Judgement {
            report,
            identity: Identity {
                about: Identity::of_members(root, &["model_id"]).ids,
                not_captured: stated_gaps(root),
                caveats,
                ..Identity::default()
            },
        }
    }
}

/// What the recording itself says that it cannot have seen.
fn stated_gaps(root: Node<'_>) -> Vec<String> {
    let gaps = root.get("capture").and_then(|capture| capture.get("gaps"));
    gaps.iter()
        .flat_map(|gaps| gaps.items())
        .filter_map(|gap| Some(gap.as_str()?.into_owned()))
        .collect()
}

impl FormatDefinition for ModelIoFormat {
    fn format(&self) -> Format {
        Format::ModelIo
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &["That each answer is the one its hash names, in this order."],
            does_not: &[
                "That a model said this: an answer and its hash can both be forged.",
                "What it was asked, if only the hash of the prompt is kept.",
            ],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn members(&self) -> &'static [&'static str] {
        &[
            "model_io_schema_version",
            "adapter_id",
            "model_id",
            "interactions",
        ]
    }

    fn file_name(&self) -> Option<&'static str> {
        Some("model_io.json")
    }

    fn judge_text(&self, text: &[u8], level: Level) -> Option<Result<Judgement, JsonError>> {
        match parse_document(text, &ReadOptions::default()) {
            Ok(document) => self.judge_document(&document, level).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    fn judge_document(&self, document: &Document<'_>, level: Level) -> Option<Judgement> {
        Some(self.judge(document, level, None))
    }

    fn judge_with_files(
        &self,
        document: &Document<'_>,
        level: Level,
        beside: DocumentFolder<'_>,
    ) -> Option<Judgement> {
        let bodies = (level >= Level::Integrity)
            .then(|| BodyFacts::collect(document.root(), beside.files, beside.name));
        Some(self.judge(document, level, bodies.as_ref()))
    }
}
