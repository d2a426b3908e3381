//! The word lists as a page of the documentation.

use super::phrases::families;
use super::{class, cues, words};

/// Every list of words, family and cue, as a page of the documentation.
pub(crate) fn render_word_lists() -> String {
    let mut out = String::from(
        "# The kernel's word lists\n\nMade from the tables; see [kernel.md](kernel.md) for how they are used. \
         `~word` matches every form of the word, `#` a number, `@class` a word of that class.\n",
    );
    out.push_str("\n## Classes of words\n");
    for (classes, list) in words::WORDS {
        let names: Vec<&str> = class::NAMES
            .iter()
            .filter(|(bit, _)| classes & bit != 0)
            .map(|(_, name)| *name)
            .collect();
        let words: Vec<&str> = list.split_ascii_whitespace().collect();
        out.push_str(&format!(
            "\n### {}\n\n{}\n",
            names.join(" + "),
            words.join(" ")
        ));
    }
    out.push_str("\n## Cues\n");
    for (cue, list) in cues::cues() {
        out.push_str(&format!("\n### {cue:?}\n\n{}\n", list.replace('|', " · ")));
    }
    out.push_str("\n## Families of opposites\n");
    for family in families() {
        out.push_str(&format!(
            "\n### {}\n\nScope: {:?}. A negated cue {}.\n\n- one side: {}\n- other side: {}\n",
            family.name,
            family.scope,
            if family.flips {
                "counts for the other side"
            } else {
                "says nothing"
            },
            family.a.replace('|', " · "),
            family.b.replace('|', " · "),
        ));
    }
    out
}
