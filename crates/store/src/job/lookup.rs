//! Finds a section by what a person would write: its id, its file, or its file and headings.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use thiserror::Error;

use crate::store::{SectionRecord, StoreError, StoreReader};

/// Why no section, or not exactly one, was found.
#[derive(Debug, Error)]
pub enum LookupError {
    /// Nothing has this name.
    #[error("section `{0}` is not indexed")]
    Unknown(String),
    /// The file is known, the heading is not.
    #[error("`{file}` has no heading `{heading}`")]
    NoHeading {
        /// The file as written.
        file: String,
        /// The heading as written.
        heading: String,
    },
    /// Several sections have these headings.
    #[error("`{file}` has heading `{heading}` {count} times: name the section by its id")]
    Several {
        /// The file as written.
        file: String,
        /// The heading as written.
        heading: String,
        /// How many sections have it.
        count: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Diagnose for LookupError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Store(error) => error.diagnosis(),
            Self::Unknown(_) | Self::NoHeading { .. } | Self::Several { .. } => {
                Diagnosis::invalid(self, "UNKNOWN_SECTION")
                    .hint("`runseal job index PATH` makes sections of files")
            }
        }
    }
}

/// Finds `<section id>`, `<file>` or `<file>#<heading>`. A nested heading is written with its
/// parents, `Top/Sub`, or alone if no other heading has its name.
pub fn find_section(store: &dyn StoreReader, text: &str) -> Result<SectionRecord, LookupError> {
    if let Some(section) = store.section(text)? {
        return Ok(section);
    }
    let (file, heading) = match text.split_once('#') {
        Some((file, heading)) => (file, Some(heading)),
        None => (text, None),
    };
    let file = file.strip_prefix("./").unwrap_or(file);
    let sections = store.sections_of_file(file)?;
    let Some(heading) = heading else {
        let whole = sections
            .into_iter()
            .find(|section| section.heading_path == "[]");
        return whole.ok_or_else(|| LookupError::Unknown(text.to_owned()));
    };
    if sections.is_empty() {
        return Err(LookupError::Unknown(text.to_owned()));
    }
    let named = |whole: bool| {
        let sections = sections.iter().filter(|section| {
            let path = headings_of(section);
            if whole {
                !path.is_empty() && path.join("/") == heading
            } else {
                path.last().is_some_and(|last| last == heading)
            }
        });
        sections.collect::<Vec<_>>()
    };
    let mut found = named(true);
    if found.is_empty() {
        found = named(false);
    }
    let owned = || (file.to_owned(), heading.to_owned());
    match found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let (file, heading) = owned();
            Err(LookupError::NoHeading { file, heading })
        }
        _ => {
            let (file, heading) = owned();
            Err(LookupError::Several {
                file,
                heading,
                count: found.len(),
            })
        }
    }
}

/// Returns the headings of a section, outermost first.
fn headings_of(section: &SectionRecord) -> Vec<String> {
    let parsed = parse_document(section.heading_path.as_bytes(), &ReadOptions::default());
    let Ok(document) = parsed else {
        return Vec::new();
    };
    let headings = document.root().items();
    headings
        .filter_map(|heading| heading.as_str().map(|text| text.into_owned()))
        .collect()
}
