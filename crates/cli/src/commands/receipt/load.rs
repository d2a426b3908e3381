//! Reading receipts from files: one or a list each, ordered by their parent links.

use std::path::PathBuf;

use runseal_core::canon::{Document, Kind, ReadOptions, parse_document};
use runseal_core::formats::receipt::Receipt;
use runseal_core::formats::receipt::chain::order_by_links;
use runseal_core::verify::Outcome;
use runseal_engine::input::Input;

use crate::error::CliError;

/// The bytes of the files.
pub fn read_files(files: &[PathBuf]) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let limit = ReadOptions::default().limits.max_bytes;
    files
        .iter()
        .map(|file| {
            let input = Input::from_argument(Some(file));
            Ok((input.shown(), input.read(limit)?))
        })
        .collect()
}

/// The documents in the files.
pub fn parse_files(files: &[(String, Vec<u8>)]) -> Result<Vec<Document<'_>>, CliError> {
    files
        .iter()
        .map(|(shown, bytes)| {
            parse_document(bytes, &ReadOptions::default())
                .map_err(|error| CliError::json(&error, shown))
        })
        .collect()
}

/// Receipts in order.
pub struct Receipts<'a> {
    /// The receipts.
    pub receipts: Vec<Receipt<'a>>,
    /// Whether they must begin with a first one: a list, or several files.
    pub is_chain: bool,
}

/// The receipts of the documents in these files. A list must be in order; separate files are put
/// in order.
pub fn order_receipts<'a>(
    files: &[(String, Vec<u8>)],
    documents: &'a [Document<'_>],
) -> Result<Receipts<'a>, CliError> {
    let mut receipts = Vec::new();
    let mut has_list = false;
    for ((file, _), document) in files.iter().zip(documents) {
        has_list |= document.root().kind() == Kind::Array;
        receipts.extend(
            Receipt::read_all(document.root())
                .into_iter()
                .map(|receipt| Receipt {
                    file: (documents.len() > 1).then(|| file.clone()),
                    ..receipt
                }),
        );
    }
    let is_chain = has_list || receipts.len() != 1;
    if documents.len() > 1 {
        let order = order_by_links(&receipts).map_err(|error| {
            CliError::new(Outcome::Invalid, "CHAIN", error.to_string())
                .hint("name all receipts of one chain, each once")
        })?;
        let mut placed: Vec<_> = receipts.into_iter().map(Some).collect();
        receipts = order
            .into_iter()
            .filter_map(|at| placed[at].take())
            .collect();
    }
    Ok(Receipts { receipts, is_chain })
}
