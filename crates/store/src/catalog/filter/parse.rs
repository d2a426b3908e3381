//! Parses tokens into a filter.

use super::lex::{Token, TokenKind, Word, tokens_of};
use super::{Column, Comparison, Field, Filter, FilterError, FilterFault, Several, Test};
use crate::catalog::name::Root;

/// The deepest nesting of parentheses and negations.
const DEEPEST: usize = 64;
/// The most tests in one filter: each is a database query.
const MOST_TESTS: usize = 100;

/// Every field other than parameters and metrics.
const FIELDS: [(&str, Field); 10] = [
    ("tag", Field::Several(Several::Tag)),
    ("format", Field::Column(Column::Format)),
    ("engine", Field::Column(Column::Engine)),
    ("outcome", Field::Column(Column::Outcome)),
    ("signer", Field::Several(Several::Signer)),
    ("time", Field::Column(Column::Time)),
    ("digest", Field::Digest),
    ("id", Field::Column(Column::Id)),
    ("place", Field::Several(Several::Place)),
    ("path", Field::Several(Several::Place)),
];

pub(super) fn parse(text: &str) -> Result<Filter, FilterError> {
    let tokens = tokens_of(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        depth: 0,
        tests: 0,
    };
    let filter = parser.any()?;
    match parser.next() {
        Token {
            kind: TokenKind::End,
            ..
        } => Ok(filter),
        other => Err(expected("`and`, `or` or the end", other)),
    }
}

/// Parses a name on its own.
pub(super) fn parse_name(text: &str) -> Result<(Root, Vec<String>), FilterError> {
    let tokens = tokens_of(text)?;
    let what = "the name of a parameter or metric, such as `metrics.rmse`";
    match tokens.as_slice() {
        [token, end] if end.kind == TokenKind::End => match &token.kind {
            TokenKind::Word(word) => match field_of(word, token.column)? {
                Field::Value(root, parts) => Ok((root, parts)),
                _ => Err(expected(what, token)),
            },
            _ => Err(expected(what, token)),
        },
        [first, ..] => Err(expected(what, first)),
        [] => Err(FilterError {
            column: 1,
            fault: FilterFault::TooLarge,
        }),
    }
}

fn expected(expected: &'static str, token: &Token) -> FilterError {
    FilterError {
        column: token.column,
        fault: FilterFault::Expected {
            expected,
            found: token.kind.shown(),
        },
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    tests: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        // The end token is never consumed, so there is always one.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> &'a Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn any(&mut self) -> Result<Filter, FilterError> {
        let mut parts = vec![self.all()?];
        while self.peek().kind == TokenKind::Or {
            self.next();
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Filter::Any))
    }

    fn all(&mut self) -> Result<Filter, FilterError> {
        let mut parts = vec![self.part()?];
        while self.peek().kind == TokenKind::And {
            self.next();
            parts.push(self.part()?);
        }
        Ok(one_or(parts, Filter::All))
    }

    fn part(&mut self) -> Result<Filter, FilterError> {
        let token = self.next();
        match &token.kind {
            TokenKind::Not => {
                self.enter(token)?;
                let part = self.part()?;
                self.depth -= 1;
                Ok(Filter::Not(Box::new(part)))
            }
            TokenKind::Open => {
                self.enter(token)?;
                let inner = self.any()?;
                let close = self.next();
                self.depth -= 1;
                match close.kind {
                    TokenKind::Close => Ok(inner),
                    TokenKind::End => Err(FilterError {
                        column: token.column,
                        fault: FilterFault::OpenParenthesis,
                    }),
                    _ => Err(expected("`and`, `or` or `)`", close)),
                }
            }
            TokenKind::Word(word) => self.test(word, token),
            _ => Err(expected("the name of a field, `not` or `(`", token)),
        }
    }

    fn enter(&mut self, token: &Token) -> Result<(), FilterError> {
        self.depth += 1;
        self.refuse_if(self.depth > DEEPEST, token)
    }

    fn refuse_if(&self, is_too_large: bool, token: &Token) -> Result<(), FilterError> {
        if is_too_large {
            Err(FilterError {
                column: token.column,
                fault: FilterFault::TooLarge,
            })
        } else {
            Ok(())
        }
    }

    fn test(&mut self, word: &Word, token: &Token) -> Result<Filter, FilterError> {
        self.tests += 1;
        self.refuse_if(self.tests > MOST_TESTS, token)?;
        let field = field_of(word, token.column)?;
        let sign = self.peek();
        let TokenKind::Comparison(comparison) = sign.kind else {
            return Ok(Filter::Test(Test { field, check: None }));
        };
        self.next();
        let token = self.next();
        let TokenKind::Word(value) = &token.kind else {
            return Err(expected(
                "a value: a number, a word or a quoted text",
                token,
            ));
        };
        if field == Field::Digest {
            check_digest(comparison, sign, &value.literal.text, token)?;
        }
        let check = |comparison| Test {
            field: field.clone(),
            check: Some((comparison, value.literal.clone())),
        };
        // For fields with several values or compared by prefix, `!=` is the negation of `=`.
        let is_opposite = matches!(field, Field::Several(_) | Field::Digest);
        Ok(match comparison {
            Comparison::NotEqual if is_opposite => {
                Filter::Not(Box::new(Filter::Test(check(Comparison::Equal))))
            }
            comparison => Filter::Test(check(comparison)),
        })
    }
}

fn check_digest(
    comparison: Comparison,
    sign: &Token,
    digits: &str,
    value: &Token,
) -> Result<(), FilterError> {
    if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
        return Err(FilterError {
            column: sign.column,
            fault: FilterFault::Comparison {
                field: "digest",
                known: "`=` and `!=`",
            },
        });
    }
    let is_hex = digits
        .bytes()
        .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if is_hex && (1..=64).contains(&digits.len()) {
        Ok(())
    } else {
        Err(FilterError {
            column: value.column,
            fault: FilterFault::NoDigest,
        })
    }
}

fn one_or(mut parts: Vec<Filter>, many: fn(Vec<Filter>) -> Filter) -> Filter {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            many(parts)
        }
    }
}

fn field_of(word: &Word, column: usize) -> Result<Field, FilterError> {
    let unknown = || FilterError {
        column,
        fault: FilterFault::UnknownField(word.literal.text.escape_debug().to_string()),
    };
    let [first, rest @ ..] = word.parts.as_slice() else {
        return Err(unknown());
    };
    if word.is_quoted {
        return Err(unknown());
    }
    let is_empty = |part: &String| part.is_empty();
    let behind = word.literal.text.split_once('.').map(|(_, behind)| behind);
    let pointed = behind
        .filter(|_| !word.has_quotes)
        .and_then(parts_of_pointer);
    let rest = pointed.as_deref().unwrap_or(rest);
    let root = match first.as_str() {
        "params" | "param" => Some(Root::Params),
        "metrics" | "metric" => Some(Root::Metrics),
        _ => None,
    };
    match root {
        Some(root) if !rest.is_empty() && !rest.iter().any(is_empty) => {
            Ok(Field::Value(root, rest.to_vec()))
        }
        None if rest.is_empty() => {
            let found = FIELDS.into_iter().find(|(name, _)| name == first);
            found.map(|(_, field)| field).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

/// Splits a JSON Pointer, written in a name as `metrics./outputs/rmse`. It has no escapes: `~` is a
/// comparison, and a part that contains it must be quoted.
fn parts_of_pointer(text: &str) -> Option<Vec<String>> {
    let parts = text.strip_prefix('/')?.split('/');
    Some(parts.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(field: Field, comparison: Comparison, text: &str, number: Option<f64>) -> Filter {
        let literal = super::super::Literal {
            text: text.to_owned(),
            number,
        };
        Filter::Test(Test {
            field,
            check: Some((comparison, literal)),
        })
    }

    fn metric(name: &str) -> Field {
        Field::Value(Root::Metrics, vec![name.to_owned()])
    }

    #[test]
    fn documented_filter_is_parsed() {
        let parsed = Filter::parse("metrics.rmse<0.3 and engine=FLATS").unwrap();
        let expected = Filter::All(vec![
            test(metric("rmse"), Comparison::Less, "0.3", Some(0.3)),
            test(
                Field::Column(Column::Engine),
                Comparison::Equal,
                "FLATS",
                None,
            ),
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn not_binds_tighter_than_and_and_tighter_than_or() {
        let parsed = Filter::parse("tag=a OR NOT tag=b And (tag = c or tag)").unwrap();
        let tag = |text| test(Field::Several(Several::Tag), Comparison::Equal, text, None);
        let any_tag = Filter::Test(Test {
            field: Field::Several(Several::Tag),
            check: None,
        });
        let right = Filter::All(vec![
            Filter::Not(Box::new(tag("b"))),
            Filter::Any(vec![tag("c"), any_tag]),
        ]);
        assert_eq!(parsed, Filter::Any(vec![tag("a"), right]));
        assert_eq!(
            Filter::parse("tag!=a").unwrap(),
            Filter::Not(Box::new(tag("a")))
        );
    }

    #[test]
    fn quoted_names_and_values_are_texts() {
        let parsed = Filter::parse("params.\"a.b\".'it''s'=\"42\"").unwrap();
        let field = Field::Value(Root::Params, vec!["a.b".to_owned(), "it's".to_owned()]);
        assert_eq!(parsed, test(field, Comparison::Equal, "42", None));
        let parsed = Filter::parse("metrics./outputs/a.b/c<1").unwrap();
        let parts = ["outputs", "a.b", "c"].map(str::to_owned);
        let field = Field::Value(Root::Metrics, parts.into());
        assert_eq!(parsed, test(field, Comparison::Less, "1", Some(1.0)));
        let quoted = Filter::parse("metrics.'/outputs'<1").unwrap();
        assert_eq!(
            quoted,
            test(metric("/outputs"), Comparison::Less, "1", Some(1.0))
        );
        let parsed = Filter::parse("metrics.x = -1e-3").unwrap();
        assert_eq!(
            parsed,
            test(metric("x"), Comparison::Equal, "-1e-3", Some(-0.001))
        );
        let parsed = Filter::parse("metrics.x=inf").unwrap();
        assert_eq!(parsed, test(metric("x"), Comparison::Equal, "inf", None));
        let time = Field::Column(Column::Time);
        assert_eq!(
            Filter::parse("time>=2026-11-01T00:00:00Z").unwrap(),
            test(
                time,
                Comparison::GreaterOrEqual,
                "2026-11-01T00:00:00Z",
                None
            )
        );
    }

    #[test]
    fn broken_filter_error_has_the_column_of_the_fault() {
        for (text, column, said) in [
            ("", 1, "expected the name of a field"),
            ("metrics.rmse <", 15, "expected a value"),
            ("metrics.rmse < and engine=X", 16, "found `and`"),
            ("engine=X engine=Y", 10, "expected `and`, `or` or the end"),
            ("größe=1", 1, "there is no field `größe`"),
            ("engine=X and größe>1", 14, "no field"),
            ("metrics", 1, "no field `metrics`"),
            ("metrics.=1", 1, "no field"),
            ("metrics./=1", 1, "no field"),
            ("metrics.x<-1e400", 11, "beyond the largest number"),
            ("engine.x=1", 1, "no field"),
            ("\"engine\"=1", 1, "no field"),
            ("engine='X", 8, "never closed"),
            ("(engine=X", 1, "never closed"),
            ("((engine=X) tag", 13, "expected `and`, `or` or `)`"),
            ("engine ! X", 8, "`!` means nothing"),
            ("engine=X)", 9, "found `)`"),
            ("digest~ab", 7, "`=` and `!=` only"),
            ("digest=xyz", 8, "0-9 and a-f"),
            ("= 3", 1, "found `=`"),
            ("not", 4, "found the end"),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.to_string().contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn excessive_filters_are_refused() {
        for text in [
            format!("{}tag{}", "(".repeat(65), ")".repeat(65)),
            format!("{}tag", "not ".repeat(65)),
            vec!["tag=a"; 101].join(" or "),
            "x".repeat(10_001),
        ] {
            let error = Filter::parse(&text).unwrap_err();
            assert_eq!(error.fault, FilterFault::TooLarge, "{}", text.len());
        }
        let deep = format!("{}tag{}", "(".repeat(60), ")".repeat(60));
        assert!(Filter::parse(&deep).is_ok());
    }
}
