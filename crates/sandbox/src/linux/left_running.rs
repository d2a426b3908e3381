//! Names the processes that a command leaves running when it ends: they are ended with it, and
//! whoever reads the record is to know which they were.

use std::fs;
use std::os::fd::BorrowedFd;

use super::report::{Record, TEXT_BYTES};
use crate::observation::LeftProcess;

/// Processes that are named; more are only as many lines that say nothing.
const MOST_NAMED: usize = 16;
/// Bytes of one word that are kept. All of it fits into the pipe many times over.
const LONGEST_WORD: usize = 120;

/// Sends the names of those of `processes` that still run.
pub(super) fn tell(processes: &[i32], report: BorrowedFd<'_>) {
    let named = processes.iter().filter_map(|pid| describe(*pid));
    let lines: Vec<Vec<u8>> = named.take(MOST_NAMED).collect();
    for piece in lines.concat().chunks(TEXT_BYTES) {
        let mut text = [0; TEXT_BYTES];
        for (to, from) in text.iter_mut().zip(piece) {
            *to = *from;
        }
        Record::LeftRunning(text).send(report);
    }
}

/// One line: the process's name, a tab, the word it was started with. Nothing for one that has
/// ended and only waits to be noticed.
fn describe(pid: i32) -> Option<Vec<u8>> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; the last parenthesis closes it.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    if matches!(stat.get(end + 2), None | Some(b'Z' | b'X')) {
        return None;
    }
    let begin = stat.iter().position(|byte| *byte == b'(')?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = command.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut line = plain(stat.get(begin + 1..end)?);
    line.push(b'\t');
    line.extend(plain(first));
    line.push(b'\n');
    Some(line)
}

/// The word without what would be taken for its end.
fn plain(word: &[u8]) -> Vec<u8> {
    let word = word.iter().take(LONGEST_WORD);
    word.map(|byte| if *byte < b' ' { b'?' } else { *byte })
        .collect()
}

/// The processes that the records name, in order.
pub(super) fn parse(records: &[Record]) -> Vec<LeftProcess> {
    let mut text = Vec::new();
    for record in records {
        if let Record::LeftRunning(piece) = record {
            text.extend(piece.iter().copied().filter(|byte| *byte != 0));
        }
    }
    let text = String::from_utf8_lossy(&text);
    let mut found: Vec<LeftProcess> = text
        .lines()
        .filter_map(|line| {
            let (name, started_as) = line.split_once('\t')?;
            Some(LeftProcess {
                name: name.to_owned(),
                started_as: started_as.to_owned(),
            })
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn process_that_runs_is_named_by_name_and_first_word() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Until it has become the program it still has this one's name and words.
        for name in ["comm", "cmdline"] {
            while !fs::read(format!("/proc/{pid}/{name}"))
                .unwrap()
                .starts_with(b"sleep")
            {}
        }
        tell(&[pid], writer.as_fd());
        child.kill().unwrap();
        // Not waited for: it has ended and is not named.
        while describe(pid).is_some() {}
        tell(&[pid, 0], writer.as_fd());
        drop(writer);
        child.wait().unwrap();
        let mut bytes = vec![0; 4096];
        let count = rustix::io::read(&reader, &mut bytes).unwrap();
        let records: Vec<Record> = bytes[..count]
            .chunks(super::super::report::RECORD_BYTES)
            .filter_map(Record::parse)
            .collect();
        let named = parse(&records);
        assert_eq!(named.len(), 1);
        assert_eq!(named[0].name, "sleep");
        assert_eq!(named[0].started_as, "sleep");
    }
}
