//! Names of parameters and metrics: a document and a JSON Pointer into it.
//!
//! They are written with dots, `metrics.loss.final`; a part with anything other than letters,
//! digits, `_` and `-` is quoted. Engines often put everything into one object, `inputs` or
//! `outputs`, so a name may leave that out: `metrics.rmse` also means `/outputs/rmse`.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use runseal_core::formats::run_bundle::pointer;

/// The document that a value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// RUN_INPUT.json.
    Params,
    /// RUN_OUTPUT.json.
    Metrics,
}

impl Root {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Params, Self::Metrics];

    /// Returns the prefix of its names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Params => "params",
            Self::Metrics => "metrics",
        }
    }

    /// Its document.
    pub const fn document(self) -> &'static str {
        match self {
            Self::Params => "RUN_INPUT.json",
            Self::Metrics => "RUN_OUTPUT.json",
        }
    }

    /// Returns the member that names may leave out.
    const fn wrapper(self) -> &'static str {
        match self {
            Self::Params => "inputs",
            Self::Metrics => "outputs",
        }
    }
}

/// The location of a value, such as `metrics` and `/outputs/rmse`, stored as one concatenated text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueName(String);

impl ValueName {
    /// Makes the name of the value at `pointer`.
    pub fn new(root: Root, pointer: &str) -> Self {
        Self(format!("{}{pointer}", root.name()))
    }

    /// Parses a name returned by [`as_str`](Self::as_str).
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = Root::ALL.iter().any(|root| {
            let rest = text.strip_prefix(root.name());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        is_name.then(|| Self(text.to_owned()))
    }

    /// Makes the name with these parts, and the same below the member that may be left out.
    pub fn of_parts(root: Root, parts: &[String]) -> [Self; 2] {
        let pointer = |base: String| {
            let pointer = parts
                .iter()
                .fold(base, |base, part| pointer::member(&base, part));
            Self::new(root, &pointer)
        };
        [
            pointer(String::new()),
            pointer(pointer::member("", root.wrapper())),
        ]
    }

    /// Returns the name as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its document.
    pub fn root(&self) -> Root {
        if self.0.starts_with(Root::Params.name()) {
            Root::Params
        } else {
            Root::Metrics
        }
    }

    /// Returns the pointer into its document.
    pub fn pointer(&self) -> &str {
        &self.0[self.root().name().len()..]
    }

    /// Returns the name without the member that may be left out; `None` if it is not below that.
    fn short(&self) -> Option<Self> {
        let root = self.root();
        let inside = self.pointer().strip_prefix('/')?;
        let rest = inside.strip_prefix(root.wrapper())?;
        rest.starts_with('/').then(|| Self::new(root, rest))
    }

    /// Returns the shortest name for people that does not also mean another of `others`.
    pub fn shown<V>(&self, others: &BTreeMap<Self, V>) -> String {
        match self.short() {
            Some(short) if !others.contains_key(&short) => short.to_string(),
            _ => self.to_string(),
        }
    }
}

impl Borrow<str> for ValueName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ValueName {
    /// Writes the name as in a filter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root().name())?;
        for part in self.pointer().split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            let is_plain = !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            if is_plain {
                write!(f, ".{part}")?
            } else {
                write!(f, ".\"{}\"", part.replace('"', "\"\""))?
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_written_with_dots_without_its_wrapper() {
        let name = ValueName::new(Root::Metrics, "/outputs/a~1b/0");
        assert_eq!(name.to_string(), "metrics.outputs.\"a/b\".0");
        let mut others = BTreeMap::from([(name.clone(), ())]);
        assert_eq!(name.shown(&others), "metrics.\"a/b\".0");
        others.insert(ValueName::new(Root::Metrics, "/a~1b/0"), ());
        assert_eq!(name.shown(&others), "metrics.outputs.\"a/b\".0");
        let parts = ["a/b".to_owned(), "0".to_owned()];
        assert_eq!(ValueName::of_parts(Root::Metrics, &parts)[1], name);
        assert_eq!(ValueName::parse(name.as_str()), Some(name));
        assert_eq!(ValueName::parse("paramsx"), None);
        assert_eq!(
            ValueName::new(Root::Params, "/outputs/x").to_string(),
            "params.outputs.x"
        );
    }
}
