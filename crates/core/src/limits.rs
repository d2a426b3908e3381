//! Every bound on what runseal reads, in one place, with the attack each one stops.

/// Entries that a source lists at the most. Stops a tree of folders that would fill the memory.
pub const MAX_ENTRIES: u64 = 2_000_000;

/// Bytes that an archive may unpack to whatever its ratio: 64 MiB.
pub const ARCHIVE_FREE_BYTES: u64 = 64 << 20;

/// Beyond [`ARCHIVE_FREE_BYTES`], how many times its own size an archive may unpack to. Stops a
/// small file that would keep a machine busy for hours.
pub const ARCHIVE_MAX_RATIO: u64 = 200;

/// Entries of an archive. Stops a list of names that would fill the memory.
pub const ARCHIVE_MAX_ENTRIES: usize = 2_000_000;

/// Bytes of one entry's name. Stops a name field of gigabytes.
pub const ARCHIVE_MAX_NAME: u64 = 16 << 10;

/// Bytes of a tar entry's extended header. Stops the same in another place.
pub const ARCHIVE_MAX_EXTENDED: u64 = 1 << 20;

/// Bytes of JSON documents and other texts that rules read, kept in memory for one archive.
pub const ARCHIVE_KEPT_DOCUMENTS: u64 = 512 << 20;

/// Bytes of other small files, kept in memory so that they can be shown.
pub const ARCHIVE_KEPT_OTHERS: u64 = 16 << 20;

/// Bytes of an archive that cannot be read from its end, such as a zip on standard input.
pub const ARCHIVE_MAX_PIPED: u64 = 512 << 20;

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
