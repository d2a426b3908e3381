//! Which of the files that a command writes are kept.

use std::collections::BTreeSet;
use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The most patterns.
const MOST_PATTERNS: usize = 1000;

/// The longest pattern in bytes: no path that it could match is longer.
const LONGEST_PATTERN: usize = 4096;

/// The most alternatives (`{a,b}`) in one pattern: they nest, and whatever reads them does so on its stack.
const MOST_ALTERNATIVES: usize = 50;

/// Why patterns are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// There are too many.
    #[error("there are more than {MOST_PATTERNS} patterns")]
    TooMany,
    /// One is too long.
    #[error("a pattern has more than {LONGEST_PATTERN} bytes")]
    TooLong,
    /// One has too many alternatives.
    #[error("a pattern has more than {MOST_ALTERNATIVES} `{{`")]
    TooManyAlternatives,
    /// One is not a valid pattern.
    #[error(transparent)]
    Pattern(#[from] globset::Error),
}

/// Patterns for paths below the folder; a file that matches one of them is kept.
#[derive(Debug, Clone)]
pub struct Keep {
    patterns: Vec<String>,
    set: GlobSet,
    /// Each pattern as it was given, and where in `patterns` what it became ends.
    given: Vec<(String, usize)>,
}

impl Keep {
    /// Parses what somebody wrote: `./a.txt` is `a.txt`, `out/` is everything below `out`, and a plain name
    /// means the file or, if it is a folder, everything below it. `None` if there are none, which means that
    /// everything is kept.
    ///
    /// # Errors
    /// When one is not a valid pattern, or they are more or larger than anybody needs.
    pub fn parse_given(given: &[String]) -> Result<Option<Self>, KeepError> {
        let mut patterns = Vec::new();
        let mut ends = Vec::new();
        for pattern in given {
            patterns.extend(expand(pattern));
            ends.push((pattern.clone(), patterns.len()));
        }
        let keep = Self::parse(&patterns)?;
        Ok(keep.map(|keep| Self {
            given: ends,
            ..keep
        }))
    }

    /// Parses the patterns of a bundle; `None` if there are none, which means that everything is kept.
    ///
    /// # Errors
    /// When one is not a valid pattern, or they are more or larger than anybody needs.
    pub fn parse(patterns: &[String]) -> Result<Option<Self>, KeepError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        // Before anything reads them: a bundle's patterns are a stranger's.
        if patterns.len() > MOST_PATTERNS {
            return Err(KeepError::TooMany);
        }
        if patterns.iter().any(|it| it.len() > LONGEST_PATTERN) {
            return Err(KeepError::TooLong);
        }
        let opened = |it: &String| it.bytes().filter(|byte| *byte == b'{').count();
        if patterns.iter().any(|it| opened(it) > MOST_ALTERNATIVES) {
            return Err(KeepError::TooManyAlternatives);
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern)?);
        }
        Ok(Some(Self {
            patterns: patterns.to_vec(),
            set: set.build()?,
            given: Vec::new(),
        }))
    }

    /// Whether the file at this path below the folder is kept.
    pub fn keeps(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    /// Which of the given patterns match none of these paths.
    pub fn unmatched(&self, paths: &[String]) -> Vec<&str> {
        let matched: BTreeSet<usize> = paths
            .iter()
            .flat_map(|path| self.set.matches(path))
            .collect();
        let mut unmatched = Vec::new();
        let mut start = 0;
        for (given, end) in &self.given {
            if matched.range(start..*end).next().is_none() {
                unmatched.push(given.as_str());
            }
            start = *end;
        }
        unmatched
    }

    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// The patterns, as bundles have them, that a given one means.
fn expand(given: &str) -> Vec<String> {
    if given.is_empty() || given.starts_with('/') {
        return vec![given.to_owned()];
    }
    let mut plain = given;
    while let Some(rest) = plain.strip_prefix("./") {
        plain = rest.trim_start_matches('/');
    }
    let folder = plain.trim_end_matches('/');
    if folder.is_empty() || folder == "." {
        return vec!["**".to_owned()];
    }
    let below = format!("{folder}/**");
    if folder.len() < plain.len() {
        return vec![below];
    }
    match folder.contains(['*', '?', '[', '{', '\\']) {
        true => vec![folder.to_owned()],
        false => vec![folder.to_owned(), below],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_pattern_names_files_and_folders_as_people_write_them() {
        let texts = |given: &[&str]| given.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        for (given, kept, other) in [
            ("d", "d/x/y", "dd/x"),
            ("d", "d", "e"),
            ("d/", "d/x", "d"),
            ("./a.txt", "a.txt", "b.txt"),
            ("././d/", "d/x", "x"),
            ("*.csv", "a.csv", "a.csv/x"),
            ("out*/", "out1/x", "out1"),
        ] {
            let keep = Keep::parse_given(&texts(&[given])).unwrap().unwrap();
            assert!(keep.keeps(Path::new(kept)), "{given} {kept}");
            assert!(!keep.keeps(Path::new(other)), "{given} {other}");
        }
        let keep = Keep::parse_given(&texts(&["d", "./e", "*.csv"])).unwrap();
        let unmatched = |paths| keep.as_ref().unwrap().unmatched(&texts(paths)).join(" ");
        assert_eq!(unmatched(&["d/x"]), "./e *.csv");
        assert_eq!(unmatched(&["e", "d", "x.csv"]), "");
        assert!(Keep::parse_given(&[]).unwrap().is_none());
        assert_eq!(expand("."), ["**"]);
    }

    #[test]
    fn patterns_beyond_the_bounds_are_refused_before_they_are_read() {
        let parse = |given: Vec<String>| Keep::parse(&given).map(drop);
        let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert_eq!(parse(vec![nested(MOST_ALTERNATIVES)]), Ok(()));
        // A `}` in a class closes nothing.
        let classes = format!("{}a{}", "{[}]".repeat(1000), "}".repeat(90));
        for pattern in [nested(2000), classes] {
            assert_eq!(parse(vec![pattern]), Err(KeepError::TooManyAlternatives));
        }
        assert_eq!(parse(vec![nested(200_000)]), Err(KeepError::TooLong));
        assert_eq!(parse(vec!["a".to_owned(); 1001]), Err(KeepError::TooMany));
        let given = Keep::parse_given(&[nested(200_000)]).map(drop);
        assert_eq!(given, Err(KeepError::TooLong));
        assert!(matches!(
            parse(vec!["{a".to_owned()]),
            Err(KeepError::Pattern(_))
        ));
    }
}
