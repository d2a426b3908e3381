//! All exit codes: one function of the command's surface and its outcome.

use crate::formats::Format;

/// Which table of exit codes applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The command of one format, whose document may have its own table.
    Format(Format),
    /// `runseal verify`, for all formats.
    Verify,
    /// A proxy between a program and its models or tools, which exits with 0 or 1.
    Proxy,
    /// Any other command.
    Command,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It looked and everything is valid.
    Valid,
    /// It looked and something is invalid.
    Invalid,
    /// The text is not JSON, or so malformed that the document distinguishes it from invalid.
    Malformed,
    /// It could not look.
    Unreadable,
    /// The command line is wrong.
    Usage,
    /// The program has a bug.
    Internal,
    /// The user interrupted the command.
    Interrupted,
}

/// The exit code of a usage error, unless a document sets another (sysexits' EX_USAGE).
const USAGE: u8 = 64;
/// The exit code of an internal error, unless a document sets another (EX_SOFTWARE).
const INTERNAL: u8 = 70;
/// The exit code after an interrupt, as in shells.
const INTERRUPTED: u8 = 130;

/// Returns the exit code for `outcome` on `surface`.
pub const fn exit_code(surface: Surface, outcome: Outcome) -> u8 {
    use Outcome::{Internal, Interrupted, Invalid, Malformed, Unreadable, Usage, Valid};
    match surface {
        // 003 §7.3; the other single documents follow it.
        Surface::Format(
            Format::ContextBundle
            | Format::Proposal
            | Format::Patch
            | Format::ModelIo
            | Format::Runner
            | Format::Evidence
            | Format::Ledger,
        ) => match outcome {
            Valid => 0,
            Unreadable => 1,
            Malformed => 2,
            Invalid => 3,
            Usage => USAGE,
            Internal => INTERNAL,
            Interrupted => INTERRUPTED,
        },
        // 002 §7.3.
        Surface::Format(Format::Pack) | Surface::Verify => match outcome {
            Valid => 0,
            Invalid | Malformed => 1,
            Unreadable => 2,
            Usage | Internal => 3,
            Interrupted => INTERRUPTED,
        },
        // 001 §9.
        Surface::Format(Format::JobBundle) => match outcome {
            Valid => 0,
            Invalid => 1,
            Malformed | Unreadable => 2,
            Internal => 3,
            Usage => USAGE,
            Interrupted => INTERRUPTED,
        },
        // Its caller only asks whether everything went through it as it should.
        Surface::Proxy => match outcome {
            Valid => 0,
            Invalid | Malformed | Unreadable => 1,
            Usage => USAGE,
            Internal => INTERNAL,
            Interrupted => INTERRUPTED,
        },
        // No document sets these.
        Surface::Format(_) | Surface::Command => match outcome {
            Valid => 0,
            Invalid => 1,
            Malformed | Unreadable => 2,
            Usage => USAGE,
            Internal => INTERNAL,
            Interrupted => INTERRUPTED,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_matches_the_documents_tables() {
        let all = [
            Outcome::Valid,
            Outcome::Invalid,
            Outcome::Malformed,
            Outcome::Unreadable,
            Outcome::Usage,
            Outcome::Internal,
        ];
        let codes = |surface| all.map(|outcome| exit_code(surface, outcome));
        assert_eq!(
            codes(Surface::Format(Format::Proposal)),
            [0, 3, 2, 1, 64, 70]
        );
        assert_eq!(codes(Surface::Format(Format::Pack)), [0, 1, 1, 2, 3, 3]);
        assert_eq!(
            codes(Surface::Format(Format::JobBundle)),
            [0, 1, 2, 2, 64, 3]
        );
        assert_eq!(codes(Surface::Verify), [0, 1, 1, 2, 3, 3]);
        assert_eq!(codes(Surface::Proxy), [0, 1, 1, 1, 64, 70]);
        assert_eq!(codes(Surface::Command), [0, 1, 2, 2, 64, 70]);
    }
}
