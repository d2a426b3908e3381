//! Every bound on what runseal reads, in one place, with the attack each one stops.

/// Entries that a source lists at the most. Stops a tree of folders that would fill the memory.
pub const MAX_ENTRIES: u64 = 2_000_000;

/// Bounds on reading one JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Bytes of the whole text. Stops a text that would fill the memory; never above
    /// [`JsonLimits::LARGEST_TEXT`], because places in a text are kept in 32 bits.
    pub max_bytes: u64,
    /// Brackets open at once. Stops nesting that would exhaust the stack.
    pub max_depth: u32,
    /// Bytes of one string, as written. Stops a single member that no reader downstream could
    /// hold.
    pub max_string_bytes: u32,
}

impl JsonLimits {
    /// What `canon` and `hash` read at the most: 2 GiB.
    pub const LARGEST_TEXT: u64 = 2 << 30;
    /// What a document of one of the formats (a manifest, a pack's file) may have: 512 MiB.
    pub const LARGEST_DOCUMENT: u64 = 512 << 20;
    /// Brackets open at once: 512 are read, 513 are refused (rulings).
    pub const DEPTH: u32 = 512;
    /// One string: 256 MiB.
    pub const LARGEST_STRING: u32 = 256 << 20;

    /// The bounds for text of any origin, as `canon` and `hash` use them.
    pub const TEXT: Self = Self {
        max_bytes: Self::LARGEST_TEXT,
        max_depth: Self::DEPTH,
        max_string_bytes: Self::LARGEST_STRING,
    };

    /// The bounds for a document that is verified.
    pub const DOCUMENT: Self = Self {
        max_bytes: Self::LARGEST_DOCUMENT,
        ..Self::TEXT
    };
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self::DOCUMENT
    }
}
