//! How much a page shows. Even the page of a hostile or huge bundle opens at once; what is beyond a
//! limit is counted where it would be.

/// Rows of a table.
pub const ROWS: usize = 300;
/// Columns of a table made from a list of objects, or read from a CSV file.
pub const COLUMNS: usize = 12;
/// Characters of a cell.
pub const CELL: usize = 600;
/// Files in the list of all files.
pub const FILES: usize = 1_000;
/// Findings that are shown.
pub const FINDINGS: usize = 200;
/// Characters of one text of a finding.
pub const FINDING: usize = 2_000;
/// Files whose content is shown.
pub const CONTENTS: usize = 60;
/// Steps, reads, commands and recorded calls.
pub const STEPS: usize = 120;
/// Messages of one request, the last ones.
pub const MESSAGES: usize = 200;
/// Parts of one message.
pub const PARTS: usize = 200;
/// Nodes of one JSON tree.
pub const NODES: usize = 1_500;
/// Levels of a JSON tree.
pub const DEPTH: usize = 24;
/// Bytes of one text.
pub const TEXT: usize = 48 << 10;
/// Bytes of a CSV file that are read for its table and its lines.
pub const CSV: usize = 1 << 20;
/// Rows of a CSV table that are shown.
pub const CSV_ROWS: usize = 60;
/// Points of a sparkline.
pub const POINTS: usize = 160;
/// Bytes of all texts and trees of a page together.
pub const PAGE_TEXT: usize = 3 << 20;
/// Bytes of all pictures of a page together.
pub const PAGE_PICTURES: usize = 6 << 20;
/// Pixels of a picture. A picture of few bytes may unpack to gigabytes.
pub const PIXELS: u64 = 40_000_000;
/// Differences between two units.
pub const DIFFERENCES: usize = 300;
/// Rows of a site's index.
pub const SITE_ROWS: usize = 10_000;
/// Values of one run that a site's index keeps for comparing.
pub const SITE_VALUES: usize = 60;
/// Bytes of all such values of an index together.
pub const SITE_TEXT: usize = 8 << 20;
/// Bytes of the files that a page may carry to be checked again.
pub const CARRIED: u64 = 32 << 20;
