//! What a recorded command read and wrote, as its documents list it.
//!
//! The lists name every file by the path that the command used, with the digest of its exact bytes
//! and where these are in the bundle. Parsing is lenient: malformed entries are left to the schemas
//! in the bundle.

use super::layout::{ENGINE_FOLDER, INPUTS_FOLDER};
use crate::canon::Node;
use crate::digest::Digest;

/// The engine_code of every recorded command.
pub const RECORDED_COMMAND: &str = "RECORDED_COMMAND";
/// The prefix of the variables in which a command finds its parameters.
pub const PARAMETER_PREFIX: &str = "RUNSEAL_PARAM_";
/// The engine_version of recorded commands: the version of their documents.
pub const RECORDED_VERSION: &str = "1.0.0";

/// A file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// The path that the command used: relative to its folder, or absolute for a file elsewhere.
    pub path: String,
    /// The digest of its bytes.
    pub sha256: Digest,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it may be executed.
    pub is_executable: bool,
    /// Where in the bundle its bytes are; `None` if only its digest was recorded.
    pub stored: Option<String>,
}

/// Parses one entry of a list.
pub fn parse_listed_file(node: Node<'_>) -> Option<ListedFile> {
    let text = |name: &str| Some(node.get(name)?.as_str()?.into_owned());
    let bytes = node.get("bytes")?.as_number()?.to_exact_i64()?;
    Some(ListedFile {
        path: text("path")?,
        sha256: Digest::parse_hex(&text("sha256")?).ok()?,
        bytes: u64::try_from(bytes).ok()?,
        is_executable: text("mode").as_deref() == Some("755"),
        stored: text("stored"),
    })
}

/// The entries of the list `name` of a document; malformed ones are left out.
pub fn parse_listed_files(document: Node<'_>, name: &str) -> Vec<ListedFile> {
    let list = document.get(name);
    let items = list.iter().flat_map(|list| list.items());
    items.filter_map(parse_listed_file).collect()
}

/// The lists of files in RUN_INPUT.json of a recorded command: those of its folder, and those given
/// by name.
pub const INPUT_LISTS: [&str; 2] = ["files", "inputs"];

/// The member of RUN_INPUT.json that lists model_io.json, if models were called.
pub const MODEL_IO_MEMBER: &str = "model_io";

/// The list in RUN_ENVIRONMENT.json of what an engine read below its folder.
pub const ENGINE_LIST: &str = "engine_files";

/// The folder of the bundle with the files of one of [`INPUT_LISTS`].
pub fn folder_of_list(name: &str) -> &'static str {
    match name {
        "inputs" => INPUTS_FOLDER,
        _ => ENGINE_FOLDER,
    }
}

/// Something that could not be seen or sealed while a command ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaptureGap {
    /// The kind of gap, in one word of `a-z` and `-`.
    pub kind: String,
    /// What was not seen, for people.
    pub detail: String,
}

/// The gaps in RUN_ENVIRONMENT.json, in its order.
pub fn parse_gaps(environment: Node<'_>) -> Vec<CaptureGap> {
    let list = environment
        .get("observation")
        .and_then(|observation| observation.get("gaps"));
    let items = list.iter().flat_map(|list| list.items());
    let gap = |node: Node<'_>| {
        let text = |name: &str| Some(node.get(name)?.as_str()?.into_owned());
        Some(CaptureGap {
            kind: text("kind")?,
            detail: text("detail")?,
        })
    };
    items.filter_map(gap).collect()
}

/// The kind of gap that every recording has.
pub const NEVER_SEEN: &str = "never-seen";

/// The gaps of this run in sentences, and how many kinds of things no recording sees.
pub fn describe_gaps(environment: Node<'_>) -> Vec<String> {
    let gaps = parse_gaps(environment);
    let never = gaps.iter().filter(|gap| gap.kind == NEVER_SEEN).count();
    let specific = gaps.into_iter().filter(|gap| gap.kind != NEVER_SEEN);
    let mut details: Vec<String> = specific.map(|gap| gap.detail).collect();
    if never > 0 {
        details.push(format!(
            "{never} kinds of things that no recording sees, named in RUN_ENVIRONMENT.json"
        ));
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    fn with<T>(text: &str, look: impl FnOnce(Node<'_>) -> T) -> T {
        look(
            parse_document(text.as_bytes(), &ReadOptions::default())
                .unwrap()
                .root(),
        )
    }

    #[test]
    fn malformed_listed_file_is_none() {
        let digest = Digest::of(b"x");
        let good = format!(
            r#"{{"bytes":1,"mode":"755","path":"a","sha256":"{digest}","stored":"engine/a"}}"#
        );
        let file = with(&good, parse_listed_file).unwrap();
        assert!(file.is_executable);
        assert_eq!(file.stored.as_deref(), Some("engine/a"));
        for bad in [
            good.replace("\"bytes\":1", "\"bytes\":-1"),
            good.replace("\"bytes\":1", "\"bytes\":0.5"),
            good.replace(&digest.to_string(), "x"),
            good.replace("\"path\"", "\"Path\""),
        ] {
            assert_eq!(with(&bad, parse_listed_file), None, "{bad}");
        }
    }
}
