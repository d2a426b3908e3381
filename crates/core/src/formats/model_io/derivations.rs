//! What else in a recording depends on a request or an answer, so that it is withheld together.

use crate::formats::redacted::derivations::{Derivation, How};

/// The parts of a request that the key for replay covers.
const ASKED: &[&str] = &[
    "model_io.json#/interactions/{i}/prompt_content",
    "model_io.json#/interactions/{i}/request/method",
    "model_io.json#/interactions/{i}/request/path",
    "model_io.json#/interactions/{i}/request/query",
    "model_io.json#/interactions/{i}/request/body",
    "model_io.json#/interactions/{i}/request/body_text",
    "model_io.json#/interactions/{i}/request/body_base64",
    "model_io.json#/interactions/{i}/request/body_file",
];

/// The rows for `model_io.json` of a run bundle or pack.
pub const DERIVATIONS: &[Derivation] = &[
    Derivation {
        of: ASKED,
        how: How::Digest,
        told: &["model_io.json#/interactions/{i}/prompt_hash"],
    },
    // Content-Length and digests of the body.
    Derivation {
        of: ASKED,
        how: How::Size,
        told: &["model_io.json#/interactions/{i}/request/headers"],
    },
    Derivation {
        of: &["model_io.json#/interactions/{i}/response_content"],
        how: How::Digest,
        told: &[
            "model_io.json#/interactions/{i}/response_hash",
            "model_io.json#/interactions/{i}/response/body_file",
        ],
    },
    Derivation {
        of: &["model_io.json#/interactions/{i}/response_content"],
        how: How::Size,
        told: &[
            "model_io.json#/interactions/{i}/response/headers",
            "model_io.json#/interactions/{i}/response/chunks",
            "model_io.json#/interactions/{i}/response/after",
        ],
    },
    // An answer, and what is read from it.
    Derivation {
        of: &["model_io.json#/interactions/{i}/response_content"],
        how: How::Repeated,
        told: &[
            "model_io.json#/interactions/{i}/reading",
            "model_io.json#/interactions/{i}/tokens_input",
            "model_io.json#/interactions/{i}/tokens_output",
        ],
    },
    Derivation {
        of: &[
            "model_io.json#/interactions/{i}/reading",
            "model_io.json#/interactions/{i}/tokens_input",
            "model_io.json#/interactions/{i}/tokens_output",
        ],
        how: How::Repeated,
        told: &["model_io.json#/interactions/{i}/response_content"],
    },
    Derivation {
        of: &["model_io.json#/interactions/*/reading"],
        how: How::Repeated,
        told: &["model_io.json#/model_id"],
    },
    // Bodies that are files, or members in a pack, and references to them.
    Derivation {
        of: BODIES,
        how: How::Digest,
        told: &[
            "model_io.json#/interactions/*[response_content=sha256:{h}]/response_content",
            "model_io.json#/interactions/*/request/body_file[sha256={h}]",
        ],
    },
    Derivation {
        of: &["model_io.json#/interactions/*[response_content=sha256:{h}]/response_content"],
        how: How::Same,
        told: BODIES,
    },
    Derivation {
        of: &["model_io.json#/interactions"],
        how: How::Computed,
        told: &["model_io.json#/stats", "model_io.json#/fork"],
    },
];

const BODIES: &[&str] = &["model_io.bodies/{h}", "model_io.json#/bodies/{h}"];
