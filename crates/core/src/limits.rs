//! Every bound on what runseal reads, with the attack each one stops.

/// Most entries that a source lists. Stops a tree of folders that would fill the memory.
pub const MAX_ENTRIES: u64 = 2_000_000;

/// Bytes that any archive may unpack to, whatever its ratio: 64 MiB.
pub const ARCHIVE_FREE_BYTES: u64 = 64 << 20;

/// How many times its own size an archive may unpack to beyond [`ARCHIVE_FREE_BYTES`]. Stops a
/// small file that would keep a machine busy for hours.
pub const ARCHIVE_MAX_RATIO: u64 = 200;

/// Most entries of an archive, including folders that only appear in names. Stops a list of names
/// that would fill the memory.
pub const ARCHIVE_MAX_ENTRIES: u64 = 2_000_000;

/// Entries that any archive may have. Beyond these it may have one for every
/// [`ARCHIVE_BYTES_PER_ENTRY`] packed bytes, up to [`ARCHIVE_MAX_ENTRIES`].
pub const ARCHIVE_FREE_ENTRIES: u64 = 200_000;

/// Packed bytes that an entry needs beyond [`ARCHIVE_FREE_ENTRIES`]. Stops a few megabytes of
/// packed headers that become millions of entries.
pub const ARCHIVE_BYTES_PER_ENTRY: u64 = 32;

/// Most bytes of one entry's name: the longest path of Linux. Stops a name field of gigabytes.
pub const ARCHIVE_MAX_NAME: u64 = 4 << 10;

/// Most bytes of all names together, or twice the packed bytes if that is more. Stops millions of
/// long names that pack to nothing.
pub const ARCHIVE_FREE_NAMES: u64 = 24 << 20;

/// Most bytes of all names together, whatever the archive's size.
pub const ARCHIVE_MAX_NAMES: u64 = 1 << 30;

/// Most bytes of a tar entry's extended header, or of a text in a gzip header. Stops a field of
/// gigabytes there.
pub const ARCHIVE_MAX_EXTENDED: u64 = 1 << 20;

/// How many bytes back a Zstandard frame may refer to. Its decoder keeps that much in memory.
pub const ARCHIVE_MAX_WINDOW: u64 = 64 << 20;

/// Bytes of JSON documents and other texts that rules read, kept in memory for one archive.
pub const ARCHIVE_KEPT_DOCUMENTS: u64 = 512 << 20;

/// Bytes of such documents that are kept for any archive. Beyond these,
/// [`ARCHIVE_KEPT_RATIO`] times the packed bytes are kept, up to [`ARCHIVE_KEPT_DOCUMENTS`]. Stops
/// a small archive that would fill the memory.
pub const ARCHIVE_KEPT_FREE: u64 = 64 << 20;

/// Bytes of printed text and files left by commands that a run's pack contains: 32 MiB. The rest is
/// named with its hash and size. Stops a pack that is a second disk.
pub const RUN_KEPT_CONTENTS: usize = 32 << 20;

/// Bytes printed by all commands of a run, up to which they are joined and compared with run.json's
/// hashes: 64 MiB. Stops a pack in which many results name one long content.
pub const RUN_PRINTED_COMPARED: usize = 64 << 20;

/// Bytes of documents kept for each packed byte, beyond [`ARCHIVE_KEPT_FREE`].
pub const ARCHIVE_KEPT_RATIO: u64 = 8;

/// Bytes of other small files, kept in memory so that they can be shown.
pub const ARCHIVE_KEPT_OTHERS: u64 = 16 << 20;

/// Elements that a list of any job manifest (steps, artifacts, inputs) or receipt may have.
pub const MANIFEST_FREE_ELEMENTS: usize = 50_000;

/// Bytes of manifest that each element beyond those needs on average; an artifact has several times
/// as many. Stops lists of empty things, which take more memory than text.
pub const MANIFEST_BYTES_PER_ELEMENT: usize = 48;

/// The most elements that a list may have in a job manifest or receipt of `bytes` bytes.
pub const fn max_manifest_elements(bytes: usize) -> usize {
    let elements = bytes / MANIFEST_BYTES_PER_ELEMENT;
    if elements > MANIFEST_FREE_ELEMENTS {
        elements
    } else {
        MANIFEST_FREE_ELEMENTS
    }
}

/// Most steps in the paths to all values of a context bundle together. Its rules keep the path of
/// everything they look at. Stops very long lists and very deep nesting.
pub const BUNDLE_MAX_STEPS: u64 = 1_500_000;

/// Most actions and tests of a proposal together, and most results of evidence. Rules keep the place of each. Stops
/// lists of very many small things.
pub const PROPOSAL_MAX_ELEMENTS: usize = 200_000;

/// Lines that any ledger may have.
pub const LEDGER_FREE_LINES: usize = 100_000;

/// Bytes that each line beyond those needs on average; an entry has several times as many. Stops a
/// file of nothing but line ends and digits.
pub const LEDGER_BYTES_PER_LINE: usize = 64;

/// The most lines that a ledger of `bytes` bytes may have.
pub const fn max_ledger_lines(bytes: usize) -> usize {
    let lines = bytes / LEDGER_BYTES_PER_LINE;
    if lines > LEDGER_FREE_LINES {
        lines
    } else {
        LEDGER_FREE_LINES
    }
}

/// Most labels in a bag's bag-info.txt. Stops a text of very short lines, which would take many times
/// its size in memory.
pub const BAG_INFO_ENTRIES: usize = 10_000;

/// Findings of one rule that a report keeps; the rest is counted. Stops an answer hundreds of times
/// as large as a document in which every element is wrong.
pub const FINDINGS_A_RULE: usize = 1_000;

/// Bytes of places and messages that a report keeps for one rule. Stops the same with long names.
pub const FINDING_TEXT_A_RULE: usize = 1 << 20;

/// Bytes of one place or message; longer ones are cut. Stops a document that makes a report quote all
/// of it.
pub const FINDING_TEXT: usize = 16 << 10;

/// Findings that the answer to one `verify` lists; the rest is counted. Stops a folder or archive
/// of very many small things that are all wrong.
pub const FINDINGS_A_SURVEY: usize = 20_000;

/// Findings in one archive after which the rest of it is not judged. They are kept until the whole archive is judged.
/// Stops a small archive of very many bundles that are wrong everywhere.
pub const FINDINGS_AN_ARCHIVE: usize = 100_000;

/// Differences that `diff` lists; the rest is counted.
pub const DIFF_MAX_CHANGES: usize = 10_000;

/// Bytes of one place, or of one value in canonical form, that `diff` lists. A longer value is cut, with its size and
/// digest. Stops a long key that is part of the place of every difference below it.
pub const DIFF_LONGEST: usize = 1024;

/// Most bytes of two texts that `diff` compares line by line. Of longer ones it only says that they differ.
pub const DIFF_MAX_TEXT: usize = 1 << 20;

/// Most lines of those texts. Stops texts that have nothing in common, for which the work is
/// quadratic.
pub const DIFF_MAX_LINES: usize = 10_000;

/// Most values of a JSON Schema. Stops a schema that takes longer to prepare than to use.
pub const SCHEMA_MAX_VALUES: usize = 100_000;

/// Most different regular expressions of a JSON Schema. Each is compiled to a program.
pub const SCHEMA_MAX_PATTERNS: usize = 1_000;

/// Most bytes of one regular expression of a JSON Schema, as written.
pub const SCHEMA_PATTERN_TEXT: usize = 4 << 10;

/// Most bytes of all different regular expressions of a JSON Schema, as written.
pub const SCHEMA_PATTERNS_TEXT: usize = 128 << 10;

/// Most parts of a JSON Schema that have their own id.
pub const SCHEMA_MAX_IDS: usize = 500;

/// Most bytes of the JSON Pointers, to the value and to the keyword, of all violations of one
/// document. Stops long names at the top of very many values.
pub const SCHEMA_MAX_PLACES: usize = 64 << 20;

/// Most instructions of one regular expression of a JSON Schema. Stops `(a{1000}){1000}`.
pub const SCHEMA_PATTERN_INSTRUCTIONS: usize = 50_000;

/// Most instructions of all regular expressions of a JSON Schema.
pub const SCHEMA_PATTERNS_INSTRUCTIONS: usize = 500_000;

/// Most references and the like in a JSON Schema that are followed one after the other for one value.
pub const SCHEMA_MAX_CHAIN: usize = 1_000;

/// Most subschemas inside each other while a document is validated: those for a value, for the value
/// around it, and so on. Each takes a part of the thread's stack.
pub const SCHEMA_MAX_NESTING: usize = 2_000;

/// Most subschemas that apply to one value: those that `allOf`, `$ref` and the like lead to, each
/// counted as often as it is reached. Stops references that double at every level.
pub const SCHEMA_MAX_EXPANSION: usize = 20_000;

/// Most steps that validating one document against its JSON Schema may take: values looked at, names
/// looked up, elements compared, every 16 bytes of a string. Counted, not timed, so the verdict is
/// the same on every machine. Stops a small schema that is costly for a large document.
pub const SCHEMA_MAX_STEPS: u64 = 30_000_000;

/// Violations of a JSON Schema after which validating a document stops. It stops earlier if their
/// places take more than [`SCHEMA_MAX_PLACES`].
pub const SCHEMA_MAX_VIOLATIONS: usize = 10_000;

/// Faults of one archive that are listed. Stops a report larger than the archive.
pub const ARCHIVE_MAX_FAULTS: usize = 1_000;

/// Most bytes of an archive that cannot be read from its end, such as a zip on standard input.
pub const ARCHIVE_MAX_PIPED: u64 = 512 << 20;

/// Bounds on reading one JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Most bytes of the whole text. Stops a text that would fill the memory; never above
    /// [`JsonLimits::LARGEST_TEXT`], because places in a text are kept in 32 bits.
    pub max_bytes: u64,
    /// Most brackets open at once. Stops nesting that would exhaust the stack.
    pub max_depth: u32,
    /// Most bytes of one string, as written. Stops a single member that no reader downstream could
    /// hold.
    pub max_string_bytes: u32,
    /// Elements and members that any text may have.
    pub free_values: u64,
    /// Bytes that each element or member beyond those needs on average; 0 means that they are not
    /// counted. Stops a text of nothing but brackets, whose places take many times its size.
    pub bytes_per_value: u64,
}

impl JsonLimits {
    /// Most bytes that `canon` and `hash` read: 2 GiB.
    pub const LARGEST_TEXT: u64 = 2 << 30;
    /// Most bytes of a document of one of the formats (a manifest, a pack's file): 512 MiB.
    pub const LARGEST_DOCUMENT: u64 = 512 << 20;
    /// Most brackets open at once: 512 are read, 513 are refused (rulings).
    pub const DEPTH: u32 = 512;
    /// Most bytes of one string: 256 MiB.
    pub const LARGEST_STRING: u32 = 256 << 20;

    /// The bounds for text of any origin, as `canon` and `hash` use them.
    pub const TEXT: Self = Self {
        max_bytes: Self::LARGEST_TEXT,
        max_depth: Self::DEPTH,
        max_string_bytes: Self::LARGEST_STRING,
        free_values: 0,
        bytes_per_value: 0,
    };

    /// Most bytes of an intent, a list of answers or a text to be linted: 8 MiB. These are written by hand; measuring
    /// one takes up to 54 times its size in memory.
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

    /// The bounds for the body of a recorded request that is compared by its values. Token ids take more than four
    /// bytes each. Stops a body of nothing but digits, which is compared as text instead.
    pub const BODY: Self = Self {
        free_values: Self::FREE_VALUES,
        bytes_per_value: 4,
        ..Self::TEXT
    };

    /// The bounds for two documents together that are compared by meaning, whatever their length. Stops two archives
    /// that unpack to documents whose places take many times their size.
    pub const COMPARED: Self = Self {
        free_values: 2_000_000,
        bytes_per_value: u64::MAX,
        ..Self::DOCUMENT
    };

    /// Elements and members that any document may have: 4 million.
    pub const FREE_VALUES: u64 = 4_000_000;
    /// Bytes that each element or member beyond those needs on average. A manifest has more than
    /// twice as many.
    pub const BYTES_PER_VALUE: u64 = 16;

    /// The most elements and members that a text of `bytes` bytes may have.
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
