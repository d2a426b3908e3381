//! How bytes get in and out: a host allocates memory, writes a request into it, and reads the answer.
//!
//! Every piece of memory that a host may write to is owned here, in a table by address. A host that
//! passes a wrong address gets an error, and reads or frees nothing.
#![allow(
    unsafe_code,
    reason = "exported names are unsafe attributes; no pointer is followed"
)]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Answer, answer};

static MEMORY: Mutex<BTreeMap<usize, Box<[u8]>>> = Mutex::new(BTreeMap::new());

fn keep(bytes: Vec<u8>) -> usize {
    let bytes = bytes.into_boxed_slice();
    let address = bytes.as_ptr().expose_provenance();
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    memory.insert(address, bytes);
    address
}

fn take(address: usize) -> Option<Box<[u8]>> {
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    memory.remove(&address)
}

/// Allocates `length` bytes and returns their address; 0 if there is no memory or `length` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> usize {
    let mut bytes = Vec::new();
    if length == 0 || bytes.try_reserve_exact(length).is_err() {
        return 0;
    }
    bytes.resize(length, 0);
    keep(bytes)
}

/// Frees the memory at `address`. Does nothing for any other address.
#[unsafe(no_mangle)]
pub extern "C" fn free(address: usize) {
    take(address);
}

/// Answers the request at `address` and frees it. Returns the address of the answer, which the host must
/// free: its code and its length, four bytes each in little endian, and its text.
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
    fn verify_frees_the_request_once_and_refuses_a_wrong_address() {
        assert_eq!(alloc(0), 0);
        let request = alloc(3);
        assert_ne!(request, 0);
        let answered = verify(request);
        let bytes = take(answered).unwrap();
        assert_eq!(bytes[..4], 3u32.to_le_bytes());
        assert!(bytes[8..].starts_with(b"the request ends"));
        free(request);
        let again = take(verify(request)).unwrap();
        assert!(again[8..].starts_with(b"there is no request"));
    }
}
