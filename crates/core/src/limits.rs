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

/// Bytes that a run's pack holds of what commands printed and left; what is beyond is named with
/// its hash and size. Stops a pack that is a second disk: 32 MiB.
pub const RUN_KEPT_CONTENTS: usize = 32 << 20;

/// Bytes that commands of a run printed, one after the other, up to which they are put together
/// and compared with run.json's hashes. Stops a pack in which many results name one long content:
/// 64 MiB.
pub const RUN_PRINTED_COMPARED: usize = 64 << 20;

/// How many times the packed bytes are kept of documents, beyond [`ARCHIVE_KEPT_FREE`].
pub const ARCHIVE_KEPT_RATIO: u64 = 8;

/// Bytes of other small files, kept in memory so that they can be shown.
pub const ARCHIVE_KEPT_OTHERS: u64 = 16 << 20;

/// Elements that a list of a job manifest (steps, artifacts, inputs) or of a receipt may have
/// whatever the document's size.
pub const MANIFEST_FREE_ELEMENTS: usize = 50_000;

/// Beyond those, the bytes that a manifest has for each of them on average; an artifact takes
/// several times as many. Stops lists of empty things, for which more is kept than they take.
pub const MANIFEST_BYTES_PER_ELEMENT: usize = 48;

/// The elements that a list of a job manifest or receipt of so many bytes may have.
pub const fn max_manifest_elements(bytes: usize) -> usize {
    let elements = bytes / MANIFEST_BYTES_PER_ELEMENT;
    if elements > MANIFEST_FREE_ELEMENTS {
        elements
    } else {
        MANIFEST_FREE_ELEMENTS
    }
}

/// Steps of the paths to all values of a context bundle together. Its rules hold the path of
/// everything they look at; stops lists of very many things, and few things very deep.
pub const BUNDLE_MAX_STEPS: u64 = 1_500_000;

/// Actions and tests of a proposal together, and results of evidence. Rules hold the place of each; stops lists of very
/// many small things.
pub const PROPOSAL_MAX_ELEMENTS: usize = 200_000;

/// Lines that a ledger may have whatever its size.
pub const LEDGER_FREE_LINES: usize = 100_000;

/// Beyond those, the bytes that a ledger has for each of them on average: an entry has several
/// times as many. Stops a file of nothing but line ends and digits.
pub const LEDGER_BYTES_PER_LINE: usize = 64;

/// The lines that a ledger of so many bytes may have.
pub const fn max_ledger_lines(bytes: usize) -> usize {
    let lines = bytes / LEDGER_BYTES_PER_LINE;
    if lines > LEDGER_FREE_LINES {
        lines
    } else {
        LEDGER_FREE_LINES
    }
}

/// Labels with their values that a bag's bag-info.txt may have. Stops a text of nothing but very short
/// lines, each of which would be held many times as large.
pub const BAG_INFO_ENTRIES: usize = 10_000;

/// Findings of one rule that a report keeps; the rest is counted. Stops a document whose every
/// element is wrong from being answered with hundreds of times its size.
pub const FINDINGS_A_RULE: usize = 1_000;

/// Bytes of places and messages that a report keeps for one rule. Stops the same with long names.
pub const FINDING_TEXT_A_RULE: usize = 1 << 20;

/// Bytes of one place or message; what is longer is cut. Stops a document that has itself quoted.
pub const FINDING_TEXT: usize = 16 << 10;

/// Findings that the answer to one `verify` lists; the rest is counted. Stops a folder or archive
/// of very many small things that are all wrong.
pub const FINDINGS_A_SURVEY: usize = 20_000;

/// Findings of everything in one archive, beyond which the rest of it is not judged. They are held until the archive is
/// judged whole; stops a small archive of very many bundles that are wrong everywhere.
pub const FINDINGS_AN_ARCHIVE: usize = 100_000;

/// Differences that `diff` lists; the rest is counted.
pub const DIFF_MAX_CHANGES: usize = 10_000;

/// Bytes of one value that `diff` lists, in canonical form, and of one place. A longer value is cut, with its size and
/// digest. Stops a long key that is part of the place of every difference below it.
pub const DIFF_LONGEST: usize = 1024;

/// Bytes of the two texts that `diff` compares line by line. Beyond them it says that they differ.
pub const DIFF_MAX_TEXT: usize = 1 << 20;

/// Lines of those texts. Stops texts that have nothing in common, where the work grows with the
/// square of them.
pub const DIFF_MAX_LINES: usize = 10_000;

/// Values of a JSON Schema. Stops a schema that takes longer to prepare than to use.
pub const SCHEMA_MAX_VALUES: usize = 100_000;

/// Different regular expressions of a JSON Schema. Each is a program of its own.
pub const SCHEMA_MAX_PATTERNS: usize = 1_000;

/// Bytes of one regular expression of a JSON Schema, as written.
pub const SCHEMA_PATTERN_TEXT: usize = 4 << 10;

/// Bytes of all different regular expressions of a JSON Schema, as written.
pub const SCHEMA_PATTERNS_TEXT: usize = 128 << 10;

/// Parts of a JSON Schema that have an id of their own.
pub const SCHEMA_MAX_IDS: usize = 500;

/// Bytes of the JSON Pointers, to the value and to the keyword, of all violations of one document.
/// Stops long names at the top of very many values.
pub const SCHEMA_MAX_PLACES: usize = 64 << 20;

/// Instructions of one regular expression of a JSON Schema. Stops `(a{1000}){1000}`.
pub const SCHEMA_PATTERN_INSTRUCTIONS: usize = 50_000;

/// Instructions of all regular expressions of a JSON Schema.
pub const SCHEMA_PATTERNS_INSTRUCTIONS: usize = 500_000;

/// References and the like in a JSON Schema that are followed one after the other for one value.
pub const SCHEMA_MAX_CHAIN: usize = 1_000;

/// Subschemas inside each other while a document is validated: those for a value, for the value
/// around it, and so on. Each takes a part of the thread's stack.
pub const SCHEMA_MAX_NESTING: usize = 2_000;

/// Subschemas that apply to one value: those that `allOf`, `$ref` and the like lead to, each as
/// often as it is reached. Stops references that double at every level.
pub const SCHEMA_MAX_EXPANSION: usize = 20_000;

/// Steps that validating one document against its JSON Schema may take: values looked at, names
/// looked up, elements compared, every 16 bytes of a string. Counted, not timed, so that the
/// verdict is the same on every machine. Stops a small schema that is costly for a large document.
pub const SCHEMA_MAX_STEPS: u64 = 30_000_000;

/// Violations of a JSON Schema that one document may have before validating it stops; fewer where
/// the document has names so long that their places would take more than
/// [`SCHEMA_MAX_PLACES`].
pub const SCHEMA_MAX_VIOLATIONS: usize = 10_000;

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
    /// Elements and members that a text may hold whatever its size.
    pub free_values: u64,
    /// Beyond those, the bytes that a text has for each of them on average; 0 means that they are
    /// not counted.
    /// Stops a text of nothing but brackets, whose places take many times its size.
    pub bytes_per_value: u64,
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
        free_values: 0,
        bytes_per_value: 0,
    };

    /// What an intent, a list of answers or a text to be linted may have: 8 MiB. Somebody wrote it by hand; measuring it
    /// takes up to 54 times its size in memory.
    pub const LARGEST_INTENT: u64 = 8 << 20;

    /// The bounds for an intent.
    pub const INTENT: Self = Self {
        max_bytes: Self::LARGEST_INTENT,
        ..Self::DOCUMENT
    };

    /// The bounds for a document that is verified.
    pub const DOCUMENT: Self = Self {
        max_bytes: Self::LARGEST_DOCUMENT,
        free_values: Self::FREE_VALUES,
        bytes_per_value: Self::BYTES_PER_VALUE,
        ..Self::TEXT
    };

    /// The bounds for the body of a recorded request that is compared by its values. Token ids have more than four
    /// bytes each; stops a body of nothing but digits, which is compared as text.
    pub const BODY: Self = Self {
        free_values: Self::FREE_VALUES,
        bytes_per_value: 4,
        ..Self::TEXT
    };

    /// The bounds for two documents that are compared by meaning, together and however long they are. Stops two
    /// archives that unpack to documents whose places take many times their size.
    pub const COMPARED: Self = Self {
        free_values: 2_000_000,
        bytes_per_value: u64::MAX,
        ..Self::DOCUMENT
    };

    /// Elements and members that a document may hold whatever its size: 4 million.
    pub const FREE_VALUES: u64 = 4_000_000;
    /// Beyond those, the bytes that a document has for each of them on average. A manifest has
    /// more than twice as many.
    pub const BYTES_PER_VALUE: u64 = 16;

    /// The elements and members that a text of so many bytes may hold.
    pub const fn max_values(&self, bytes: usize) -> usize {
        match (bytes as u64).checked_div(self.bytes_per_value) {
            Some(values) if values > self.free_values => values as usize,
            Some(_) => self.free_values as usize,
            None => usize::MAX,
        }
    }
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self::DOCUMENT
    }
}
