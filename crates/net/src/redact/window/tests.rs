use super::*;
use crate::redact::RedactionRules;

impl Window {
    fn push(&mut self, redactor: &Redactor, piece: &[u8], mark: u64) -> Released {
        self.add(piece, mark);
        self.release_ready(redactor)
    }
}

/// Redacts a body in pieces of `size` bytes; returns everything released, and the ends of the pieces.
fn redact(kind: BodyKind, body: &str, size: usize) -> (String, Vec<u64>) {
    let redactor = Redactor::new(RedactionRules::default()).unwrap();
    let mut window = Window::new(kind);
    let (mut bytes, mut cuts) = (Vec::new(), Vec::new());
    let mut take = |released: Released| {
        bytes.extend(released.bytes);
        cuts.extend(released.cuts.into_iter().map(|(cut, _)| cut));
    };
    for piece in body.as_bytes().chunks(size) {
        take(window.push(&redactor, piece, 0));
    }
    take(window.finish(&redactor));
    (String::from_utf8(bytes).unwrap(), cuts)
}

const SECRET: &str = "sk-ant-api03-abcdefghij0123456789";

#[test]
fn window_pieces_of_any_size_hide_no_secret_and_keep_boundaries() {
    let body =
        format!("data: {{\"a\":\"{SECRET}\"}}\n\ndata: {{\"b\":\"{SECRET}\"}}\r\n\r\ndata: x");
    for kind in [BodyKind::Events, BodyKind::Plain] {
        for size in (1..body.len()).step_by(4) {
            let (out, cuts) = redact(kind, &body, size);
            assert!(!out.contains("abcdefghij"), "{size}: {out}");
            assert_eq!(out.matches("[redacted:anthropic-key:").count(), 2, "{out}");
            assert_eq!(cuts.len(), body.len().div_ceil(size));
            assert_eq!(cuts.last().copied(), Some(out.len() as u64));
            assert!(cuts.is_sorted());
        }
    }
}

#[test]
fn window_without_secrets_releases_every_byte_and_boundary() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße\"}}]}\n\ndata: [DONE]\n\n";
    for size in (1..body.len()).step_by(3) {
        let redactor = Redactor::new(RedactionRules::default()).unwrap();
        let mut window = Window::new(BodyKind::Events);
        let (mut bytes, mut cuts) = (Vec::new(), Vec::new());
        for piece in body.as_bytes().chunks(size) {
            let released = window.push(&redactor, piece, 7);
            bytes.extend(released.bytes);
            cuts.extend(released.cuts);
        }
        let released = window.finish(&redactor);
        bytes.extend(released.bytes);
        cuts.extend(released.cuts);
        assert_eq!(bytes, body.as_bytes());
        let ends = (1..=body.len().div_ceil(size)).map(|n| (n * size).min(body.len()) as u64);
        assert_eq!(cuts, ends.map(|end| (end, 7)).collect::<Vec<_>>());
    }
}

#[test]
fn window_secret_spread_over_events_is_removed_from_each() {
    for size in [1, 2, 3, 5] {
        let letters: Vec<char> = format!("the key is {SECRET} and that is all")
            .chars()
            .collect();
        let mut body = String::new();
        for piece in letters.chunks(size) {
            let piece: String = piece.iter().collect();
            body.push_str(&format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n"
            ));
        }
        let (out, _) = redact(BodyKind::Events, &body, 40);
        let said: String = runseal_core::formats::model_io::events::parse_events(&out)
            .iter()
            .map(|event| {
                let value: serde_json::Value = serde_json::from_str(&event.data).unwrap();
                value["choices"][0]["delta"]["content"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert!(
            said.starts_with("the key is [redacted:anthropic-key:"),
            "{said}"
        );
        assert!(said.ends_with("] and that is all"), "{said}");
        assert!(!said.contains("abcdef"), "{said}");
    }
}

#[test]
fn window_holds_bounded_part_of_long_stream() {
    let redactor = Redactor::new(RedactionRules::default()).unwrap();
    let event = |index: usize, text: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    };
    // Words as models emit them; a text without any space; one that stops in the middle of a word
    // while another continues.
    for (first, next) in [
        (" word", event(0, " word")),
        ("x", event(0, "abcd")),
        ("x", event(1, "ab ")),
    ] {
        let mut window = Window::new(BodyKind::Events);
        window.push(&redactor, event(0, first).as_bytes(), 0);
        let mut most = 0;
        let (mut fed, mut released) = (0, 0);
        while fed < 4 << 20 {
            released += window.push(&redactor, next.as_bytes(), 0).bytes.len();
            fed += next.len();
            most = most.max(window.raw.len());
        }
        let bound = if first == " word" {
            1000
        } else {
            2 * MOST_HELD_EVENTS
        };
        assert!(most < bound, "{next}: {most}");
        assert!(released + bound > fed, "{next}: {released} of {fed}");
    }
}

const MOST_HELD_EVENTS: usize = MOST_EVENTS + MOST_EVENTS / 2;

#[test]
fn window_secret_among_words_is_found_at_any_piece_size() {
    for (said, secret) in [
        ("say Bearer abcdefghijklmnop0123456789 now", "abcdefghij"),
        ("my password : hunter2222 is old", "hunter2222"),
        (
            "a {\\\"client_secret\\\": \\\"zzz999zzz\\\"} b c",
            "zzz999zzz",
        ),
        (
            "in -----BEGIN PRIVATE KEY-----\\nMIIB abc\\nXYZW\\n-----END PRIVATE KEY----- and on",
            "XYZW",
        ),
        (
            "one ghp_0123456789abcdefghijABCDEFGHIJ012345, two ghp_zyxwvutsrq9876543210ZYXWVUTSRQ98765 end",
            "zyxwvutsrq",
        ),
    ] {
        let decoded: String = serde_json::from_str(&format!("\"{said}\"")).unwrap();
        let letters: Vec<char> = decoded.chars().collect();
        for size in 1..12 {
            let mut body = String::new();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                let value = serde_json::json!({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":piece}});
                body.push_str(&format!("event: content_block_delta\ndata: {value}\n\n"));
            }
            for chunk in [1, 37, 4096] {
                let (out, _) = redact(BodyKind::Events, &body, chunk);
                let said: String = runseal_core::formats::model_io::events::parse_events(&out)
                    .iter()
                    .map(|event| {
                        let value: serde_json::Value = serde_json::from_str(&event.data).unwrap();
                        value["delta"]["text"].as_str().unwrap().to_owned()
                    })
                    .collect();
                assert!(!said.contains(secret), "{size} {chunk}: {said}");
                assert!(said.contains("[redacted:"), "{size} {chunk}: {said}");
                assert!(
                    said.ends_with(&decoded[decoded.len() - 3..]),
                    "{size} {chunk}: {said}"
                );
            }
        }
    }
}

#[test]
fn window_large_plain_body_is_released_before_its_end() {
    let redactor = Redactor::new(RedactionRules::default()).unwrap();
    let mut window = Window::new(BodyKind::Plain);
    let mut out = Vec::new();
    let piece = "word and word and ".repeat(1000);
    for at in 0..40 {
        out.extend(window.push(&redactor, piece.as_bytes(), 0).bytes);
        if at == 20 {
            assert!(out.len() > 100_000, "{}", out.len());
            let secret = format!(" {SECRET} ");
            out.extend(window.push(&redactor, secret.as_bytes(), 0).bytes);
        }
    }
    out.extend(window.finish(&redactor).bytes);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("[redacted:").count(), 1);
    assert!(!text.contains(SECRET));
}

fn escape(text: &str) -> String {
    text.chars()
        .map(|c| format!("\\u{:04x}", u32::from(c)))
        .collect()
}

#[test]
fn window_escaped_secret_next_to_plain_one_is_found_in_every_kind() {
    let hidden = "sk-ant-api03-zyxwvutsrq9876543210";
    let both = format!("{{\"d\":\"{SECRET}\",\"c\":\"{}\"}}", escape(hidden));
    for (kind, body) in [
        (
            BodyKind::Events,
            format!("event: x\ndata: {both}\n\ndata: [DONE]\n\n"),
        ),
        (BodyKind::Lines, format!("{both}\n{{\"c\":1}}\n")),
        (BodyKind::JsonLines, format!("{both}\n{{\"c\":1}}\n")),
        (BodyKind::Json, both.clone()),
        (BodyKind::Plain, both.clone()),
    ] {
        let (out, _) = redact(kind, &body, 7);
        assert!(
            !out.contains("\\u0073") && !out.contains("abcdef"),
            "{kind:?}: {out}"
        );
        assert_eq!(out.matches("[redacted:anthropic-key:").count(), 2, "{out}");
    }
    assert_eq!(
        BodyKind::of_headers("", "application/x-ndjson"),
        BodyKind::JsonLines
    );
}

#[test]
fn window_compressed_body_is_searched() {
    use std::io::{Read, Write};
    let compress = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let run = |body: &[u8]| {
        let redactor = Redactor::new(RedactionRules::default()).unwrap();
        let mut window = Window::new(BodyKind::of_headers("gzip", "application/json"));
        assert_eq!(window.push(&redactor, body, 0), Released::default());
        window.finish(&redactor).bytes
    };
    let clean = compress("{\"c\":\"nothing here\"}");
    assert_eq!(run(&clean), clean);
    let mut text = String::new();
    let redacted = run(&compress(&format!("{{\"c\":\"{SECRET}\"}}")));
    let read = flate2::read::GzDecoder::new(redacted.as_slice()).read_to_string(&mut text);
    assert!(
        read.is_ok() && text.contains("[redacted:anthropic-key:"),
        "{text}"
    );
    assert_eq!(run(b"no gzip at all"), b"no gzip at all");
}

#[test]
fn window_quoted_value_in_pieces_is_held_until_its_closing_quote() {
    let said = "{\\\"password\\\": \\\"my pa55 word, long\\\"} and more words";
    let mut body = String::new();
    for piece in said
        .replace("\\\"", "\u{1}")
        .chars()
        .collect::<Vec<_>>()
        .chunks(2)
    {
        let piece: String = piece.iter().collect();
        let piece = piece.replace('\u{1}', "\\\"");
        body.push_str(&format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n"
        ));
    }
    let (out, _) = redact(BodyKind::Events, &body, 40);
    for leaked in ["a5", "5 ", "d,"] {
        assert!(!out.contains(&format!("\"{leaked}")), "{out}");
    }
    assert_eq!(out.matches("[redacted:named-secret:").count(), 1, "{out}");
}
