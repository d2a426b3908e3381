//! Versions and what came with them: `runs on Python 3.8`, `told apart with match statements`.
//!
//! A statement that pins a product to a version (or to versions up to it) contradicts one that uses a feature which
//! appeared later. `3.8 or newer` pins nothing from above, but the oldest of them has to do without the feature too.

use super::super::Source;
use super::statement::Statement;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Product, version that brought it (two parts), and the words of features.
const FEATURES: &[(&str, (u32, u32), &str)] = &[
    ("python", (3, 6), "f-string|f-strings"),
    ("python", (3, 7), "dataclass|dataclasses"),
    ("python", (3, 8), "walrus operator"),
    ("python", (3, 9), "zoneinfo|removeprefix"),
    (
        "python",
        (3, 10),
        "match statement|match-case|match statements|structural pattern",
    ),
    (
        "python",
        (3, 11),
        "tomllib|exceptiongroup|taskgroup|except*",
    ),
    ("python", (3, 12), "itertools.batched|type parameter"),
    ("rust", (1, 65), "let-else|let else|generic associated"),
    ("rust", (1, 70), "oncelock|oncecell"),
    ("rust", (1, 75), "async fn"),
    ("rust", (1, 80), "lazylock|lazycell"),
    ("rust", (1, 88), "let chains"),
    ("php", (7, 4), "arrow functions|typed properties"),
    (
        "php",
        (8, 0),
        "named arguments|match expression|constructor promotion|union types|attributes",
    ),
    (
        "php",
        (8, 1),
        "enum|enums|readonly properties|readonly property|fibers",
    ),
    ("php", (8, 2), "readonly class|readonly classes"),
    ("java", (9, 0), "module-info.java|jshell"),
    ("java", (10, 0), "var keyword"),
    ("java", (11, 0), "java.net.http|httpclient"),
    ("java", (14, 0), "switch expression|switch expressions"),
    ("java", (15, 0), "text block|text blocks"),
    ("java", (16, 0), "record|records|record class"),
    (
        "java",
        (17, 0),
        "sealed class|sealed classes|sealed interface|sealed interfaces|sealed types",
    ),
    (
        "java",
        (21, 0),
        "virtual thread|virtual threads|sequenced collections",
    ),
    ("go", (1, 16), "go:embed|embed.fs"),
    ("go", (1, 18), "generics|type parameter|type parameters"),
    ("go", (1, 21), "slog|slices package|log/slog"),
    ("c++", (11, 0), "lambda|lambdas|unique_ptr|nullptr"),
    ("c++", (14, 0), "make_unique"),
    (
        "c++",
        (17, 0),
        "optional|string_view|structured bindings|filesystem|variant",
    ),
    (
        "c++",
        (20, 0),
        "concepts|ranges|coroutine|coroutines|span|std::format",
    ),
    ("c++", (23, 0), "expected|std::print|mdspan"),
    (
        "es",
        (6, 0),
        "arrow functions|arrow function|template literals|promises|es6|es2015|es2017|es2020|es2022|es modules|async/await|let and|classes",
    ),
    ("node.js", (18, 0), "node:test|built-in fetch|global fetch"),
    ("node", (18, 0), "node:test|built-in fetch|global fetch"),
    ("c#", (8, 0), "nullable reference|async streams"),
    (
        "c#",
        (9, 0),
        "record type|record types|init-only|top-level statements",
    ),
    (
        "postgresql",
        (10, 0),
        "declarative partitioning|identity column|logical replication",
    ),
    ("postgresql", (12, 0), "generated column|generated columns"),
    ("postgresql", (15, 0), "merge statement|merge into"),
    (
        "mysql",
        (8, 0),
        "window function|window functions|common table|recursive cte",
    ),
    ("sqlite", (3, 24), "upsert|on conflict"),
    ("sqlite", (3, 25), "window function|window functions"),
    ("sqlite", (3, 35), "returning clause|returning"),
    ("ruby", (3, 0), "ractor|pattern matching"),
    ("ruby", (3, 1), "hash shorthand|yjit"),
];

struct Feature {
    key: u64,
    next: u64,
    product: u64,
    since: (u32, u32),
}

fn table() -> &'static [Feature] {
    static TABLE: OnceLock<Vec<Feature>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut out = Vec::new();
        for (product, since, words) in FEATURES {
            for text in words.split('|') {
                let mut keys = text.split(' ').map(|w| fnv(stem(w)));
                out.push(Feature {
                    key: keys.next().unwrap_or(0),
                    next: keys.next().unwrap_or(0),
                    product: fnv(stem(product)),
                    since: *since,
                });
            }
        }
        out.sort_by_key(|f| (f.key, f.next, f.product));
        out
    })
}

/// `3.11` as two numbers.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    let major = parts.next()?.parse().ok()?;
    Some((
        major,
        parts.next().and_then(|p| p.parse().ok()).unwrap_or(0),
    ))
}

/// Products that the statement pins to a version.
fn pinned(source: &Source<'_>, s: &Statement) -> Vec<(u64, (u32, u32))> {
    let lexed = &source.tagged.lexed;
    let mut out = Vec::new();
    for i in s.range.0..s.range.1 {
        let token = lexed.tokens[i];
        if token.quoted || token.kind != TokenKind::Word {
            continue;
        }
        let word = lexed.word(i);
        // `Internet Explorer 11` and ES5 know nothing of later scripts.
        if word == "explorer" || any_of!(word, "es5" "ie11" "es3" "ie8" "ie9" "ie10") {
            out.push((fnv("es"), (5, 0)));
            continue;
        }
        let glued = any_of!(word, "c++11" "c++14" "c++17" "c++98" "c++03" "c++20");
        if glued || word == "c" && lexed.raw(i + 1) == "+" {
            let number = word.trim_start_matches("c++").parse().unwrap_or(0);
            if number > 0 {
                let year = if number > 90 { number - 100 } else { number };
                out.push((fnv(stem("c++")), (year.max(0) as u32, 0)));
            }
            continue;
        }
        let Some(next) = lexed
            .tokens
            .get(i + 1)
            .filter(|t| t.kind == TokenKind::Number)
        else {
            continue;
        };
        let named = FEATURES.iter().any(|f| fnv(stem(f.0)) == token.key);
        if named
            && token.upper
            && let Some(version) = parse_version(&lexed.lower[next.start..next.end])
        {
            out.push((token.key, version));
        }
    }
    out
}

/// Finds features that a pinned version does not have.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut pins: Vec<(usize, u64, (u32, u32))> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        let source = &sources[s.source];
        if source.tagged.seen & (class::LANGUAGE | class::DATABASE | class::TECH) == 0
            && !(s.range.0..s.range.1)
                .any(|i| any_of!(source.tagged.lexed.word(i), "explorer" "es5" "ie11"))
        {
            continue;
        }
        let moves = (s.range.0..s.range.1).any(|i| {
            any_of!(source.tagged.lexed.word(i), "old" "upgrade" "upgraded" "migrate" "until" "previous" "legacy" "from")
        });
        if !moves && !s.conditional {
            pins.extend(
                pinned(source, s)
                    .into_iter()
                    .map(|(key, version)| (n, key, version)),
            );
        }
    }
    if pins.is_empty() {
        return;
    }
    for (n, s) in statements.iter().enumerate() {
        let t = &sources[s.source].tagged;
        for i in s.range.0..s.range.1 {
            let token = t.lexed.tokens[i];
            if token.quoted || token.kind != TokenKind::Word {
                continue;
            }
            if (i.saturating_sub(4).max(s.range.0)..i).any(|k| t.is(k, class::NEG)) {
                continue;
            }
            let from = table().partition_point(|f| f.key < token.key);
            for feature in table()[from..].iter().take_while(|f| f.key == token.key) {
                let next = t.lexed.tokens.get(i + 1).map_or(0, |t| t.key);
                if feature.next != 0 && feature.next != next {
                    continue;
                }
                for &(m, product, version) in pins.iter().take(CANDIDATES) {
                    if product == feature.product
                        && version < feature.since
                        && statements[m].source != s.source
                    {
                        // A word that means much else counts beside its product only.
                        let plain = feature.next == 0
                            && any_of!(t.lexed.word(i),
                            "record" "records" "enum" "enums" "optional" "expected" "concepts" "ranges" "span" "variant" "attributes"
                            "classes" "promises" "returning" "generics" "lambda" "lambdas" "fibers" "filesystem" "upsert" "embed");
                        let beside = (s.range.0..s.range.1)
                            .any(|k| t.lexed.tokens[k].key == product)
                            || any_of!(t.lexed.word(i), "enums" "generics" "lambdas" "upsert");
                        if !plain || beside {
                            pairs.add(m, n, "the version");
                        }
                    }
                }
            }
        }
    }
}
