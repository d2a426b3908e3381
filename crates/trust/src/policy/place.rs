//! The place of a unit, as the `paths` of a policy see it.
//!
//! Paths are compared by the place that they lead to, never by their spelling on a command line.
//! Relative patterns match paths below the policy's folder; patterns that begin with `/` or a
//! scheme match whole paths and addresses. A unit in an archive has the archive's place: whoever
//! made the archive chose the names inside, so those select no rule.

use super::glob::matches;

/// The place of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path from the policy's folder, without `.`, `..` and links; `None` if it is not below
    /// that folder.
    pub relative: Option<String>,
    /// The whole path or address, without `.`, `..` and links; `None` if there is none.
    pub absolute: Option<String>,
    /// The name inside the archive, if it is in one.
    pub inside: Option<String>,
}

/// Whether a rule or a pattern applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Yes,
    /// It does not; why.
    No(String),
    /// It cannot be decided; why.
    Unclear(String),
}

impl Place {
    /// Makes the place at this path below the policy's folder.
    pub fn below(relative: &str) -> Self {
        Self {
            relative: Some(relative.to_owned()),
            ..Self::default()
        }
    }

    /// Returns whether any of these patterns matches. A pattern that cannot be applied is never
    /// skipped.
    pub(super) fn fits(&self, patterns: &[String]) -> Fit {
        let mut all = Fit::No(format!("its path is `{}`", self.shown().escape_debug()));
        for pattern in patterns {
            match self.fits_one(pattern) {
                Fit::Yes => return Fit::Yes,
                Fit::Unclear(why) => all = Fit::Unclear(why),
                Fit::No(_) => {}
            }
        }
        all
    }

    fn fits_one(&self, pattern: &str) -> Fit {
        let is_whole = pattern.starts_with('/') || pattern.contains("://");
        let shown = pattern.escape_debug();
        let outer = match (is_whole, &self.relative, &self.absolute) {
            (false, Some(relative), _) => relative,
            (true, _, Some(absolute)) => absolute,
            (false, None, _) => {
                return Fit::Unclear(format!(
                    "it is not below the policy's folder, to which `{shown}` is relative"
                ));
            }
            (true, _, None) => {
                return Fit::Unclear(format!("its whole path, for `{shown}`, is not known"));
            }
        };
        if matches(pattern, outer) {
            return Fit::Yes;
        }
        let Some(inside) = &self.inside else {
            return Fit::No(String::new());
        };
        let spelled = [
            inside.clone(),
            format!("{outer}/{inside}"),
            format!("{outer}!/{inside}"),
        ];
        if spelled.iter().any(|path| matches(pattern, path)) {
            Fit::Unclear(format!(
                "its name inside an archive matches `{shown}`, but such names select no rule: unpack it"
            ))
        } else {
            Fit::No(String::new())
        }
    }

    /// Returns the place as reasons show it.
    fn shown(&self) -> &str {
        let outer = self.relative.as_deref().or(self.absolute.as_deref());
        outer.unwrap_or("not known")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_that_cannot_be_applied_is_unclear() {
        let below = Place::below("prod/r");
        let fits = |place: &Place, pattern: &str| place.fits(&[pattern.to_owned()]);
        assert_eq!(fits(&below, "prod/**"), Fit::Yes);
        assert!(matches!(fits(&below, "test/**"), Fit::No(_)));
        assert!(matches!(fits(&below, "/srv/prod/**"), Fit::Unclear(_)));
        let outside = Place {
            absolute: Some("/srv/prod/r".to_owned()),
            ..Place::default()
        };
        assert!(matches!(fits(&outside, "prod/**"), Fit::Unclear(_)));
        assert_eq!(fits(&outside, "/srv/prod/**"), Fit::Yes);
        assert!(matches!(fits(&outside, "/srv/test/**"), Fit::No(_)));
    }

    #[test]
    fn name_inside_archive_selects_no_rule() {
        let inside = Place {
            relative: Some("in/a.zip".to_owned()),
            inside: Some("prod/r".to_owned()),
            ..Place::default()
        };
        let fits = |pattern: &str| inside.fits(&[pattern.to_owned()]);
        assert_eq!(fits("in/**"), Fit::Yes);
        assert!(matches!(fits("other/**"), Fit::No(_)));
        for pattern in ["prod/**", "**/r", "in/a.zip!/prod/r", "in/a.zip/**"] {
            assert!(matches!(fits(pattern), Fit::Unclear(_)), "{pattern}");
        }
    }
}
