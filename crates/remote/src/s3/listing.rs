//! Lists the keys of a bucket below a prefix.

use std::sync::atomic::{AtomicU64, Ordering};

use runseal_core::limits::MAX_ENTRIES;
use ureq::http::Method;

use super::answer::{child_text, children, read_xml};
use super::client::{Bucket, Details};
use crate::error::RemoteError;

/// Something directly below a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Listed {
    /// An object: its key after the prefix, and its size.
    Object(String, u64),
    /// A common prefix of further keys, up to the next slash.
    Folder(String),
}

/// The most bytes of a key: no server of object storage stores longer ones.
const MAX_KEY: usize = 1024;
/// The most folders inside each other. Stops a server that has another folder in each.
const MAX_DEPTH: usize = 64;
/// The most names and pages that are listed of a bucket. A folder is listed to find what is in it, and
/// again to judge it.
const MAX_LISTED: u64 = 2 * MAX_ENTRIES;
/// The most bytes of all names that are listed of a bucket: 512 MiB. They are kept.
const MAX_NAMES: u64 = 512 << 20;

/// How much of a bucket was listed so far. Stops a list without an end.
#[derive(Debug, Default)]
pub(super) struct ListedSoFar {
    names: AtomicU64,
    bytes: AtomicU64,
}

impl ListedSoFar {
    /// Counts a page.
    ///
    /// # Errors
    /// When too much was listed.
    fn count(&self, page: &Page) -> Result<(), String> {
        let names = page.listed.len() as u64 + 1;
        let bytes = page.listed.iter().map(|listed| listed.name().len() as u64);
        let bytes: u64 = bytes.sum();
        let before = self.names.fetch_add(names, Ordering::Relaxed);
        if before.saturating_add(names) > MAX_LISTED {
            return Err(format!("it lists more than {MAX_LISTED} names"));
        }
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > MAX_NAMES {
            return Err(format!("its names have more than {MAX_NAMES} bytes"));
        }
        Ok(())
    }
}

impl Listed {
    fn name(&self) -> &str {
        match self {
            Self::Object(name, _) | Self::Folder(name) => name,
        }
    }

    /// Whether it can be directly below a prefix. An empty folder name would lead back to the prefix itself.
    fn is_below(&self, prefix: &str) -> bool {
        let is_one_part = match self {
            Self::Object(..) => true,
            Self::Folder(name) => !name.is_empty() && !name.contains('/'),
        };
        is_one_part && prefix.len() + self.name().len() <= MAX_KEY
    }
}

struct Page {
    listed: Vec<Listed>,
    next: Option<String>,
}

impl Bucket {
    /// Calls `see` with everything directly below `folder`, page by page.
    ///
    /// # Errors
    /// When it cannot be listed, or the list does not come to an end.
    pub(super) fn list(
        &self,
        folder: &str,
        see: &mut dyn FnMut(Listed),
    ) -> Result<(), RemoteError> {
        let too_much = |problem: String| RemoteError::Corrupt {
            place: self.shown(folder),
            problem,
        };
        if folder.split('/').count() > MAX_DEPTH {
            let problem = format!("more than {MAX_DEPTH} folders are inside each other");
            return Err(too_much(problem));
        }
        let mut token = None;
        // A token to compare the next ones with, replaced ever more rarely: finds a list that goes in circles.
        let mut known = None;
        for number in 1_u64.. {
            let page = self.list_page(folder, None, token.clone())?;
            self.listed.count(&page).map_err(too_much)?;
            if page.next.is_some() && page.next == known {
                return Err(self.stuck());
            }
            if number.is_power_of_two() {
                known.clone_from(&page.next);
            }
            page.listed.into_iter().for_each(&mut *see);
            match page.next {
                None => break,
                next => token = next,
            }
        }
        Ok(())
    }

    /// Whether any key is below `folder`.
    pub(super) fn has_below(&self, folder: &str) -> Result<bool, RemoteError> {
        let page = self.list_page(folder, Some(1), None)?;
        Ok(!page.listed.is_empty() || page.next.is_some())
    }

    fn stuck(&self) -> RemoteError {
        RemoteError::Protocol {
            host: self.host().to_owned(),
            problem: "a list goes on without getting further".to_owned(),
        }
    }

    /// One page of a list. A page that is not the last has something on it.
    fn list_page(
        &self,
        folder: &str,
        most: Option<u32>,
        token: Option<String>,
    ) -> Result<Page, RemoteError> {
        let prefix = match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let mut query = vec![
            ("list-type".to_owned(), "2".to_owned()),
            ("delimiter".to_owned(), "/".to_owned()),
            ("prefix".to_owned(), prefix.clone()),
        ];
        if let Some(most) = most {
            query.push(("max-keys".to_owned(), most.to_string()));
        }
        if let Some(token) = token {
            query.push(("continuation-token".to_owned(), token));
        }
        let details = Details {
            query,
            ..Details::default()
        };
        let response = self.demand(Method::GET, "", &details)?;
        let page = read_xml(response, |root| {
            if root.tag_name().name() != "ListBucketResult" {
                return None;
            }
            let mut listed = Vec::new();
            let has_any = ["Contents", "CommonPrefixes"]
                .into_iter()
                .any(|name| children(root, name).next().is_some());
            for object in children(root, "Contents") {
                let name = child_text(object, "Key")?.strip_prefix(prefix.as_str())?;
                let bytes = child_text(object, "Size")?.parse().ok()?;
                // Some tools mark a folder with an empty object of its name.
                if !name.is_empty() {
                    listed.push(Listed::Object(name.to_owned(), bytes));
                }
            }
            for folder in children(root, "CommonPrefixes") {
                let name = child_text(folder, "Prefix")?.strip_prefix(prefix.as_str())?;
                let name = name.strip_suffix('/').unwrap_or(name);
                listed.push(Listed::Folder(name.to_owned()));
            }
            if !listed.iter().all(|listed| listed.is_below(&prefix)) {
                return None;
            }
            let is_cut = child_text(root, "IsTruncated") == Some("true");
            let next = child_text(root, "NextContinuationToken").map(str::to_owned);
            match (is_cut, next) {
                (true, None) => None,
                (true, _) if !has_any => Some(None),
                (true, next) => Some(Some(Page { listed, next })),
                (false, _) => Some(Some(Page { listed, next: None })),
            }
        })?;
        page.ok_or_else(|| self.stuck())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(names: usize, length: usize) -> Page {
        Page {
            listed: vec![Listed::Folder("n".repeat(length)); names],
            next: None,
        }
    }

    #[test]
    fn listing_more_names_or_bytes_than_are_kept_ends() {
        let listed = ListedSoFar::default();
        assert_eq!(listed.count(&page(1000, 100)), Ok(()));
        listed.names.store(MAX_LISTED - 1, Ordering::Relaxed);
        assert_eq!(listed.count(&page(0, 0)), Ok(()));
        assert!(listed.count(&page(0, 0)).unwrap_err().contains("names"));
        let listed = ListedSoFar::default();
        listed.bytes.store(MAX_NAMES - 1000, Ordering::Relaxed);
        assert_eq!(listed.count(&page(10, 100)), Ok(()));
        assert!(listed.count(&page(1, 1)).unwrap_err().contains("bytes"));
    }

    #[test]
    fn name_that_no_key_below_a_prefix_has_is_refused() {
        let folder = |name: &str| Listed::Folder(name.to_owned());
        assert!(folder("a").is_below("p/"));
        for name in ["", "a/b", "/", &"n".repeat(MAX_KEY)] {
            assert!(!folder(name).is_below("p/"), "{name}");
        }
        assert!(!Listed::Object("n".repeat(MAX_KEY), 0).is_below("p/"));
    }
}
