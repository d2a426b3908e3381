//! policy.json: what a run may do. The three profiles, custom policies, and PL1-PL3.
//!
//! A policy is part of a pack and of run.json, never a separate document, so its checks are
//! functions that the pack's rules call.

use std::collections::BTreeSet;

use crate::canon::{Kind, Node, Value};
use crate::path::SafePath;

/// One of the three profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// The most milliseconds an execution may take.
    pub timeout_ms: u64,
    /// The most files it may leave.
    pub max_output_files: u64,
    /// The most bytes it may leave.
    pub max_total_output_bytes: u64,
    /// The programs it may run; empty for any.
    pub allowed_commands: &'static [&'static str],
    /// The folders it may write to; empty for any.
    pub allowed_write_roots: &'static [&'static str],
    /// Whether model calls may be recorded and replayed.
    pub allows_models: bool,
}

/// The profiles, strictest first.
pub static PROFILES: [Profile; 3] = [
    Profile {
        name: "strict",
        timeout_ms: 30_000,
        max_output_files: 200,
        max_total_output_bytes: 10_485_760,
        allowed_commands: &["node", "npm"],
        allowed_write_roots: &["out", "dist", "build"],
        allows_models: false,
    },
    Profile {
        name: "default",
        timeout_ms: 60_000,
        max_output_files: 500,
        max_total_output_bytes: 52_428_800,
        allowed_commands: &["node", "npm", "npx"],
        allowed_write_roots: &["out", "dist", "build", "tmp"],
        allows_models: false,
    },
    Profile {
        name: "dev",
        timeout_ms: 300_000,
        max_output_files: 1_000,
        max_total_output_bytes: 104_857_600,
        allowed_commands: &[],
        allowed_write_roots: &[],
        allows_models: true,
    },
];

impl Profile {
    /// The profile of this name.
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The profile as an unchanged policy.
    pub fn to_policy(&self) -> Policy {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        Policy {
            name: self.name,
            timeout_ms: self.timeout_ms,
            max_output_files: self.max_output_files,
            max_total_output_bytes: self.max_total_output_bytes,
            allowed_commands: list(self.allowed_commands),
            allowed_write_roots: list(self.allowed_write_roots),
            allowed_model_modes: if self.allows_models {
                list(&MODEL_MODES)
            } else {
                list(&["none"])
            },
            allowed_models: Vec::new(),
        }
    }
}

/// The modes of model calls.
const MODEL_MODES: [&str; 3] = ["none", "record", "replay"];

/// What a run may do: a profile, or a profile with values that a file or the caller changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The profile on which it is based.
    pub name: &'static str,
    /// The most milliseconds an execution may take.
    pub timeout_ms: u64,
    /// The most files it may leave.
    pub max_output_files: u64,
    /// The most bytes it may leave.
    pub max_total_output_bytes: u64,
    /// The programs it may run; empty for any.
    pub allowed_commands: Vec<String>,
    /// The folders it may write to; empty for any.
    pub allowed_write_roots: Vec<String>,
    /// Which of `MODEL_MODES` it may use.
    pub allowed_model_modes: Vec<String>,
    /// The models it may call, by id; empty for any.
    pub allowed_models: Vec<String>,
}

/// Why a document is not a policy: the member, and a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` {message}")]
pub struct PolicyFault {
    /// The member at fault, as a path of names.
    pub member: String,
    /// What is wrong with it.
    pub message: String,
}

impl Policy {
    /// Parses a policy. `name` is the profile on which it is based (`default` if missing); members
    /// that are not given are the profile's.
    ///
    /// # Errors
    /// Returns the first member that is unknown, mistyped or out of bounds.
    pub fn parse(root: Node<'_>) -> Result<Self, PolicyFault> {
        if root.kind() != Kind::Object {
            return Err(fault("name", "is missing: a policy is an object"));
        }
        let name = match root.get("name") {
            None => "default".into(),
            Some(node) => node.as_lossy_str().unwrap_or_default(),
        };
        let profile =
            Profile::named(&name).ok_or_else(|| fault("name", "is not strict, default or dev"))?;
        let mut policy = profile.to_policy();
        for (key, node) in root.members() {
            policy.take(&key.to_lossy(), node)?;
        }
        let roots = &policy.allowed_write_roots;
        if !roots.is_empty() && !roots.iter().any(|root| root == "out") {
            let message = "lacks `out`, where a plan's files are";
            return Err(fault("allowed_write_roots", message));
        }
        Ok(policy)
    }

    fn take(&mut self, member: &str, node: Node<'_>) -> Result<(), PolicyFault> {
        match member {
            // `name` was read above, and `custom` follows from the values.
            "name" | "custom" => {}
            "allow_network" => match node.as_bool() {
                Some(false) => {}
                _ => return Err(fault(member, "is not false: a run has no network")),
            },
            "timeout_ms" => self.timeout_ms = number(member, node)?,
            "max_output_files" => self.max_output_files = number(member, node)?,
            "max_total_output_bytes" => self.max_total_output_bytes = number(member, node)?,
            "allowed_commands" => {
                self.allowed_commands = texts(member, node, is_program, "the name of a program")?;
            }
            "allowed_write_roots" => {
                self.allowed_write_roots = texts(member, node, is_root, "the name of a folder")?;
            }
            "allowed_model_modes" => {
                let is_mode = |mode: &str| MODEL_MODES.contains(&mode);
                self.allowed_model_modes = texts(member, node, is_mode, "none, record or replay")?;
            }
            "allowed_models" => {
                let is_model = |model: &str| !model.is_empty();
                self.allowed_models = texts(member, node, is_model, "the id of a model")?;
            }
            _ => return Err(fault(member, "is not a member of a policy")),
        }
        Ok(())
    }

    /// Allows another program, if the policy lists programs.
    ///
    /// # Errors
    /// If the text is not a plain name.
    pub fn allow_program(&mut self, program: &str) -> Result<(), PolicyFault> {
        if !is_program(program) {
            let message = format!("`{}` is not the name of a program", program.escape_debug());
            return Err(fault("allowed_commands", &message));
        }
        let is_listed = self.allowed_commands.iter().any(|known| known == program);
        if !self.allowed_commands.is_empty() && !is_listed {
            self.allowed_commands.push(program.to_owned());
        }
        Ok(())
    }

    /// Whether anything differs from the profile that it names.
    pub fn is_custom(&self) -> bool {
        Profile::named(self.name).is_none_or(|profile| profile.to_policy() != *self)
    }

    /// The policy for policy.json and run.json, with every value. A custom policy also has `custom`
    /// and the models it allows.
    pub fn to_value(&self) -> Value {
        let list = |items: &[String]| Value::array(items.iter().map(String::as_str));
        let mut value = Value::object([
            ("name", Value::from(self.name)),
            ("allow_network", Value::from(false)),
            ("timeout_ms", Value::from(self.timeout_ms)),
            ("max_output_files", Value::from(self.max_output_files)),
            (
                "max_total_output_bytes",
                Value::from(self.max_total_output_bytes),
            ),
            ("allowed_commands", list(&self.allowed_commands)),
            ("allowed_write_roots", list(&self.allowed_write_roots)),
        ]);
        if self.is_custom() {
            value.insert("custom", true);
            value.insert("allowed_model_modes", list(&self.allowed_model_modes));
            value.insert("allowed_models", list(&self.allowed_models));
        }
        value
    }
}

fn fault(member: &str, message: &str) -> PolicyFault {
    PolicyFault {
        member: member.to_owned(),
        message: message.to_owned(),
    }
}

fn number(member: &str, node: Node<'_>) -> Result<u64, PolicyFault> {
    let bounds = BOUNDS.iter().find(|(name, _, _)| *name == member);
    let (least, most) = bounds.map_or((0.0, f64::MAX), |(_, least, most)| (*least, *most));
    let exact = node
        .as_number()
        .and_then(|number| u64::try_from(number.to_exact_i64()?).ok());
    exact
        .filter(|number| (least..=most).contains(&(*number as f64)))
        .ok_or_else(|| {
            fault(
                member,
                &format!("is not a whole number from {least} to {most}"),
            )
        })
}

fn texts(
    member: &str,
    node: Node<'_>,
    fits: fn(&str) -> bool,
    wanted: &str,
) -> Result<Vec<String>, PolicyFault> {
    if node.kind() != Kind::Array {
        return Err(fault(member, "is not a list"));
    }
    let mut texts: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    for (at, item) in node.items().enumerate() {
        let text = item.as_str().filter(|text| fits(text));
        let text =
            text.ok_or_else(|| fault(&format!("{member}[{at}]"), &format!("is not {wanted}")))?;
        if !known.insert(text.to_string()) {
            return Err(fault(&format!("{member}[{at}]"), "is a duplicate"));
        }
        texts.push(text.into_owned());
    }
    Ok(texts)
}

/// A program is looked up by its name; a path would bypass the list.
fn is_program(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '/';
    !name.is_empty() && name.chars().all(is_plain)
}

/// A write root is a folder directly below the work folder.
fn is_root(name: &str) -> bool {
    !name.contains('/') && !name.contains("..") && SafePath::parse(name).is_ok()
}

/// The bounds of the three numbers, which also apply to runner.json's limits.
pub const BOUNDS: [(&str, f64, f64); 3] = [
    ("timeout_ms", 1000.0, 600_000.0),
    ("max_output_files", 1.0, 10_000.0),
    ("max_total_output_bytes", 1024.0, 1_073_741_824.0),
];

const FIELDS: [(&str, Kind); 7] = [
    ("name", Kind::String),
    ("allow_network", Kind::Bool),
    ("timeout_ms", Kind::Number),
    ("max_output_files", Kind::Number),
    ("max_total_output_bytes", Kind::Number),
    ("allowed_commands", Kind::Array),
    ("allowed_write_roots", Kind::Array),
];

/// The faults in the shape of a policy: the seven fields and their types (PK8, PL2).
pub fn find_shape_faults(policy: Node<'_>) -> Vec<String> {
    if policy.kind() != Kind::Object {
        let found = policy.kind().with_article();
        return vec![format!("a policy is an object, not {found}")];
    }
    let mut faults = Vec::new();
    for (name, kind) in FIELDS {
        match policy.get(name) {
            None => faults.push(format!("`{name}` is missing")),
            Some(node) if node.kind() != kind => {
                let (found, wanted) = (node.kind().with_article(), kind.with_article());
                faults.push(format!("`{name}` is {found}, not {wanted}"));
            }
            Some(node) if kind == Kind::Array && !node.items().all(|item| item.is_string()) => {
                faults.push(format!("`{name}` contains something that is not a string"));
            }
            Some(_) => {}
        }
    }
    faults
}

/// PL1: the name is one of the three. PL2 reports one that is missing or no text.
pub fn find_name_fault(policy: Node<'_>) -> Option<String> {
    let name = policy.get("name")?.as_lossy_str()?;
    match Profile::named(&name) {
        Some(_) => None,
        None => Some(format!(
            "`{}` is not strict, default or dev",
            name.escape_debug()
        )),
    }
}

/// PL3: the numbers are within their bounds.
pub fn find_bound_faults(policy: Node<'_>) -> Vec<String> {
    let outside = |(name, least, most): &(&str, f64, f64)| {
        let number = policy.get(name)?.as_number()?;
        let value = number.to_f64();
        let is_fine = value.fract() == 0.0 && (*least..=*most).contains(&value);
        (!is_fine).then(|| format!("`{name}` is {}, not {least} to {most}", number.text()))
    };
    BOUNDS.iter().filter_map(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};

    #[test]
    fn profiles_satisfy_their_own_rules() {
        for profile in &PROFILES {
            let bytes = canonical_bytes(&profile.to_policy().to_value(), Dialect::Kernel).unwrap();
            let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
            let root = document.root();
            assert_eq!(find_shape_faults(root), Vec::<String>::new());
            assert_eq!(find_name_fault(root), None);
            assert_eq!(find_bound_faults(root), Vec::<String>::new());
            assert_eq!(Policy::parse(root).unwrap(), profile.to_policy());
            assert!(!profile.to_policy().is_custom());
        }
    }

    fn parse(text: &str) -> Result<Policy, PolicyFault> {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        Policy::parse(document.root())
    }

    #[test]
    fn policy_with_very_many_names_is_parsed_and_duplicate_found() {
        let names = |last: usize| {
            let names = (0..200_000).chain([last]).map(|at| format!("\"c{at}\""));
            names.collect::<Vec<_>>().join(",")
        };
        let policy = |last| parse(&format!(r#"{{"allowed_commands":[{}]}}"#, names(last)));
        assert_eq!(policy(200_000).unwrap().allowed_commands.len(), 200_001);
        assert!(policy(7).is_err());
    }

    #[test]
    fn policy_with_changed_values_is_custom_and_round_trips() {
        let policy = parse(
            r#"{"allowed_commands":["python3","git"],"timeout_ms":5000,
                "allowed_model_modes":["none","replay"],"allowed_models":["small"]}"#,
        )
        .unwrap();
        assert_eq!((policy.name, policy.timeout_ms), ("default", 5000));
        assert_eq!(policy.max_output_files, 500);
        assert!(policy.is_custom());
        let bytes = canonical_bytes(&policy.to_value(), Dialect::Kernel).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(r#""custom":true"#), "{text}");
        assert_eq!(parse(&text).unwrap(), policy);
    }

    #[test]
    fn invalid_policy_error_names_member() {
        for (text, member) in [
            ("[]", "name"),
            (r#"{"name":"lax"}"#, "name"),
            (r#"{"allow_network":true}"#, "allow_network"),
            (r#"{"timeout_ms":1}"#, "timeout_ms"),
            (r#"{"timeout_ms":"5000"}"#, "timeout_ms"),
            (r#"{"max_output_files":1.5}"#, "max_output_files"),
            (r#"{"allowed_commands":"git"}"#, "allowed_commands"),
            (r#"{"allowed_commands":["/bin/sh"]}"#, "allowed_commands[0]"),
            (r#"{"allowed_commands":["a","a"]}"#, "allowed_commands[1]"),
            (
                r#"{"allowed_write_roots":["out","../x"]}"#,
                "allowed_write_roots[1]",
            ),
            (r#"{"allowed_write_roots":["dist"]}"#, "allowed_write_roots"),
            (
                r#"{"allowed_model_modes":["live"]}"#,
                "allowed_model_modes[0]",
            ),
            (r#"{"alowed_commands":[]}"#, "alowed_commands"),
        ] {
            assert_eq!(parse(text).unwrap_err().member, member, "{text}");
        }
    }

    #[test]
    fn allowed_program_is_added_to_list_and_empty_list_stays_empty() {
        let mut policy = Profile::named("strict").unwrap().to_policy();
        policy.allow_program("python3").unwrap();
        policy.allow_program("python3").unwrap();
        assert_eq!(policy.allowed_commands, ["node", "npm", "python3"]);
        assert!(policy.allow_program("../sh").is_err());
        let mut open = Profile::named("dev").unwrap().to_policy();
        open.allow_program("python3").unwrap();
        assert!(!open.is_custom());
    }

    #[test]
    fn policy_out_of_bounds_is_fault() {
        let text = br#"{"name":"lax","timeout_ms":999,"max_output_files":1.5}"#;
        let document = parse_document(text, &ReadOptions::default()).unwrap();
        assert!(find_name_fault(document.root()).is_some());
        assert_eq!(find_bound_faults(document.root()).len(), 2);
        assert_eq!(find_shape_faults(document.root()).len(), 4);
    }
}
