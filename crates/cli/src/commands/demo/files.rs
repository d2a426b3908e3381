//! The built-in examples, from the project's `examples/` folder.

use std::fs;
use std::io;
use std::path::Path;

use runseal_fs::atomic::{Readers, write_bytes, write_new};

macro_rules! examples {
    ($($target:literal = $source:literal),+ $(,)?) => {
        [$(($target, include_str!(concat!("../../../../../examples/", $source)))),+]
    };
}

const EXAMPLES: [(&str, &str); 14] = examples![
    "intent.json" = "intents/clear.json",
    "vague.json" = "intents/vague.json",
    "work.json" = "intents/with-work.json",
    "handbook/opening-hours.md" = "demo/handbook/opening-hours.md",
    "handbook/prices.md" = "demo/handbook/prices.md",
    "plan.json" = "demo/plan.json",
    "engine/ENGINE_MANIFEST.json" = "engines/resonance-sweep/ENGINE_MANIFEST.json",
    "engine/INPUT_SCHEMA.json" = "engines/resonance-sweep/INPUT_SCHEMA.json",
    "engine/OUTPUT_SCHEMA.json" = "engines/resonance-sweep/OUTPUT_SCHEMA.json",
    "engine/COUPLING_RULES.json" = "engines/resonance-sweep/COUPLING_RULES.json",
    "engine/SEALING_SPEC.md" = "engines/resonance-sweep/SEALING_SPEC.md",
    "engine/engine.sh" = "engines/resonance-sweep/engine.sh",
    "engine/sweep.awk" = "engines/resonance-sweep/sweep.awk",
    "input.json" = "engines/resonance-sweep/input.json",
];

/// Writes the examples into `folder`.
pub(super) fn write_examples(folder: &Path) -> io::Result<()> {
    for (name, text) in EXAMPLES {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        write_new(&path, text.as_bytes(), Readers::AsUmask).map_err(|error| error.source)?;
    }
    Ok(())
}

/// Copies a file or a folder of files. Only contents are copied: what is sealed may be read-only, and
/// the copy is there to be changed.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let written = write_new(to, &fs::read(from)?, Readers::AsUmask);
        return written.map_err(|error| error.source);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Changes one byte in the middle of a file: a letter or digit becomes its neighbour, so that JSON
/// stays JSON. Returns the byte's offset, its old value and its new one.
pub(super) fn change_one_byte(path: &Path, behind: &str) -> io::Result<(usize, char, char)> {
    let mut bytes = fs::read(path)?;
    let start = bytes
        .windows(behind.len().max(1))
        .position(|window| window == behind.as_bytes())
        .map_or(bytes.len() / 2, |at| at + behind.len());
    let found = (start..bytes.len()).find(|at| bytes[*at].is_ascii_alphanumeric());
    let at = found.ok_or_else(|| io::Error::other("there is nothing to change"))?;
    let old = bytes[at];
    let new = match old {
        b'0' => b'1',
        b'a' => b'b',
        b'A' => b'B',
        other => other - 1,
    };
    bytes[at] = new;
    write_bytes(path, &bytes).map_err(|error| error.source)?;
    Ok((at, char::from(old), char::from(new)))
}
