//! `<your region>`, `<N> days`; not HTML, XML, generics, includes, usage lines or names that the text defines.

use super::Bracket;
use crate::lexicon::{class, classes_of};

pub(super) fn is_blank(b: &Bracket<'_>) -> bool {
    let body = b.body;
    let opens = body.chars().next().unwrap_or(' ');
    let generic = b.before.is_alphabetic() || matches!(b.before, '_' | '>' | '<' | ')' | '?' | '$');
    let close = b.source.tagged.lexed.text[b.at + 1..].starts_with(' ');
    if generic
        || close && !b.double
        || !(opens.is_alphabetic() || opens == '_')
        || !b.is_wordy()
        || b.in_code()
    {
        return false;
    }
    // A grammar: `<dose> ::= <number> <unit>`.
    if b.source.tagged.lexed.text.contains("::=") {
        return false;
    }
    let one_word = !body.contains(' ');
    let address = body.contains('.') && one_word || body.ends_with('/') || body.contains("//");
    if address || b.lower.contains("bracket") || is_namespaced(body) || is_declaration(b) {
        return false;
    }
    if b.asks_to_fill() && !any_of!(b.lower.as_str(), "link" "select" "name") {
        return true;
    }
    if b.known.is_defined(&b.lower)
        || b.is_explained()
        || b.is_example()
        || is_tag(b)
        || !one_word && is_defined_here(b)
    {
        return false;
    }
    // `--species <latin name>`, `/proc/<pid>/cmdline`, `/archive/<yyyymmdd>/`, `<B>, <G> and <M> become`
    if is_option_value(b) || is_path_part(b) || is_code_in_list(b) {
        return false;
    }
    // `line format: <date> <door> <badge>`: several parts of what a line looks like.
    let text = b.source.tagged.lexed.text;
    let several = text.matches('<').count() > 1
        && (b.talks_of_format() || b.sentence_has(|w| any_of!(w, "layout" "line" "lines")));
    if several && !b.chunk().contains("://") && is_beside(b)
        || is_chained(b)
        || is_of_many(b)
        || is_counted(b)
    {
        return false;
    }
    !(b.is_replacement() || one_word && b.talks_of_usage())
}

/// `…, where <encoded path> is the path`: the text says what several words in brackets stand for.
fn is_defined_here(b: &Bracket<'_>) -> bool {
    let text = b.source.tagged.lexed.text;
    let whole = &text[b.at..b.end];
    let again = text.matches(whole).count() > 1;
    text.match_indices(whole).any(|(at, _)| {
        let rest = text[at + whole.len()..].trim_start();
        let lead = text[..at].trim_end();
        let opens = lead.is_empty()
            || lead.ends_with([',', ';', '.', '('])
            || lead.ends_with(" where")
            || lead.ends_with(" and")
            || lead.ends_with(" with");
        opens
            && ["is ", "are ", "has ", "means ", "stands ", "being ", "= "]
                .iter()
                .any(|word| rest.starts_with(word))
            // `where <no> is the number and <ISO date> the day of the export`
            || opens
                && again
                && ["the ", "a ", "an ", "its "]
                    .iter()
                    .any(|word| rest.starts_with(word))
    })
}

/// The value of an option in a usage line.
fn is_option_value(b: &Bracket<'_>) -> bool {
    let lexed = &b.source.tagged.lexed;
    b.token >= 2 && lexed.raw(b.token - 2) == "--" && !lexed.tokens[b.token - 1].spaced
}

/// A part of a path that is filled at run time: a date, or a name that the intent uses as a word.
fn is_path_part(b: &Bracket<'_>) -> bool {
    let date = b.lower.len() >= 2
        && b.lower
            .bytes()
            .all(|c| matches!(c, b'y' | b'm' | b'd' | b'h' | b's' | b'-'));
    let embedded = !matches!(b.before, ' ' | '\n') && !matches!(b.after, ' ' | '\n');
    if date && embedded && b.lower.contains('y') {
        // `members-<yyyy-mm-dd>.xlsx`
        return true;
    }
    (b.before == '/' || b.after == '/')
        && !b.chunk().contains("://")
        && (date || b.known.is_word(&b.lower))
}

/// `v<major>.<minor>.<patch>`, `<year>-<month>.csv`: parts of one name; `<host>:<port>` and `<owner>/<repo>` are two.
fn is_chained(b: &Bracket<'_>) -> bool {
    let text = b.source.tagged.lexed.text;
    let joint = |c: Option<char>| c.is_some_and(|c| matches!(c, '.' | '-' | '_'));
    let back = &text[..b.at];
    let ahead = &text[b.end..];
    !b.chunk().contains(['@', '/', ':'])
        && (joint(back.chars().next_back()) && back[..back.len() - 1].ends_with('>')
            || joint(ahead.chars().next()) && ahead[1..].starts_with('<'))
}

/// `Sheets are named <voice>, one per voice`: the sentence says which one it is each time.
fn is_counted(b: &Bracket<'_>) -> bool {
    let lexed = &b.source.tagged.lexed;
    let (from, to) = lexed.sentence_of(b.token);
    (from..to).any(|i| {
        any_of!(lexed.word(i), "per" "each" "every") && lexed.word(i + 1) == b.lower.as_str()
    })
}

/// `Branch names are feature/<ticket number>`: many names, each with its own.
fn is_of_many(b: &Bracket<'_>) -> bool {
    let lexed = &b.source.tagged.lexed;
    let (from, _) = lexed.sentence_of(b.token);
    !matches!(b.before, ' ' | '\n' | ':' | '=')
        && !b.chunk().contains("://")
        && (from..b.token).any(|i| {
            any_of!(lexed.word(i), "names" "branches" "files" "topics" "tags")
                && any_of!(lexed.word(i + 1), "are" "look" "have" "follow")
        })
}

/// Another pair of brackets stands right before or behind it.
fn is_beside(b: &Bracket<'_>) -> bool {
    let text = b.source.tagged.lexed.text;
    let sign =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '|' | '-' | '_' | '.' | '/');
    text[..b.at].trim_end_matches(sign).ends_with('>')
        || text[b.end..].trim_start_matches(sign).starts_with('<')
}

/// Short codes side by side.
fn is_code_in_list(b: &Bracket<'_>) -> bool {
    let text = b.source.tagged.lexed.text;
    let before = text[..b.at].trim_end();
    let after = text[b.end..].trim_start();
    let beside = |s: &str| s.starts_with(", <") || s.starts_with("and <") || s.starts_with("or <");
    b.body.len() <= 2
        && (beside(after)
            || ["> and", ">,", "> or"]
                .iter()
                .any(|end| before.ends_with(end)))
}

/// `cbc:ID`, `tei:persName`: a name with a prefix, as in XML.
fn is_namespaced(body: &str) -> bool {
    body.split_once(':').is_some_and(|(prefix, name)| {
        !prefix.is_empty()
            && prefix
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// `template <typename T>`, `#include <array>`: a declaration of a programming language.
fn is_declaration(b: &Bracket<'_>) -> bool {
    let lexed = &b.source.tagged.lexed;
    let (from, _) = lexed.sentence_of(b.token);
    // `public static <T> T retry(Callable<T> call)`: a parameter of a type.
    let parameter = b
        .body
        .split(", ")
        .all(|part| part.len() <= 2 && part.starts_with(|c: char| c.is_ascii_uppercase()))
        && (any_of!(b.previous(), "public" "static" "private" "protected" "final" "abstract" "default" "async" "fun" "func" "def")
            || b.next() == b.lower.as_str());
    any_of!(b.first_word(), "typename" "class" "const" "struct" "auto" "int" "dyn" "impl")
        || parameter
        || b.previous() == "template"
        || (from..b.token)
            .any(|i| any_of!(lexed.word(i), "include" "includes" "including" "headers" "header"))
            && b.body == b.lower
            && !b.body.contains(' ')
}

/// An element of HTML, XML or another markup.
fn is_tag(b: &Bracket<'_>) -> bool {
    let lower = b.lower.as_str();
    let markup = b.known.markup;
    // `<person><name>..</name></person>`: closed again in the same text.
    let name = b.body.split(' ').next().unwrap_or_default();
    let text = b.source.tagged.lexed.text;
    if text.match_indices("</").any(|(at, _)| {
        text[at + 2..]
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('>'))
    }) {
        return true;
    }
    let listed = |tag: &str| {
        classes_of(tag) & class::HTML != 0
            || tag.len() == 2 && tag.starts_with('h') && tag.ends_with(|c: char| c.is_ascii_digit())
    };
    if any_of!(b.next(), "element" "elements" "tag" "tags" "node" "nodes" "attribute") {
        return true;
    }
    let mut parts = lower.split(' ');
    let (tag, attribute) = (parts.next().unwrap_or_default(), parts.next());
    if let Some(attribute) = attribute {
        // `<img alt>`: an element with an attribute.
        return parts.next().is_none()
            && listed(tag)
            && any_of!(attribute, "alt" "for" "src" "href" "class" "id" "type" "name" "value" "rel" "lang" "role" "title" "style");
    }
    let also_blank = any_of!(lower, "address" "link" "time" "title" "label" "source" "table" "map");
    let blank_name = lower.contains('_') || classes_of(lower) & class::BLANK != 0;
    listed(lower) && (markup || !also_blank)
        || markup && !blank_name
        || markup
            && any_of!(b.previous(),
                "element" "elements" "tag" "tags" "node" "in" "the" "each" "every" "a" "an" "inside" "without")
}
