//! Masks: values whose digits or letters were left out (`EUR #####`, `xxx.xxx.xxx.xxx`, `DD.MM.2025`, `X minutes`).

use super::finding;
use crate::lexicon::class;
use crate::measure::{Finding, Source};

/// `Interval: X minutes`, `Days: NN`, `Phone: 0043 / ...`: a letter or dots where a label wants a value.
pub(super) fn find_letters(source: &Source<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for i in 1..lexed.tokens.len() {
        let raw = lexed.raw(i);
        let labelled = any_of!(lexed.raw(i - 1), ":" "=");
        let ends = i + 1 >= lexed.tokens.len() || any_of!(lexed.raw(i + 1), "," ";" "." "\n");
        let unit = t.is(
            i + 1,
            class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT | class::BLANK,
        ) || lexed.is_symbol(i + 1, "%");
        // `Max. items per cart: N`
        let amount_word = |k: usize| any_of!(lexed.word(k), "max" "maximum" "min" "minimum" "number" "count" "limit" "per" "size" "amount" "threshold" "interval" "rate" "price" "fee" "timeout" "duration" "length" "budget" "port");
        let letter = any_of!(raw, "X" "N" "NN" "Y" "n" "x")
            && labelled
            && (unit
                // `N requests per minute`
                || any_of!(raw, "N" "X") && any_of!(lexed.word(i + 2), "per" "a" "an" "/")
                || ends && (raw == "NN" || any_of!(raw, "N" "X") && (0..i).take(8).any(amount_word)));
        // `goes back X months`, unless the text says what X is.
        let counted = any_of!(raw, "X" "N" "XY")
            && t.is(i + 1, class::TIME_UNIT | class::SIZE_UNIT | class::CURRENCY)
            && lexed.tokens[i - 1].kind == crate::text::lex::TokenKind::Word
            && !lexed.tokens[i - 1].upper
            && !(0..lexed.tokens.len().min(400)).any(|k| {
                k != i
                    && lexed.raw(k) == raw
                    || any_of!(lexed.word(k), "where" "setting" "config" "configurable" "parameter" "option" "flag" "argument" "every")
            });
        // `The threshold is X`
        let told = ends
            && any_of!(raw, "X" "N" "XY" "n")
            && any_of!(lexed.word(i - 1), "is" "of")
            && (raw != "n" || lexed.word(i - 1) == "is")
            && (i.saturating_sub(5)..i).any(amount_word)
            && !(0..lexed.tokens.len().min(400)).any(|k| k != i && lexed.raw(k) == raw);
        let letter = letter || counted || told;
        let dots = (raw.starts_with("...") || raw == "…")
            && i + 1 >= lexed.tokens.len()
            && (0..i).take(6).any(|k| lexed.is_symbol(k, ":"))
            && (any_of!(lexed.raw(i - 1), "/" "-" "(" ":")
                // `Phone: +49 ...`
                || lexed.tokens[i - 1].kind == crate::text::lex::TokenKind::Number
                    && any_of!(lexed.word(0), "phone" "telephone" "tel" "fax" "mobile" "hotline" "iban" "number" "account"));
        let filled = raw.len() >= 9
            && (raw.contains("REPLACE-ME")
                || raw.contains("CHANGE-ME")
                || raw.contains("REPLACE_ME")
                || raw.contains("CHANGE_ME"));
        // `Contact: N. N.`
        let nobody = raw == "N"
            && lexed.raw(i + 1) == "."
            && lexed.raw(i + 2) == "N"
            && lexed.raw(i + 3) == ".";
        if (letter || dots || filled || nobody) && !lexed.tokens[i].quoted {
            let last = if nobody { i + 3 } else { i };
            out.push(finding(
                source,
                lexed.tokens[i].start,
                lexed.tokens[last].end,
                i,
            ));
        }
    }
}

/// Letters that stand for digits in a mask.
fn is_mask_letter(c: char) -> bool {
    matches!(c, 'x' | 'X' | 'n' | 'N' | '#' | '_' | '?')
}

/// `EUR #####`, `xxx.xxx.xxx.xxx`, `4,x99`, `nnn/2024`, `DD.MM.2025`, `__,__`.
pub(super) fn find_masks(source: &Source<'_>, out: &mut Vec<Finding>) {
    let lexed = &source.tagged.lexed;
    let text = lexed.text;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let skip = rest.len() - rest.trim_start().len();
        let start = at + skip;
        let end = text[start..]
            .find(char::is_whitespace)
            .map_or(text.len(), |i| start + i);
        at = end;
        if start == end {
            break;
        }
        let chunk = &text[start..end];
        if !can_be_mask(chunk) {
            continue;
        }
        let label = text[..start].trim_end().ends_with([':', '=']);
        // `DE.. .... ....`
        let dots = chunk.len() >= 4 && chunk.bytes().all(|b| b == b'.') && start > 0
            || chunk == "$$$"
            || is_date_left_out(chunk, &text[..start]);
        let marks = dots
            || label && chunk.len() >= 3 && chunk.bytes().all(|b| b == b'#')
            || label && is_stars(chunk)
            || is_hashes(chunk, &text[..start])
            || is_series(chunk)
            || (label || text[..start].ends_with("port ")) && is_number_left_out(chunk)
            || is_pin(chunk, &text[..start]);
        if !marks
            && !is_mask(
                chunk.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | '(' | ')' | ':')),
            )
        {
            continue;
        }
        let token = lexed
            .tokens
            .partition_point(|t| t.start < start)
            .min(lexed.tokens.len().saturating_sub(1));
        let (from, to) = lexed.sentence_of(token);
        let talk = (from..to).any(|i| {
            any_of!(lexed.word(i), "format" "formats" "form" "pattern" "like" "template" "mask" "shape" "regex" "written" "parsed" "matches" "scheme" "syntax" "heading" "headings" "markdown" "as" "stands" "means" "appear" "appears" "asterisks")
        });
        let quoted = lexed.tokens.get(token).is_some_and(|t| t.quoted);
        let year = chunk.len() == 4 && chunk.starts_with("20") && chunk.ends_with("XX");
        if (!talk || year) && !quoted {
            let lead = chunk.len() - chunk.trim_start_matches(['(', ',', ';']).len();
            let tail = if dots {
                0
            } else {
                chunk.len() - chunk.trim_end_matches([',', ';', ')', '.', ':']).len()
            };
            let mut stop = end - tail;
            // `### ###` is one mask.
            let next = text[end..].trim_start();
            let after = next.split_whitespace().next().unwrap_or_default();
            if tail == 0
                && !after.is_empty()
                && (is_mask(after) || marks && after.bytes().all(|b| b == b'#'))
            {
                stop = text.len() - next.len() + after.len();
                at = stop;
            }
            out.push(finding(source, start + lead, stop, token));
        }
    }
}

/// Most words begin with a letter that no mask begins with.
fn can_be_mask(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    let first = if bytes[0] == b'(' {
        bytes.get(1)
    } else {
        bytes.first()
    };
    // `AB-####`, `P0.xx`, `GPIOxx`
    let pin =
        bytes.starts_with(b"GPIO") || bytes[0] == b'P' && bytes.len() >= 3 && bytes.contains(&b'.');
    if pin || bytes.len() >= 5 && bytes.trim_ascii_end().ends_with(b"###") {
        return true;
    }
    bytes.len() >= 3
        && first.is_some_and(|b| {
            b.is_ascii_digit()
                || matches!(
                    b,
                    b'x' | b'X'
                        | b'n'
                        | b'N'
                        | b'#'
                        | b'_'
                        | b'?'
                        | b'*'
                        | b'.'
                        | b'$'
                        | b'D'
                        | b'M'
                        | b'd'
                        | b'm'
                        | b'T'
                        | b'J'
                        | b'Y'
                )
        })
}

/// `Go-live on DD/MM/YYYY`: a date behind a word that wants one.
fn is_date_left_out(chunk: &str, lead: &str) -> bool {
    let bare = chunk.trim_end_matches([',', ';', '.', ')']);
    any_of!(bare, "DD/MM/YYYY" "MM/DD/YYYY" "DD.MM.YYYY" "YYYY-MM-DD" "TT.MM.JJJJ" "DD-MM-YYYY" "DD.MM.YY")
        && [" on", " by", " until", " before", " since", " after", ":"]
            .iter()
            .any(|word| lead.trim_end().ends_with(word))
}

/// `SAP client ###, system PRD`: behind a word that names a value; not `lines that start with ###`.
fn is_hashes(chunk: &str, lead: &str) -> bool {
    let bare = chunk.trim_end_matches([',', ';', '.', ')']);
    let word = lead.trim_end().rsplit(' ').next().unwrap_or_default();
    bare == "###"
        && any_of!(word.to_lowercase().as_str(),
            "client" "number" "no" "no." "nr" "nr." "id" "code" "port" "extension" "room" "account" "key" "pin" "vlan" "customer"
            "phone" "batch" "order" "channel" "version" "is")
}

/// `AB-####`: letters, a joint and digits left out.
fn is_series(chunk: &str) -> bool {
    let lead = chunk.trim_end_matches('#');
    chunk.len() >= lead.len() + 3
        && lead.len() >= 2
        && lead.ends_with(['-', '/', '.'])
        && lead.bytes().all(|b| {
            b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'-' | b'/' | b'.')
        })
}

/// `port: 80xx`; not the classes `4xx` and `5xx`.
fn is_number_left_out(chunk: &str) -> bool {
    let bare = chunk.trim_end_matches([',', ';', '.', ')']);
    let digits = bare.trim_end_matches(['x', 'X', '#']);
    digits.len() >= 2
        && bare.len() >= digits.len() + 2
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `data pin is P0.xx`: a pin whose number was left out.
fn is_pin(chunk: &str, lead: &str) -> bool {
    let bare = chunk.trim_end_matches([',', ';', '.', ')']);
    let word = lead.trim_end().rsplit(' ').next().unwrap_or_default();
    let number = bare
        .strip_prefix("GPIO")
        .or_else(|| bare.strip_prefix('P'))
        .unwrap_or_default();
    let filler =
        number.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'A'..='F' | '.'));
    any_of!(filler, "x" "xx" "XX" "X" "nn" "??")
        && any_of!(word, "is" "on" "to" "at" "pin" "pins" ":" "=")
}

/// `Client secret: ********`
fn is_stars(chunk: &str) -> bool {
    let bare = chunk.trim_end_matches([',', ';', '.']);
    bare.len() >= 4 && bare.bytes().all(|b| b == b'*')
}

fn is_mask(chunk: &str) -> bool {
    if chunk.len() < 3 || chunk.len() > 40 || chunk.contains("://") {
        return false;
    }
    let digits = chunk.chars().filter(char::is_ascii_digit).count();
    let separators = chunk
        .chars()
        .filter(|c| matches!(c, '.' | ',' | '/' | ':' | '-'))
        .count();
    let letters = chunk.chars().filter(|c| is_mask_letter(*c)).count();
    let plain = chunk.chars().all(|c| {
        is_mask_letter(c) || c.is_ascii_digit() || matches!(c, '.' | ',' | '/' | ':' | '-')
    });
    if plain && letters > 0 {
        let marks = chunk.chars().filter(|c| matches!(c, '#' | '_')).count();
        let only_marks = marks >= 4 && marks == letters && chunk.contains('#')
            || marks >= 2 && separators >= 1 && digits == 0 && marks == letters;
        // `2.x`, `4xx`, `1x`, `n-1`, `640x480` are versions, classes and sizes.
        let known = chunk.ends_with(".x")
            || chunk.ends_with("xx") && digits == 1 && chunk.len() <= 3
            || chunk.starts_with('x') && digits > 0 && letters == 1
            || letters == 1
                && chunk
                    .chars()
                    .filter(|c| matches!(c, 'x' | 'X' | 'n' | 'N' | '?'))
                    .count()
                    == 1
                && (separators == 0 || !chunk.contains(','))
            || chunk.contains('?') && digits > 0;
        let groups = chunk
            .split(['.', ',', '/', ':', '-'])
            .filter(|p| p.len() >= 2 && p.chars().all(is_mask_letter))
            .count();
        // `€ x.xx`: one letter all over, cut like a number.
        let first = chunk.as_bytes()[0];
        let number = separators == 1
            && letters >= 3
            && digits == 0
            && matches!(first, b'x' | b'X' | b'n' | b'N')
            && chunk
                .bytes()
                .all(|b| b == first || matches!(b, b'.' | b','));
        // `0000XXXX0000`
        // `20XX`: a year.
        let year = chunk.len() == 4 && digits == 2 && chunk.starts_with("20") && letters == 2;
        let run = year
            || digits >= 2
                && (chunk.contains("XXX") || chunk.contains("xxx") || chunk.contains("###"));
        return only_marks
            || run
            || number
            || !known
                && (separators >= 1 && groups >= 1 && (digits > 0 || groups >= 2)
                    || chunk.contains(',') && digits >= 2 && letters >= 1);
    }
    // A date with the year filled in: `DD.MM.2025`, `2026-MM-DD`.
    let parts: Vec<&str> = chunk.split(['.', '/', '-']).collect();
    let blank = parts
        .iter()
        .filter(|p| any_of!(**p, "DD" "MM" "dd" "mm" "TT" "JJ" "D" "M" "YYYY" "YY"))
        .count();
    let filled = parts
        .iter()
        .filter(|p| p.len() >= 2 && p.bytes().all(|b| b.is_ascii_digit()))
        .count();
    parts.len() == 3 && blank >= 1 && blank + filled == 3 && filled >= 1
}

#[cfg(test)]
mod tests {
    use super::is_mask;

    #[test]
    fn masks_values_with_left_out_digits_are_seen() {
        for mask in [
            "xxx.xxx.xxx.xxx/32",
            "000-XXXX-000",
            "4,x99",
            "nnn/2024",
            "DD.MM.2025",
            "__,__",
            "#####",
            "XX:XX",
        ] {
            assert!(is_mask(mask), "{mask}");
        }
        for plain in [
            "2.x",
            "4xx",
            "640x480",
            "n-1",
            "3.14",
            "10:30",
            "YYYY-MM-DD",
            "1,000",
            "n/a",
            "x/y",
        ] {
            assert!(!is_mask(plain), "{plain}");
        }
    }
}
