//! How bytes get in and out: a host asks for room, writes a request into it, and reads the answer.
//!
//! Every piece of memory that a host may write to stays owned here, in a table by its address, so a host
//! that names a wrong address is told so and reads or frees nothing that is not its own.
#![allow(
    unsafe_code,
    reason = "exported names are unsafe attributes; no pointer is followed"
)]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Answer, answer};

static ROOM: Mutex<BTreeMap<usize, Box<[u8]>>> = Mutex::new(BTreeMap::new());

fn keep(bytes: Vec<u8>) -> usize {
    let bytes = bytes.into_boxed_slice();
    let address = bytes.as_ptr().expose_provenance();
    let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
    room.insert(address, bytes);
    address
}

fn take(address: usize) -> Option<Box<[u8]>> {
    let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
    room.remove(&address)
}

/// Room for `length` bytes; its address, or 0 where there is no memory or nothing was asked for.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> usize {
    let mut bytes = Vec::new();
    if length == 0 || bytes.try_reserve_exact(length).is_err() {
        return 0;
    }
    bytes.resize(length, 0);
    keep(bytes)
}

/// Gives room back. Anything that is no address of it is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn free(address: usize) {
    take(address);
}

/// Answers the request at `address`, which is given back with that. What it gives is the address of the
/// answer, to be given back by the host: its code and its length, four bytes each in little endian, and
/// its text.
#[unsafe(no_mangle)]
pub extern "C" fn verify(address: usize) -> usize {
    let Answer { code, text } = match take(address) {
        Some(request) => answer(&request),
        None => Answer {
            code: 3,
            text: b"there is no request at this address".to_vec(),
        },
    };
    let mut bytes = Vec::with_capacity(8 + text.len());
    bytes.extend_from_slice(&code.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&text);
    keep(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_answer_a_wrong_address_and_give_room_back_once() {
        assert_eq!(alloc(0), 0);
        let room = alloc(3);
        assert_ne!(room, 0);
        let answered = verify(room);
        let bytes = take(answered).unwrap();
        assert_eq!(bytes[..4], 3u32.to_le_bytes());
        assert!(bytes[8..].starts_with(b"the request ends"));
        free(room);
        let again = take(verify(room)).unwrap();
        assert!(again[8..].starts_with(b"there is no request"));
    }
}
