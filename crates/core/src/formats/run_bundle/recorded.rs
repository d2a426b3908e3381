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

/// Parses an entry of which no part is mistyped.
pub(super) fn parse_whole_file(node: Node<'_>) -> Option<ListedFile> {
    let is_placed = node.get("stored").is_none_or(|stored| stored.is_string());
    parse_listed_file(node).filter(|_| is_placed)
}

/// The entries of a list; `None` if it is no list, or one of them is malformed.
pub(super) fn parse_whole_list(list: Option<Node<'_>>) -> Option<Vec<ListedFile>> {
    list?.as_array()?.map(parse_whole_file).collect()
}

/// The lists of files in RUN_INPUT.json of a recorded command: those of its folder, and those given
/// by name.
pub const INPUT_LISTS: [&str; 2] = ["files", "inputs"];

/// The member of RUN_INPUT.json that lists model_io.json, if models were called.
pub const MODEL_IO_MEMBER: &str = "model_io";

/// The member of RUN_ENVIRONMENT.json about the terminal of a recorded command, if it had one.
pub const TERMINAL_MEMBER: &str = "terminal";
/// The member of [`TERMINAL_MEMBER`] that lists what was shown there, with times.
pub const TERMINAL_RECORDING: &str = "recording";
/// The list in RUN_ENVIRONMENT.json of the files of the machine that a run read or executed.
pub const MACHINE_LIST: &str = "files";

/// The list in RUN_ENVIRONMENT.json of what an engine read below its folder.
pub const ENGINE_LIST: &str = "engine_files";

/// The folder of the bundle with the files of one of [`INPUT_LISTS`].
pub fn folder_of_list(name: &str) -> &'static str {
    match name {
        "inputs" => INPUTS_FOLDER,
        _ => ENGINE_FOLDER,
    }
}

/// A symbolic link in a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedLink {
    /// Where it is.
    pub path: String,
    /// What it holds.
    pub target: String,
}

/// The links in the list `links` of a document; malformed ones are left out.
pub fn parse_links(document: Node<'_>) -> Vec<ListedLink> {
    let list = document.get("links");
    let items = list.iter().flat_map(|list| list.items());
    let link = |node: Node<'_>| {
        let text = |name: &str| Some(node.get(name)?.as_str()?.into_owned());
        Some(ListedLink {
            path: text("path")?,
            target: text("target")?,
        })
    };
    items.filter_map(link).collect()
}

/// The rights and the time of a file or folder that a run was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// Below the command's folder, which is the empty path itself; absolute for what lies elsewhere.
    pub path: String,
    /// The lower twelve bits of its mode.
    pub mode: u32,
    /// When it was last modified: seconds since 1970, which may be negative, and nanoseconds.
    pub modified: (i64, u32),
}

/// The list `attributes` of RUN_ENVIRONMENT.json; malformed entries are left out.
pub fn parse_attributes(environment: Node<'_>) -> Vec<Attributes> {
    let list = environment.get("attributes");
    let items = list.iter().flat_map(|list| list.items());
    let one = |node: Node<'_>| {
        let text = |name: &str| Some(node.get(name)?.as_str()?.into_owned());
        Some(Attributes {
            path: text("path")?,
            mode: parse_mode(&text("mode")?)?,
            modified: parse_file_time(&text("modified")?)?,
        })
    };
    items.filter_map(one).collect()
}

/// A mode as four octal digits.
pub fn parse_mode(text: &str) -> Option<u32> {
    let is_octal = text.len() == 4 && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    is_octal.then(|| u32::from_str_radix(text, 8).ok())?
}

/// The time of a file: seconds since 1970, a dot and nine digits. JSON has no integer of this size that JCS
/// keeps. A time before 1970 has the seconds rounded down, as file systems do.
pub fn parse_file_time(text: &str) -> Option<(i64, u32)> {
    let (seconds, nanoseconds) = text.split_once('.')?;
    let digits = seconds.strip_prefix('-').unwrap_or(seconds);
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if !are_digits(digits) || !are_digits(nanoseconds) || nanoseconds.len() != 9 {
        return None;
    }
    Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
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

    #[test]
    fn modes_and_times_have_one_form() {
        assert_eq!(parse_mode("4755"), Some(0o4755));
        for text in ["755", "0855", "+755", "07555", ""] {
            assert_eq!(parse_mode(text), None, "{text}");
        }
        assert_eq!(parse_file_time("-1.000000007"), Some((-1, 7)));
        assert_eq!(
            parse_file_time("1700000000.999999999"),
            Some((1_700_000_000, 999_999_999))
        );
        for text in [
            "1",
            "1.5",
            "+1.000000000",
            "1.0000000000",
            ".000000000",
            "--1.000000000",
            "9223372036854775808.000000000",
            "1.00000000x",
        ] {
            assert_eq!(parse_file_time(text), None, "{text}");
        }
    }
}
