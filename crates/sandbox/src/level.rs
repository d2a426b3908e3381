//! How far a command is kept apart from the machine, by name.

use std::fmt;

/// How commands are kept apart from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// None: the command runs as an ordinary child with a clean environment, a time limit and
    /// bounded output. Only by [`crate::Sandbox::without_isolation`].
    None,
    /// Landlock, seccomp and resource limits in the host's own view of files and processes: no
    /// namespaces, for places that refuse them. Only by [`crate::Sandbox::at`].
    Landlock,
    /// Namespaces, seccomp, Landlock and resource limits, all of them.
    Full,
}

impl Isolation {
    /// All levels, the strongest first.
    pub const ALL: [Isolation; 3] = [Isolation::Full, Isolation::Landlock, Isolation::None];

    /// The name that people type and records hold.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::Full => "namespaces",
            Isolation::Landlock => "landlock",
            Isolation::None => "none",
        }
    }

    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Isolation> {
        Isolation::ALL
            .into_iter()
            .find(|level| level.name() == name)
    }

    /// One sentence on what a command can do at this level that it could not at the strongest;
    /// empty for that one.
    pub fn weakness(self) -> &'static str {
        match self {
            Isolation::Full => "",
            Isolation::Landlock => {
                "the command sees the host's processes and file names, and its work folder is \
                 bounded by a watcher only"
            }
            Isolation::None => "the command can read, write and send whatever its user can",
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Isolation;

    #[test]
    fn level_is_found_by_its_name_and_stronger_ones_are_greater() {
        for level in Isolation::ALL {
            assert_eq!(Isolation::from_name(level.name()), Some(level));
        }
        assert_eq!(Isolation::from_name("full"), None);
        assert!(Isolation::ALL.is_sorted_by(|one, next| one > next));
    }
}
