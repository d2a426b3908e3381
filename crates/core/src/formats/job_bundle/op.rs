//! The two operations of a step, by their names in the document.

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads the target of a symbol.
    ReadSymbol,
    /// Reads a section by its id.
    ReadSection,
}

impl Op {
    /// Parses its name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "READ_SYMBOL" => Some(Self::ReadSymbol),
            "READ_SECTION" => Some(Self::ReadSection),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadSymbol => "READ_SYMBOL",
            Self::ReadSection => "READ_SECTION",
        }
    }

    /// The member of `refs` that names what is read.
    pub const fn ref_key(self) -> &'static str {
        match self {
            Self::ReadSymbol => "symbol_id",
            Self::ReadSection => "section_id",
        }
    }

    /// The kind of the artifact it produces.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::ReadSymbol => "SYMBOL_SLICE",
            Self::ReadSection => "SECTION_SLICE",
        }
    }
}
