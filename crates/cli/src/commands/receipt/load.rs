//! Reads receipts from files, each holding one or a list, and orders them by their parent links.

use std::path::PathBuf;

use runseal_core::canon::{Document, Kind, ReadOptions, parse_document};
use runseal_core::formats::receipt::Receipt;
use runseal_core::formats::receipt::chain::order_by_links;
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;

use crate::error::{CliError, Named};

/// Reads the files; each comes with its name for messages.
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

/// Parses the files as JSON.
pub fn parse_files(files: &[(String, Vec<u8>)]) -> Result<Vec<Document<'_>>, CliError> {
    files
        .iter()
        .map(|(shown, bytes)| parse_document(bytes, &ReadOptions::default()).named(shown))
        .collect()
}

/// Receipts in the order of their chain.
pub struct Receipts<'a> {
    /// The receipts.
    pub receipts: Vec<Receipt<'a>>,
    /// Whether the chain must begin with a first receipt: true for a list or several files.
    pub is_chain: bool,
    /// Why separate files cannot be ordered; then they are as given.
    pub no_order: Option<CliError>,
}

/// The receipts in these documents. A list must already be in order; separate files are sorted.
pub fn order_receipts<'a>(
    files: &[(String, Vec<u8>)],
    documents: &'a [Document<'_>],
) -> Receipts<'a> {
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
    let mut no_order = None;
    if documents.len() > 1 {
        match order_by_links(&receipts) {
            Ok(order) => {
                let mut placed: Vec<_> = receipts.into_iter().map(Some).collect();
                receipts = order
                    .into_iter()
                    .filter_map(|at| placed[at].take())
                    .collect();
            }
            Err(error) => {
                let error = CliError::new(Outcome::Invalid, "CHAIN", error.to_string());
                no_order = Some(error.hint("name all receipts of one chain, each once"));
            }
        }
    }
    Receipts {
        receipts,
        is_chain,
        no_order,
    }
}
