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

/// The path to a place in a document. Its pointer is built only on demand: otherwise a long name
/// would be copied for everything below it.
#[derive(Debug, Clone, Copy)]
pub enum Trail<'a> {
    /// The whole document.
    Root,
    /// A member of the value at the first.
    Member(&'a Trail<'a>, &'a str),
    /// An element of the value at the first.
    Element(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    /// A lower bound for the length of its pointer in bytes, without building it.
    pub fn least_bytes(&self) -> usize {
        let (mut bytes, mut at) = (0, self);
        loop {
            (bytes, at) = match at {
                Trail::Root => return bytes,
                Trail::Member(above, name) => (bytes + 1 + name.len(), above),
                Trail::Element(above, _) => (bytes + 2, above),
            };
        }
    }

    /// The pointer to the place.
    pub fn pointer(&self) -> String {
        self.pointer_within(usize::MAX)
    }

    /// The pointer, cut after the step that makes it longer than `limit` bytes; a name that is too
    /// long by itself is cut too.
    pub fn pointer_within(&self, limit: usize) -> String {
        let mut steps = Vec::new();
        let mut at = self;
        while let Trail::Member(above, _) | Trail::Element(above, _) = at {
            steps.push(at);
            at = above;
        }
        let mut pointer = String::new();
        for step in steps.into_iter().rev() {
            let room = limit.saturating_sub(pointer.len());
            pointer = match step {
                _ if room == 0 => break,
                Trail::Root => pointer,
                Trail::Member(_, name) => member(&pointer, &name[..name.floor_char_boundary(room)]),
                Trail::Element(_, at) => element(&pointer, *at),
            };
        }
        pointer
    }
}

/// The pointer for people: the empty one, which would be invisible, is written out.
pub fn shown(pointer: &str) -> &str {
    if pointer.is_empty() {
        "(the document)"
    } else {
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::Trail;

    #[test]
    fn pointer_escapes_tilde_and_slash() {
        assert_eq!(super::member("/a", "b/c~d"), "/a/b~1c~0d");
        assert_eq!(super::element("", 3), "/3");
        assert_eq!(super::member("", ""), "/");
    }

    #[test]
    fn trail_builds_pointer_and_cuts_long_one() {
        let root = Trail::Root;
        let list = Trail::Member(&root, "a/é");
        let item = Trail::Element(&list, 12);
        assert_eq!(root.pointer(), "");
        assert_eq!(item.pointer(), "/a~1é/12");
        assert_eq!(Trail::Member(&item, "b").pointer(), "/a~1é/12/b");
        assert_eq!(item.pointer_within(3), "/a~1");
        assert_eq!(item.pointer_within(7), "/a~1é/12");
    }
}
