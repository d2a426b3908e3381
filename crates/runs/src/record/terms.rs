//! What becomes of the results of a command: which files are kept, which do not count, and how they are compared.
//!
//! The terms of a recording are members of RUN_INPUT.json and constants of INPUT_SCHEMA.json. So a contract demands them,
//! `outputs_hash` covers them, and nobody loosens them afterwards without another hash for both.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use runseal_core::canon::{Node, Value};
use runseal_sandbox::{Change, Changed};

use super::keep::{Keep, KeepError};
use super::rules::{RuleError, Rules};

/// The terms of a recording.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Which of the written files become artifacts; `None` for all. Of the others the names are compared.
    pub keep: Option<Keep>,
    /// Which of the written files neither become artifacts nor are compared.
    pub ignore: Option<Keep>,
    /// How results are compared.
    pub compare: Rules,
}

/// Why the terms in a bundle are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// The patterns of this member are at fault.
    #[error("/{0}: {1}")]
    Patterns(&'static str, KeepError),
    /// A rule is at fault.
    #[error("/compare: {0}")]
    Rules(RuleError),
}

/// What becomes of a file that a command left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is an artifact.
    Kept,
    /// Its name is sealed, and its content is not.
    Named,
    /// It is as if it were not there.
    Ignored,
}

impl Terms {
    /// Parses those of a RUN_INPUT.json.
    ///
    /// # Errors
    /// For the first member with something that is not a pattern or rule.
    pub(crate) fn parse(input: Option<Node<'_>>) -> Result<Self, TermsError> {
        let member = |name| input.and_then(|input| input.get(name));
        let patterns = |name| {
            let list: Option<Node<'_>> = member(name);
            let items = list.iter().flat_map(|list| list.items());
            let texts = items.filter_map(|item| Some(item.as_str()?.into_owned()));
            let texts: Vec<String> = texts.collect();
            Keep::parse(&texts).map_err(|error| TermsError::Patterns(name, error))
        };
        Ok(Self {
            keep: patterns("keep")?,
            ignore: patterns("ignore")?,
            compare: Rules::parse_sealed(member("compare")).map_err(TermsError::Rules)?,
        })
    }

    /// The members of RUN_INPUT.json that say it; none if nothing was given.
    pub(crate) fn members(&self) -> Vec<(&'static str, Value)> {
        let patterns = |keep: &Option<Keep>| {
            let patterns = keep.as_ref()?.patterns().iter();
            Some(Value::array(patterns.map(String::as_str)))
        };
        let members = [
            ("keep", patterns(&self.keep)),
            ("ignore", patterns(&self.ignore)),
            ("compare", self.compare.to_value()),
        ];
        let given = members.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// What becomes of the file at this path below the folder.
    pub fn fate_of(&self, path: &OsStr) -> Fate {
        let path = Path::new(path);
        if self
            .ignore
            .as_ref()
            .is_some_and(|ignore| ignore.keeps(path))
        {
            return Fate::Ignored;
        }
        match self.keep.as_ref().is_none_or(|keep| keep.keeps(path)) {
            true => Fate::Kept,
            false => Fate::Named,
        }
    }

    /// The folders below which something was left that is not ignored.
    pub(crate) fn find_filled<'c>(&self, changes: &'c [Change]) -> BTreeSet<&'c Path> {
        let mut filled = BTreeSet::new();
        let counts = |change: &&Change| {
            change.now == Changed::Deleted || self.fate_of(&change.path) != Fate::Ignored
        };
        for change in changes.iter().filter(counts) {
            let above = Path::new(&change.path).ancestors().skip(1);
            for folder in above {
                if !filled.insert(folder) {
                    break;
                }
            }
        }
        filled
    }
}
