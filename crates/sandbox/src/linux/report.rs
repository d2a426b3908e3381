//! What the processes of a sandbox tell the caller: fixed records over one pipe.
//!
//! Records are eight bytes, far below what a pipe writes atomically, so that several processes
//! may write without a lock. The command itself never holds the pipe (it is close-on-exec).

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::sys;
use crate::error::Layer;
use crate::outcome::Limit;

/// A message from the sandbox's processes to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// A layer could not be put up.
    SetUpFailed(Layer, i32),
    /// The program could not be executed.
    ExecuteFailed(i32),
    /// The command ended by itself.
    Exited(u8),
    /// The command ended by a signal.
    Signaled(i32),
    /// Process 1 stopped everything at a limit.
    Stopped(Limit),
    /// What the command used could not be measured, so everything was stopped.
    NotMeasured(i32),
    /// The command runs in the control group that was made for it.
    InGroup,
    /// The most memory that one of the command's processes had, in KiB.
    PeakMemory(i32),
    /// Only the processes in /proc are shown.
    PartialProc,
    /// The command's calls cannot be heard of.
    NotObserved(i32),
    /// The program is executed from the place of this number among those where it may be. The last
    /// such record, without a failure behind it, tells what ran.
    Executing(i32),
    /// A piece of the names of processes that the command left running; see
    /// [`super::left_running`].
    LeftRunning([u8; TEXT_BYTES]),
}

pub(super) const RECORD_BYTES: usize = 8;
/// What of a record can be text.
pub(super) const TEXT_BYTES: usize = RECORD_BYTES - 1;

impl Record {
    fn encode(self) -> [u8; RECORD_BYTES] {
        let (kind, detail, value) = match self {
            Record::LeftRunning(text) => {
                let mut bytes = [8; RECORD_BYTES];
                bytes[1..].copy_from_slice(&text);
                return bytes;
            }
            Record::SetUpFailed(layer, errno) => (1, layer as u8, errno),
            Record::ExecuteFailed(errno) => (2, 0, errno),
            Record::Exited(code) => (3, 0, i32::from(code)),
            Record::Signaled(signal) => (4, 0, signal),
            Record::Stopped(Limit::Memory) => (5, 1, 0),
            Record::Stopped(Limit::WorkBytes) => (5, 2, 0),
            Record::Stopped(Limit::WorkFiles) => (5, 3, 0),
            Record::Stopped(Limit::Temporary) => (5, 4, 0),
            Record::Stopped(Limit::FreeSpace) => (5, 5, 0),
            Record::Stopped(Limit::SharedMemory) => (5, 6, 0),
            Record::Stopped(Limit::Processes) => (5, 7, 0),
            Record::Stopped(Limit::FreeFiles) => (5, 8, 0),
            Record::Stopped(_) => (5, 0, 0),
            Record::InGroup => (6, 0, 0),
            Record::NotObserved(errno) => (7, 0, errno),
            Record::Executing(number) => (9, 0, number),
            Record::PartialProc => (10, 0, 0),
            Record::NotMeasured(errno) => (11, 0, errno),
            Record::PeakMemory(kib) => (12, 0, kib),
        };
        let mut bytes = [kind, detail, 0, 0, 0, 0, 0, 0];
        bytes[4..].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    /// Reads one record back; nothing for bytes that are none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        let value = i32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
        match (*bytes.first()?, *bytes.get(1)?) {
            (1, layer) => Some(Record::SetUpFailed(Layer::from_number(layer)?, value)),
            (2, _) => Some(Record::ExecuteFailed(value)),
            (3, _) => Some(Record::Exited(u8::try_from(value).ok()?)),
            (4, _) => Some(Record::Signaled(value)),
            (5, 1) => Some(Record::Stopped(Limit::Memory)),
            (5, 2) => Some(Record::Stopped(Limit::WorkBytes)),
            (5, 3) => Some(Record::Stopped(Limit::WorkFiles)),
            (5, 4) => Some(Record::Stopped(Limit::Temporary)),
            (5, 5) => Some(Record::Stopped(Limit::FreeSpace)),
            (5, 6) => Some(Record::Stopped(Limit::SharedMemory)),
            (5, 7) => Some(Record::Stopped(Limit::Processes)),
            (5, 8) => Some(Record::Stopped(Limit::FreeFiles)),
            (6, _) => Some(Record::InGroup),
            (11, _) => Some(Record::NotMeasured(value)),
            (10, _) => Some(Record::PartialProc),
            (12, _) => Some(Record::PeakMemory(value)),
            (7, _) => Some(Record::NotObserved(value)),
            (8, _) => Some(Record::LeftRunning(bytes.get(1..8)?.try_into().ok()?)),
            (9, _) => Some(Record::Executing(value)),
            _ => None,
        }
    }

    /// Sends it. A reader that is gone changes nothing: the sandbox then ends with its caller.
    pub(super) fn send(self, pipe: BorrowedFd<'_>) {
        let bytes = self.encode();
        while let Err(Errno::INTR) = rustix::io::write(pipe, &bytes) {}
    }
}

/// Reports how much memory the processes had that this one has waited for.
pub(super) fn tell_peak_memory(pipe: BorrowedFd<'_>) {
    if let Some(kib) = sys::peak_memory_of_ended() {
        Record::PeakMemory(kib).send(pipe);
    }
}

/// A set-up step that failed, on its way to becoming a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure(pub(super) Layer, pub(super) Errno);

/// Names the layer of a failed call.
pub(super) trait At<T> {
    /// The same result, the error carrying the layer.
    fn at(self, layer: Layer) -> Result<T, Failure>;
}

impl<T> At<T> for Result<T, Errno> {
    fn at(self, layer: Layer) -> Result<T, Failure> {
        self.map_err(|errno| Failure(layer, errno))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_sent_and_parsed_is_the_same() {
        let records = [
            Record::SetUpFailed(Layer::Landlock, 95),
            Record::ExecuteFailed(2),
            Record::Exited(255),
            Record::Signaled(9),
            Record::Stopped(Limit::Memory),
            Record::Stopped(Limit::WorkBytes),
            Record::Stopped(Limit::WorkFiles),
            Record::Stopped(Limit::Temporary),
            Record::Stopped(Limit::FreeSpace),
            Record::Stopped(Limit::SharedMemory),
            Record::Stopped(Limit::Processes),
            Record::Stopped(Limit::FreeFiles),
            Record::NotMeasured(5),
            Record::InGroup,
            Record::NotObserved(16),
            Record::Executing(3),
            Record::LeftRunning(*b"sleep\t\n"),
        ];
        for record in records {
            assert_eq!(Record::parse(&record.encode()), Some(record));
        }
    }

    #[test]
    fn record_of_other_bytes_is_none() {
        assert_eq!(Record::parse(&[0; 8]), None);
        assert_eq!(Record::parse(&[1, 99, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Record::parse(&[3, 0, 0]), None);
    }
}
