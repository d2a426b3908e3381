//! Converts the receipts' trust policy (document 001) to a policy of this kind.

use runseal_core::canon::Node;
use runseal_core::formats::receipt::trust::{PolicyError, TrustPolicy};

/// Returns the text of a policy that trusts the enabled validators of a receipts' policy, each for
/// receipts.
///
/// # Errors
/// When `root` is not a receipts' policy.
pub fn from_receipt_policy(root: Node<'_>) -> Result<String, PolicyError> {
    // Read strictly first: an invalid policy is not converted.
    TrustPolicy::parse(root)?;
    let mut text = String::from("runseal-trust = 1\nversion = 1\n");
    let mut names = Vec::new();
    let list = root.get("allow").and_then(|list| list.as_array());
    for entry in list.into_iter().flatten() {
        let member = |name: &str| entry.get(name).and_then(|value| value.as_str());
        let is_enabled = entry.get("enabled").and_then(|value| value.as_bool()) == Some(true);
        let (Some(name), Some(key)) = (member("validator_id"), member("public_key")) else {
            continue;
        };
        if !is_enabled {
            continue;
        }
        let name = quote(&name);
        text.push_str(&format!("\n[[signer]]\nname = {name}\nkey = \"{key}\"\n"));
        names.push(name);
    }
    if !names.is_empty() {
        let names = names.join(", ");
        text.push_str(&format!(
            "\n[[rule]]\nname = \"receipts\"\nformats = [\"receipt\"]\nsigners = [{names}]\n"
        ));
    }
    Ok(text)
}

/// Formats a basic string of TOML.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            character if character.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(character)));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
