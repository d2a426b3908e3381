//! Lists an archive's files with their digests, and what is wrong with it:
//! `cargo run -p runseal-archive --example list -- evidence.zip`.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, Write as _};

use runseal_archive::{Container, HEAD, InlineDigester, Record, read_stream, read_zip, sniff};

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let mut file = File::open(&path)?;
    let mut head = Vec::new();
    (&file).take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    let mut digester = InlineDigester::default();
    let archive = match sniff(&head) {
        None => return Err(io::Error::other("not an archive")),
        Some(Container::Zip) => {
            let size = file.metadata()?.len();
            read_zip(file, size, &mut digester)?
        }
        Some(container) => {
            read_stream(container, file, &path, &mut digester).map_err(io::Error::other)?
        }
    };
    let mut output = BufWriter::new(io::stdout().lock());
    for (name, record) in archive.below("") {
        if let Record::File(entry) = record {
            writeln!(output, "{}  {}", entry.content.sha256, name.escape_ascii())?;
        }
    }
    for fault in archive.faults() {
        let place = fault.path.as_deref().unwrap_or(&path);
        writeln!(output, "{place}: {}", fault.message)?;
    }
    output.flush()
}
