//! Base64, hex and armour, as the formats of this crate write them.

use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};

/// Encodes standard base64 with padding.
pub fn encode_base64(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

/// Decodes base64, standard or URL-safe, with or without padding. One value has several spellings
/// here, so never count or compare the spelling.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text)
        .or_else(|_| Base64Unpadded::decode_vec(text))
        .or_else(|_| Base64Url::decode_vec(text))
        .or_else(|_| Base64UrlUnpadded::decode_vec(text))
        .ok()
}

/// Encodes URL-safe base64 without padding, as tokens write it.
pub fn encode_base64url(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// Encodes lower-case hex.
pub fn encode_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Decodes the bytes between `-----BEGIN label-----` and its end. Other text may surround them.
pub fn decode_armour(text: &str, label: &str) -> Option<Vec<u8>> {
    let begin = format!("-----BEGIN {label}-----");
    let end = format!("-----END {label}-----");
    let (_, rest) = text.split_once(begin.as_str())?;
    let (body, _) = rest.split_once(end.as_str())?;
    let body: String = body.split_ascii_whitespace().collect();
    Base64::decode_vec(&body).ok()
}

/// Encodes armour with lines of `width` characters and a final LF.
pub fn encode_armour(bytes: &[u8], label: &str, width: usize) -> String {
    let body = encode_base64(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(width));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base64_spelling_decodes_to_the_same_bytes() {
        let bytes = [0xfb, 0xff, 0xfe, 0x01];
        for text in ["+//+AQ==", "+//+AQ", "-__-AQ==", "-__-AQ"] {
            assert_eq!(decode_base64(text).unwrap(), bytes, "{text}");
        }
        for text in ["+//+AQ=", "+//-AQ==", "+//+AR==", "a", "a b="] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
    }

    #[test]
    fn armour_reads_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = encode_armour(&bytes, "SSH SIGNATURE", 70);
        assert_eq!(decode_armour(&text, "SSH SIGNATURE").unwrap(), bytes);
        assert_eq!(decode_armour(&text, "PUBLIC KEY"), None);
    }
}
