//! How much a page may still show, and what it left out.

use maud::{Markup, html};

use crate::limits::{PAGE_PICTURES, PAGE_TEXT};

/// The bytes left for texts and pictures.
#[derive(Debug)]
pub(super) struct Budget {
    text: usize,
    pictures: usize,
    left_out: Vec<String>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            text: PAGE_TEXT,
            pictures: PAGE_PICTURES,
            left_out: Vec::new(),
        }
    }
}

impl Budget {
    /// Takes up to `bytes` bytes of text; returns how many may be shown.
    pub(super) fn take_text(&mut self, bytes: usize) -> usize {
        let taken = bytes.min(self.text);
        self.text -= taken;
        taken
    }

    /// Takes a whole picture, or returns `false`.
    pub(super) fn take_picture(&mut self, bytes: usize) -> bool {
        match self.pictures.checked_sub(bytes) {
            Some(left) => {
                self.pictures = left;
                true
            }
            None => false,
        }
    }

    /// Notes that something was left out.
    pub(super) fn note(&mut self, what: String) {
        if self.left_out.len() < 200 {
            self.left_out.push(what);
        }
    }

    /// The section about what was left out.
    pub(super) fn left_out(&self) -> Markup {
        if self.left_out.is_empty() {
            return html! {};
        }
        html! {
            section.chapter #left-out {
                h2 { "What this page leaves out" }
                p { "A page is bounded so that it opens at once. The files have all of it." }
                ul { @for line in &self.left_out { li { (line) } } }
            }
        }
    }
}
