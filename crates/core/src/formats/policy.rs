//! policy.json: what a run may do. The three profiles, and PL1-PL3.
//!
//! A policy is part of a pack and of run.json, never a document of its own, so its checks are
//! functions that the pack's rules call.

use std::borrow::Cow;

use crate::canon::{Kind, Node, Value};

/// One of the three profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// How long an execution may take.
    pub timeout_ms: u64,
    /// How many files it may leave.
    pub max_output_files: u64,
    /// How many bytes it may leave.
    pub max_total_output_bytes: u64,
    /// Programs it may run; empty for any.
    pub allowed_commands: &'static [&'static str],
    /// Folders it may write to; empty for any.
    pub allowed_write_roots: &'static [&'static str],
    /// Whether model calls may be recorded and replayed.
    pub allows_models: bool,
}

/// The profiles, strictest first. Array order is definition order.
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

    /// The profile as policy.json and run.json hold it.
    pub fn to_value(&self) -> Value {
        let list = |items: &[&str]| Value::array(items.iter().copied());
        Value::object([
            ("name", Value::from(self.name)),
            ("allow_network", Value::from(false)),
            ("timeout_ms", Value::from(self.timeout_ms)),
            ("max_output_files", Value::from(self.max_output_files)),
            (
                "max_total_output_bytes",
                Value::from(self.max_total_output_bytes),
            ),
            ("allowed_commands", list(self.allowed_commands)),
            ("allowed_write_roots", list(self.allowed_write_roots)),
        ])
    }
}

/// Bounds of the three numbers, which runner.json's limits have too.
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

/// What is wrong with the shape of a policy: the seven fields and their types (PK8, PL2).
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
                faults.push(format!("`{name}` holds something that is no string"));
            }
            Some(_) => {}
        }
    }
    faults
}

/// PL1: the name is one of the three.
pub fn find_name_fault(policy: Node<'_>) -> Option<String> {
    let name = policy.get("name").and_then(|node| node.as_lossy_str());
    match name.as_deref().map(Profile::named) {
        Some(Some(_)) => None,
        _ => Some(format!(
            "`{}` is not strict, default or dev",
            name.unwrap_or(Cow::Borrowed("nothing")).escape_debug()
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
            let bytes = canonical_bytes(&profile.to_value(), Dialect::Kernel).unwrap();
            let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
            let root = document.root();
            assert_eq!(find_shape_faults(root), Vec::<String>::new());
            assert_eq!(find_name_fault(root), None);
            assert_eq!(find_bound_faults(root), Vec::<String>::new());
        }
    }

    #[test]
    fn policy_out_of_bounds_is_named() {
        let text = br#"{"name":"lax","timeout_ms":999,"max_output_files":1.5}"#;
        let document = parse_document(text, &ReadOptions::default()).unwrap();
        assert!(find_name_fault(document.root()).is_some());
        assert_eq!(find_bound_faults(document.root()).len(), 2);
        assert_eq!(find_shape_faults(document.root()).len(), 4);
    }
}
