//! The context keys that never get into a bundle: stripped from inputs, refused in outputs.
//!
//! Names are compared ignoring ASCII letter case, without other folding. In RUN_INPUT.json they are
//! searched for below its top-level member `context`, through objects and arrays; in outputs at any
//! depth.

use std::collections::BTreeSet;

use super::pointer::Trail;
use crate::canon::{Node, Value};
use crate::limits::{FINDING_TEXT, FINDINGS_A_RULE};

/// What is forbidden whatever an engine says: who people are, what they may do, what they pay.
const ALWAYS: [&str; 17] = [
    "user_email",
    "user_id",
    "username",
    "phone",
    "oauth_subject",
    "device_id",
    "role",
    "roles",
    "permissions",
    "feature_flags",
    "admin",
    "account_status",
    "billing_tier",
    "subscription_status",
    "price_id",
    "invoice_id",
    "payment_state",
];

/// A set of forbidden names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForbiddenKeys(BTreeSet<String>);

impl ForbiddenKeys {
    /// The names that are always forbidden.
    pub fn always() -> Self {
        Self(ALWAYS.iter().map(|&name| name.to_owned()).collect())
    }

    /// The names that are always forbidden, and those that INPUT_SCHEMA.json adds at
    /// `properties.context.x_forbidden_fields`, and only there.
    pub fn of_schema(schema: Node<'_>) -> Self {
        let mut keys = Self::always();
        let added = schema
            .get("properties")
            .and_then(|properties| properties.get("context")?.get("x_forbidden_fields"));
        for name in added.iter().flat_map(|list| list.items()) {
            if let Some(name) = name.as_str() {
                keys.0.insert(name.to_ascii_lowercase());
            }
        }
        keys
    }

    /// Whether `name` is forbidden.
    pub fn contains(&self, name: &str) -> bool {
        if name.bytes().any(|b| b.is_ascii_uppercase()) {
            self.0.contains(&name.to_ascii_lowercase())
        } else {
            self.0.contains(name)
        }
    }

    /// The pointers of every forbidden member of `node`, at any depth. A forbidden member is not
    /// searched itself. Long pointers are cut, and those beyond what a report lists are empty.
    pub fn find(&self, node: Node<'_>) -> Vec<String> {
        let mut found = Vec::new();
        self.find_below(node, &Trail::Root, &mut found);
        found
    }

    /// The pointers of every forbidden member below the top-level member `context` of an input.
    pub fn find_in_input(&self, input: Node<'_>) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(context) = input.get("context") {
            self.find_below(context, &Trail::Member(&Trail::Root, "context"), &mut found);
        }
        found
    }

    fn find_below(&self, node: Node<'_>, trail: &Trail<'_>, found: &mut Vec<String>) {
        for (key, value) in node.members() {
            let key = key.to_lossy();
            let is_forbidden = self.contains(&key);
            if !is_forbidden && value.is_empty() {
                continue;
            }
            let trail = Trail::Member(trail, &key);
            if !is_forbidden {
                self.find_below(value, &trail, found);
            } else if found.len() < FINDINGS_A_RULE {
                found.push(trail.pointer_within(FINDING_TEXT));
            } else {
                found.push(String::new());
            }
        }
        for (at, item) in node.items().enumerate() {
            if !item.is_empty() {
                self.find_below(item, &Trail::Element(trail, at), found);
            }
        }
    }

    /// Removes every forbidden member below `context` from an input; returns their pointers, sorted
    /// by code point, one for each removed member.
    pub fn strip(&self, input: &mut Value) -> Vec<String> {
        let mut stripped = Vec::new();
        if let Value::Object(members) = input
            && let Some(context) = members.get_mut(&"context".into())
        {
            let trail = Trail::Member(&Trail::Root, "context");
            self.strip_below(context, &trail, &mut stripped);
        }
        stripped.sort();
        stripped
    }

    fn strip_below(&self, value: &mut Value, trail: &Trail<'_>, stripped: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.retain(|key, value| {
                let key = key.to_lossy();
                let trail = Trail::Member(trail, &key);
                if self.contains(&key) {
                    stripped.push(trail.pointer());
                    return false;
                }
                self.strip_below(value, &trail, stripped);
                true
            }),
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.strip_below(item, &Trail::Element(trail, at), stripped);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};

    fn with<T>(text: &str, look: impl FnOnce(Node<'_>) -> T) -> T {
        look(
            parse_document(text.as_bytes(), &ReadOptions::default())
                .unwrap()
                .root(),
        )
    }

    #[test]
    fn strip_removes_members_at_any_depth_below_context() {
        let text = r#"{"user_id":1,"context":{"a":[{"User_ID":1,"x":2},[{"phone":"1"}]],
            "role":{"username":"u"},"ok":{"billing_tier":null},"userid":3,"rôle":1,"a/b":{"admin":true}},
            "inputs":{"context":{"admin":1}}}"#;
        let mut value = with(text, |node| node.to_value());
        let stripped = ForbiddenKeys::always().strip(&mut value);
        assert_eq!(
            stripped,
            [
                "/context/a/0/User_ID",
                "/context/a/1/0/phone",
                "/context/a~1b/admin",
                "/context/ok/billing_tier",
                "/context/role",
            ]
        );
        assert_eq!(
            String::from_utf8(canonical_bytes(&value, Dialect::Jcs).unwrap()).unwrap(),
            r#"{"context":{"a":[{"x":2},[{}]],"a/b":{},"ok":{},"rôle":1,"userid":3},"inputs":{"context":{"admin":1}},"user_id":1}"#
        );
        let again = String::from_utf8(canonical_bytes(&value, Dialect::Jcs).unwrap()).unwrap();
        assert!(with(&again, |node| ForbiddenKeys::always().find_in_input(node)).is_empty());
    }

    #[test]
    fn strip_searches_context_that_is_list() {
        let mut value = with(r#"{"context":[{"roles":1},2]}"#, |node| node.to_value());
        assert_eq!(
            ForbiddenKeys::always().strip(&mut value),
            ["/context/0/roles"]
        );
        let mut other = with(r#"{"Context":{"roles":1}}"#, |node| node.to_value());
        assert!(ForbiddenKeys::always().strip(&mut other).is_empty());
    }

    #[test]
    fn schema_adds_names_only_at_literal_path() {
        let schema = r#"{"properties":{"context":{"x_forbidden_fields":["Secret_Note",5,"tier"]}},
            "x_forbidden_fields":["elsewhere"],"$defs":{"context":{"x_forbidden_fields":["nor_here"]}}}"#;
        let keys = with(schema, ForbiddenKeys::of_schema);
        for name in [
            "secret_note",
            "SECRET_NOTE",
            "tier",
            "user_email",
            "Payment_State",
        ] {
            assert!(keys.contains(name), "{name}");
        }
        for name in ["elsewhere", "nor_here", "user", "ußer", "ADMİN"] {
            assert!(!keys.contains(name), "{name}");
        }
    }

    #[test]
    fn find_finds_names_at_any_depth() {
        let text = r#"{"a":[[{"Role":{"role":1}}]],"phone":null,"context":{}}"#;
        let found = with(text, |node| ForbiddenKeys::always().find(node));
        assert_eq!(found, ["/a/0/0/Role", "/phone"]);
    }

    #[test]
    fn always_forbidden_list_has_all_17_names() {
        for name in "user_email user_id username phone oauth_subject device_id role roles permissions \
             feature_flags admin account_status billing_tier subscription_status price_id invoice_id \
             payment_state"
            .split_whitespace()
        {
            assert!(ForbiddenKeys::always().contains(name), "{name}");
        }
        assert_eq!(ForbiddenKeys::always().0.len(), 17);
    }

    /// Building every pointer on the way once made this copy 32 GB.
    #[test]
    fn forbidden_members_below_long_names_are_counted() {
        let name = "k".repeat(800_000);
        let roles = vec![r#"{"role":{"x":1},"y":[[]]}"#; 40_000].join(",");
        let text = format!(r#"{{"a":{{"Role":1}},"{name}":[{roles}]}}"#);
        let found = with(&text, |node| ForbiddenKeys::always().find(node));
        assert_eq!(found.len(), 40_001);
        assert_eq!(found[0], "/a/Role");
        assert!(found[1].starts_with("/kkk") && found[1].len() <= FINDING_TEXT + 1);
        assert!(found[FINDINGS_A_RULE..].iter().all(String::is_empty));
    }
}
