//! Policy files in TOML or JSON: the name of a profile, and how the policy differs from it.

use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::policy::Policy;

use super::error::HarnessError;
use super::plan::read_input;

/// Reads a policy. A file whose name ends in `.json`, or whose text begins with `{`, is JSON;
/// anything else is TOML.
///
/// # Errors
/// When the file cannot be read, is neither, or is not a policy.
pub fn read_policy(path: &Path) -> Result<Policy, HarnessError> {
    let bytes = read_input(path)?;
    let is_json = path.extension().is_some_and(|ending| ending == "json")
        || bytes.trim_ascii_start().starts_with(b"{");
    let path = path.display();
    let text = if is_json {
        bytes
    } else {
        toml_to_json(&bytes)
            .map_err(|error| HarnessError::Invalid(format!("the policy {path}: {error}")))?
    };
    let document = parse_document(&text, &ReadOptions::default()).map_err(|error| {
        HarnessError::NotJson(format!("{}: {path} {}", error.kind, error.position))
    })?;
    Policy::parse(document.root())
        .map_err(|fault| HarnessError::Invalid(format!("the policy {path}: {fault}")))
}

fn toml_to_json(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error
            .span()
            .and_then(|span| text.get(..span.start))
            .map_or(1, |before| before.matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    let mut object = Value::object::<Value>([]);
    for (name, value) in &table {
        object.insert(name, to_json(value).ok_or_else(|| wrong_type(name))?);
    }
    canonical_bytes(&object, Dialect::Kernel).map_err(|error| error.to_string())
}

fn wrong_type(name: &str) -> String {
    format!("`{name}` is neither a text, a whole number, true or false, nor a list of texts")
}

/// Converts a TOML value; supports only the types that a policy may contain.
fn to_json(value: &toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Array(items) => {
            Value::Array(items.iter().map(to_json).collect::<Option<Vec<_>>>()?)
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Policy, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        read_policy(&path).map_err(|error| error.to_string().replace(&shown, name))
    }

    #[test]
    fn toml_and_json_policy_files_are_the_same_policy() {
        let toml = "name = \"strict\"\ntimeout_ms = 5_000 # five seconds\n\
                    allowed_commands = [\"python3\", \"make\"]\n";
        let json = r#"{"name":"strict","timeout_ms":5000,"allowed_commands":["python3","make"]}"#;
        let policy = read("p.toml", toml).unwrap();
        assert_eq!(policy, read("p.json", json).unwrap());
        assert_eq!(policy, read("policy", json).unwrap());
        assert_eq!((policy.name, policy.max_output_files), ("strict", 200));
    }

    #[test]
    fn example_policy_files_are_valid() {
        let folder = runseal_testkit::project_root().join("examples/policies");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let policy = read_policy(&file.unwrap().path()).unwrap();
            assert!(policy.is_custom());
            count += 1;
        }
        assert!(count > 0);
    }

    #[test]
    fn invalid_policy_file_error_names_the_cause() {
        for (name, text, wanted) in [
            ("p.toml", "a = 1\nb = [\n", "line 2"),
            ("p.toml", "timeout_ms = 1.5\n", "`timeout_ms` is neither"),
            ("p.toml", "[name]\n", "`name` is neither"),
            ("p.toml", "network = true\n", "`network` is not a member"),
            ("p.json", "{", "p.json"),
            ("p.json", r#"{"timeout_ms":1}"#, "1000 to 600000"),
        ] {
            let error = read(name, text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
