//! What people see of evidence: descriptions, pages and terminal tables.
//!
//! Pure: turns what was loaded and judged into text. Shows what is written there, valid or not; the
//! verifier decides whether it is valid, and only [`Answers`] puts both into words. Every text from
//! outside reaches a page through a template that escapes it, and the finished page goes through
//! [`reveal`], so nothing hidden is left in it. Everything is limited ([`limits`]), and a page says
//! what was left out.
//!
//! Start reading with [`describe`], what something says of itself, one branch per format. `page` and `site` (HTML) and
//! [`terminal`] write that down and decide nothing.

mod answers;
pub mod describe;
mod exhibit;
pub mod limits;
mod page;
pub mod plot;
mod proof;
mod reveal;
mod site;
pub mod terminal;

pub use answers::{Answer, Answers, Tone};
pub use exhibit::{Documents, Exhibit, Faults};
pub use page::{
    Carried, ComparedWith, Comparison, Difference, SelfCheck, render_page, render_page_that_checks,
    render_verifier,
};
pub use reveal::reveal;
pub use site::{SiteCounts, SiteEntry, SiteIndex, render_index};
