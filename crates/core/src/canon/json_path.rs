//! Paths into a JSON document.

use std::fmt;

/// One step into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// To the member with this name.
    Member(String),
    /// To the element at this index.
    Element(usize),
}

impl From<&str> for Step {
    fn from(name: &str) -> Self {
        Self::Member(name.to_owned())
    }
}

impl From<usize> for Step {
    fn from(at: usize) -> Self {
        Self::Element(at)
    }
}

/// A path from a JSON document's root to one of its values. Prints as `$.operations[2].path`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct JsonPath(Vec<Step>);

impl JsonPath {
    /// The document itself.
    pub const ROOT: Self = Self(Vec::new());

    /// The path one step further.
    #[must_use]
    pub fn then(&self, step: impl Into<Step>) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step.into());
        Self(steps)
    }

    /// This path followed by `rest`.
    #[must_use]
    pub fn joined(&self, rest: &Self) -> Self {
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    /// The steps from the root on.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path as a JSON Pointer (RFC 6901).
    pub fn to_pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.0 {
            pointer.push('/');
            match step {
                Step::Member(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
                Step::Element(at) => pointer.push_str(&at.to_string()),
            }
        }
        pointer
    }

    /// Parses a JSON Pointer, taking digits as an index. `None` if it is not a pointer.
    pub fn from_pointer(pointer: &str) -> Option<Self> {
        let Some(rest) = pointer.strip_prefix('/') else {
            return pointer.is_empty().then_some(Self::ROOT);
        };
        let step = |part: &str| match part.parse() {
            Ok(at) if part == "0" || !part.starts_with('0') => Step::Element(at),
            _ => Step::Member(part.replace("~1", "/").replace("~0", "~")),
        };
        Some(Self(rest.split('/').map(step).collect()))
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Member(name) => write!(f, ".{name}")?,
                Step::Element(at) => write!(f, "[{at}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_path_prints_as_path_and_pointer_and_reads_the_pointer_back() {
        let path = JsonPath::ROOT.then("a/b").then(3).then("c~d");
        assert_eq!(path.to_string(), "$.a/b[3].c~d");
        assert_eq!(path.to_pointer(), "/a~1b/3/c~0d");
        assert_eq!(JsonPath::from_pointer("/a~1b/3/c~0d"), Some(path));
        assert_eq!(JsonPath::from_pointer(""), Some(JsonPath::ROOT));
        assert_eq!(JsonPath::from_pointer("a"), None);
        let zeros = JsonPath::from_pointer("/007").unwrap();
        assert_eq!(zeros.steps(), [Step::Member("007".to_owned())]);
    }
}
