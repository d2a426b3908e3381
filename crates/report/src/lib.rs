//! What people see of evidence: descriptions, pages and terminal tables.
//!
//! Pure: takes what was loaded and judged, gives text. Says what is written there, valid or not;
//! whether it holds is the verifier's to say, and [`Answers`] is the one place that puts both into
//! words. Every text from outside reaches a page through a template that escapes, and the finished
//! page through [`reveal`], so that nothing hidden is left in it. Everything is bounded
//! ([`limits`]), and what was left out is told.

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
