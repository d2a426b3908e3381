//! Lists the keys of a bucket below a prefix.

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

struct Page {
    listed: Vec<Listed>,
    next: Option<String>,
}

impl Bucket {
    /// Calls `see` with everything directly below `folder`, page by page.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub(super) fn list(
        &self,
        folder: &str,
        see: &mut dyn FnMut(Listed),
    ) -> Result<(), RemoteError> {
        let mut next = None;
        loop {
            let page = self.list_page(folder, None, next)?;
            page.listed.into_iter().for_each(&mut *see);
            match page.next {
                None => return Ok(()),
                token => next = token,
            }
        }
    }

    /// Whether any key is below `folder`.
    pub(super) fn has_below(&self, folder: &str) -> Result<bool, RemoteError> {
        Ok(!self.list_page(folder, Some(1), None)?.listed.is_empty())
    }

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
        read_xml(response, |root| {
            if root.tag_name().name() != "ListBucketResult" {
                return None;
            }
            let mut listed = Vec::new();
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
                listed.push(Listed::Folder(name.trim_end_matches('/').to_owned()));
            }
            let is_cut = child_text(root, "IsTruncated") == Some("true");
            let next = child_text(root, "NextContinuationToken").map(str::to_owned);
            match (is_cut, next) {
                (true, None) => None,
                (true, next) => Some(Page { listed, next }),
                (false, _) => Some(Page { listed, next: None }),
            }
        })
    }
}
