//! Packages of Nix and Guix: every file lies in the folder of its package in the store, which nobody changes.

use super::Package;

const STORES: [&str; 2] = ["/nix/store/", "/gnu/store/"];

/// The characters of the hash that the name of a package's folder begins with.
const HASH: usize = 32;

/// The package in whose folder of a store a file lies.
pub(super) fn package_of(path: &str) -> Option<Package> {
    let below = STORES.iter().find_map(|store| path.strip_prefix(store))?;
    let (folder, _) = below.split_once('/').unwrap_or((below, ""));
    let (hash, name) = folder.split_at_checked(HASH)?;
    let name = name.strip_prefix('-').filter(|name| !name.is_empty())?;
    let is_hash = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    if !hash.bytes().all(is_hash) {
        return None;
    }
    // The version begins at the first part with a digit; without one, only the hash tells two apart.
    let begins = |at: &usize| name.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    let dashes = name.match_indices('-').map(|(at, _)| at);
    let (name, version) = match dashes.into_iter().find(begins) {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (name, hash),
    };
    Some(Package {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_is_named_by_its_folder() {
        let hash = "0c5b8vw40dy178xlpddw65q9gf1h2186";
        for (path, expected) in [
            (
                format!("/nix/store/{hash}-python3-3.11.6/bin/python3"),
                Some(("python3", "3.11.6")),
            ),
            (
                format!("/gnu/store/{hash}-glibc-2.35"),
                Some(("glibc", "2.35")),
            ),
            (
                format!("/nix/store/{hash}-source/a.py"),
                Some(("source", hash)),
            ),
            (format!("/nix/store/{hash}/a.py"), None),
            (format!("/nix/store/.links/{hash}"), None),
            (format!("/home/me/nix/store/{hash}-x-1/a"), None),
            ("/nix/store/short-x-1/a".to_owned(), None),
        ] {
            let found = package_of(&path);
            let found = found.as_ref().map(|it| (&*it.name, &*it.version));
            assert_eq!(found, expected, "{path}");
        }
    }
}
