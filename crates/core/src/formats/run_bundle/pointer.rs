//! JSON Pointers (RFC 6901), as findings and RUN_CONTEXT_STRIPPED.json write them.

/// The pointer to member `key` of what `base` points to.
pub fn member(base: &str, key: &str) -> String {
    let escaped = key.replace('~', "~0").replace('/', "~1");
    format!("{base}/{escaped}")
}

/// The pointer to element `at` of what `base` points to.
pub fn element(base: &str, at: usize) -> String {
    format!("{base}/{at}")
}

/// The pointer for people: the whole document has an empty one, which nobody would see.
pub fn shown(pointer: &str) -> &str {
    if pointer.is_empty() {
        "(the document)"
    } else {
        pointer
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn pointer_escapes_tilde_and_slash() {
        assert_eq!(super::member("/a", "b/c~d"), "/a/b~1c~0d");
        assert_eq!(super::element("", 3), "/3");
        assert_eq!(super::member("", ""), "/");
    }
}
