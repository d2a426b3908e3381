//! Every bound on what runseal reads, in one place, with the attack each one stops.

/// Entries that a source lists at the most. Stops a tree of folders that would fill the memory.
pub const MAX_ENTRIES: u64 = 2_000_000;

/// Bytes that an archive may unpack to whatever its ratio: 64 MiB.
pub const ARCHIVE_FREE_BYTES: u64 = 64 << 20;

/// Beyond [`ARCHIVE_FREE_BYTES`], how many times its own size an archive may unpack to. Stops a
/// small file that would keep a machine busy for hours.
pub const ARCHIVE_MAX_RATIO: u64 = 200;

/// Entries of an archive, folders that only names imply included. Stops a list of names that
/// would fill the memory.
pub const ARCHIVE_MAX_ENTRIES: u64 = 2_000_000;

/// Entries that an archive may have whatever its size. Beyond that it may have one for every
/// [`ARCHIVE_BYTES_PER_ENTRY`] packed bytes, up to [`ARCHIVE_MAX_ENTRIES`].
pub const ARCHIVE_FREE_ENTRIES: u64 = 200_000;

/// Packed bytes that an entry needs beyond [`ARCHIVE_FREE_ENTRIES`]. Stops a few megabytes of
/// packed headers that become millions of entries.
pub const ARCHIVE_BYTES_PER_ENTRY: u64 = 32;

/// Bytes of one entry's name: what a path may have on Linux. Stops a name field of gigabytes.
pub const ARCHIVE_MAX_NAME: u64 = 4 << 10;

/// Bytes of all names together, or twice the packed bytes where that is more. Stops millions of
/// long names that pack to nothing.
pub const ARCHIVE_FREE_NAMES: u64 = 24 << 20;

/// Bytes of all names together, whatever the archive's size.
pub const ARCHIVE_MAX_NAMES: u64 = 1 << 30;

/// Bytes of a tar entry's extended header or of a text in a gzip header. Stops the same in
/// another place.
pub const ARCHIVE_MAX_EXTENDED: u64 = 1 << 20;

/// Bytes that a Zstandard frame may refer back to. Its decoder holds that much in memory.
pub const ARCHIVE_MAX_WINDOW: u64 = 64 << 20;

/// Bytes of JSON documents and other texts that rules read, kept in memory for one archive.
pub const ARCHIVE_KEPT_DOCUMENTS: u64 = 512 << 20;

/// Bytes of such documents that are kept whatever the archive's size. Beyond that,
/// [`ARCHIVE_KEPT_RATIO`] times the packed bytes are, up to [`ARCHIVE_KEPT_DOCUMENTS`]. Stops a
/// small archive that would fill the memory.
pub const ARCHIVE_KEPT_FREE: u64 = 64 << 20;

/// How many times the packed bytes are kept of documents, beyond [`ARCHIVE_KEPT_FREE`].
pub const ARCHIVE_KEPT_RATIO: u64 = 8;

/// Bytes of other small files, kept in memory so that they can be shown.
pub const ARCHIVE_KEPT_OTHERS: u64 = 16 << 20;

/// Faults of one archive that are listed. Stops a report that is larger than the archive.
pub const ARCHIVE_MAX_FAULTS: usize = 1_000;

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
