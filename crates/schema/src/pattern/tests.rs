//! Patterns, with texts they match and texts they do not match.

use super::*;

fn find(pattern: &str, text: &str) -> bool {
    let pattern =
        Pattern::compile(pattern, 10_000).unwrap_or_else(|bad| panic!("{pattern}: {bad}"));
    pattern.is_match(text, &mut Fuel::new(1_000_000)).unwrap()
}

#[track_caller]
fn check(pattern: &str, found: &[&str], not_found: &[&str]) {
    for text in found {
        assert!(find(pattern, text), "{pattern:?} is in {text:?}");
    }
    for text in not_found {
        assert!(!find(pattern, text), "{pattern:?} is not in {text:?}");
    }
}

#[test]
fn pattern_matches_as_in_ecma_262() {
    check("", &["", "a"], &[]);
    check("b", &["abc"], &["ac", ""]);
    check("^b", &["bc"], &["abc", "a\nb"]);
    check("c$", &["abc"], &["c\n", "cb"]);
    check("a.c", &["abc", "a😀c"], &["a\nc", "a\u{2028}c", "ac"]);
    check("^(ab|c)+$", &["ab", "cab"], &["", "a"]);
    check("^a{2,3}$", &["aa", "aaa"], &["a", "aaaa"]);
    check("^a{2}b{1,}$", &["aab", "aabbb"], &["aaab", "aa"]);
    check("^(a*)*$", &["", "aaa"], &["b"]);
    check("^(a|b)*?c$", &["c", "abbac"], &["ab"]);
    check("^[a-cx]+$", &["abcx"], &["d", ""]);
    check("^[^a-c]$", &["d", "\n", "é"], &["a"]);
    check("^[]$", &[], &["", "a"]);
    check("^[^]$", &["a", "\n"], &[""]);
    check("^[a-]$", &["a", "-"], &["b"]);
    check("^[\\w-.]$", &["a", "-", "."], &[","]);
    check("^[[]$", &["["], &["]"]);
    check("^[&~]{2}$", &["&&", "~~", "&~"], &["a&"]);
    check("x{1,a}", &["x{1,a}"], &["x"]);
    check("^\\d\\D$", &["1a", "1١"], &["11", "١a"]);
    check("^\\w\\W$", &["aé", "_-"], &["aa"]);
    check("^\\s\\S$", &["\u{feff}a", "\u{a0}a"], &["  "]);
    check("\\bfoo\\b", &["a foo b", "foo"], &["food"]);
    check("\\Boo", &["foo"], &["oo"]);
    check(
        "^\\t\\n\\cC\\x41\\u0042\\u{1F600}$",
        &["\t\n\u{3}AB😀"],
        &["tn"],
    );
    check("^\\uD83D\\uDE00$", &["😀"], &["a"]);
    check("^[\\b]\\0$", &["\u{8}\0"], &["b0"]);
    check("\\/\\-\\.", &["/-."], &["/a."]);
}

#[test]
fn pattern_supports_lookaround_and_back_references() {
    check("^(?=a)\\w+$", &["ab"], &["ba"]);
    check("^(?!foo)", &["bar", "fo"], &["foobar"]);
    check("(?<=a)b", &["ab"], &["b", "cb"]);
    check("(?<!a|bc)d", &["d", "cd"], &["ad", "bcd"]);
    check("^(?=.*[A-Z])(?=.*\\d).{4,}$", &["Abc1"], &["abc1", "A1"]);
    check("(?<=^|,)x(?=,|$)", &["a,x,b", "x"], &["ax", "xa"]);
    check("^(.)\\1$", &["aa", "😀😀"], &["ab", "a"]);
    check("^(?<q>['\"])x\\k<q>$", &["'x'", "\"x\""], &["'x\""]);
    check("^(?P<n>a|b)(?P=n)$", &["aa", "bb"], &["ab"]);
    // A group that has not matched yet counts as empty, and a repeated group matches again each time.
    check("^\\1(a)$", &["a"], &["aa"]);
    check("^(?:(a)|b)*\\1$", &["ab", "b", "aaa"], &[]);
    check("^(a*)*\\1b$", &["b", "aab"], &["ba"]);
    check("(?<=(\\d)x)\\1", &["1x1"], &["1x2"]);
}

#[test]
fn pattern_supports_unicode_properties() {
    check("^\\p{L}+$", &["aéж字"], &["1", "-"]);
    check("^\\p{Letter}\\P{Lu}$", &["Aa"], &["AA"]);
    check("^\\p{digit}+$", &["1१"], &["a"]);
    check("^\\p{Script=Greek}+$", &["αβγ"], &["abc"]);
    check("^[\\p{Cyrillic}\\d]+$", &["ж1"], &["a"]);
    check("^\\p{scx=Hira}$", &["ー", "あ"], &["a"]);
    check("^\\p{Uppercase}\\p{White_Space}$", &["A "], &["a "]);
}

#[test]
fn pattern_supports_flags_of_other_libraries() {
    check("^(?i)abc$", &["ABC", "aBc"], &["abd"]);
    check("^a(?i:b)c$", &["aBc"], &["aBC"]);
    check("^(?i:[a-c]É)$", &["Bé"], &["dé"]);
    check("(?m)^b$", &["a\nb\nc"], &["ab"]);
    check("(?s)^a.b$", &["a\nb"], &["ab"]);
    check("(?i)^(a)\\1$", &["aA"], &["ab"]);
    check("\\Aab\\z", &["ab"], &["ab\n"]);
}

#[test]
fn pattern_invalid_unsupported_or_too_large_is_refused() {
    let refusal = |pattern: &str| Pattern::compile(pattern, 10_000).err();
    for pattern in [
        "(",
        ")",
        "a)",
        "[a",
        "*a",
        "a|*",
        "{2}",
        "\\",
        "[b-a]",
        "a{3,2}",
        "(?<1",
        "^*",
        "\\1",
        "\\k<x>",
        "(?<a>.)(?<a>.)",
    ] {
        let found = refusal(pattern);
        assert!(
            matches!(found, Some(BadPattern::Syntax { .. })),
            "{pattern}: {found:?}"
        );
    }
    for pattern in [
        "(?>a)",
        "a++",
        "a{,3}",
        "\\h",
        "\\p{Emoji}",
        "(?#c)",
        "\\ud800",
        "(?x)a",
        "\\Z",
    ] {
        let found = refusal(pattern);
        assert!(
            matches!(found, Some(BadPattern::NotSupported { .. })),
            "{pattern}: {found:?}"
        );
    }
    for pattern in ["((a{1000}){1000}){1000}", "(?:a{99}){999}", "a{1000000}"] {
        assert_eq!(refusal(pattern), Some(BadPattern::TooLarge), "{pattern}");
    }
    assert!(refusal(&"(".repeat(4_000)).is_some());
}

#[test]
fn pattern_that_takes_too_long_runs_out_of_fuel() {
    let spend = |pattern: &str, text: &str| {
        let mut fuel = Fuel::new(200_000);
        let pattern = Pattern::compile(pattern, 10_000).unwrap();
        (pattern.is_match(text, &mut fuel), fuel.left())
    };
    // All paths at once: a few steps for each character, even for patterns that stall other engines.
    let text = "a".repeat(1_000);
    for pattern in [
        "^(a+)+$b",
        "^(a|aa)+c$",
        "(x+x+)+y",
        "^(?=(a|aa)+b)",
        "^(((a*)*)*)*b",
    ] {
        let (found, left) = spend(pattern, &text);
        assert_eq!(found, Ok(false), "{pattern}");
        assert!(left > 50_000, "{pattern}: {left}");
    }
    // One path after the other.
    assert_eq!(spend("^(a|aa)+(b?)\\2c$", &text), (Err(OutOfFuel), 0));
    assert_eq!(spend("a", &"b".repeat(1 << 20)), (Err(OutOfFuel), 0));
}
