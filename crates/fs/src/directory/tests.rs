use std::os::unix::fs::symlink;

use super::*;

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn folder_with_everything() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::write(root.join("a/b/file"), b"inside").unwrap();
    std::fs::write(root.join("new\nline"), b"").unwrap();
    symlink("/etc", root.join("a/link")).unwrap();
    symlink("b/file", root.join("a/to-file")).unwrap();
    let fifo = rustix::fs::CWD;
    rustix::fs::mknodat(fifo, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    folder
}

#[test]
fn directory_source_lists_every_kind_without_following_links() {
    let folder = folder_with_everything();
    let source = DirectorySource::open(folder.path(), RootLink::Refuse).unwrap();
    let listed: Vec<_> = source
        .entries()
        .unwrap()
        .into_iter()
        .map(|entry| (entry.name.shown().to_owned(), entry.kind))
        .collect();
    let expected = [
        ("a", EntryKind::Directory),
        ("a/b", EntryKind::Directory),
        ("a/b/file", EntryKind::File),
        ("a/link", EntryKind::Symlink),
        ("a/to-file", EntryKind::Symlink),
        ("new\\nline", EntryKind::File),
        ("pipe", EntryKind::Fifo),
    ];
    assert_eq!(listed, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn directory_source_reads_files_and_nothing_else() {
    let folder = folder_with_everything();
    let source = DirectorySource::open(folder.path(), RootLink::Refuse).unwrap();
    assert_eq!(source.read(&path("a/b/file"), 6).unwrap(), b"inside");
    let refused = |name: &str| source.read(&path(name), 100).unwrap_err();
    let is_kind = |name: &str, wanted: EntryKind| matches!(refused(name), SourceError::NotAFile { kind, .. } if kind == wanted);
    assert!(is_kind("a/to-file", EntryKind::Symlink));
    assert!(is_kind("a/link/hostname", EntryKind::Symlink));
    assert!(is_kind("a/b", EntryKind::Directory));
    assert!(is_kind("pipe", EntryKind::Fifo));
    assert!(matches!(refused("absent"), SourceError::NotFound { .. }));
    assert!(matches!(
        refused("a/b/file/x"),
        SourceError::NotFound { .. }
    ));
    let too_large = source.read(&path("a/b/file"), 5);
    assert!(matches!(
        too_large,
        Err(SourceError::TooLarge { limit: 5, .. })
    ));
}

#[test]
fn open_by_component_agrees_with_the_single_call() {
    let folder = folder_with_everything();
    let source = DirectorySource::open(folder.path(), RootLink::Refuse).unwrap();
    let root = source.root.as_fd();
    assert!(open_by_component(root, "a/b/file", OPEN_FILE).is_ok());
    assert!(open_by_component(root, "a/link/hostname", OPEN_FILE).is_err());
    assert_eq!(
        open_by_component(root, "a/to-file", OPEN_FILE).unwrap_err(),
        Errno::LOOP
    );
}

#[test]
fn directory_source_root_link_is_followed_only_where_allowed() {
    let folder = folder_with_everything();
    let link = folder.path().join("root-link");
    symlink(folder.path().join("a"), &link).unwrap();
    assert!(DirectorySource::open(&link, RootLink::Follow).is_ok());
    let refused = DirectorySource::open(&link, RootLink::Refuse).unwrap_err();
    assert!(matches!(
        refused,
        SourceError::NotAFolder {
            kind: EntryKind::Symlink,
            ..
        }
    ));
    let file = DirectorySource::open(&folder.path().join("a/b/file"), RootLink::Follow);
    assert!(matches!(
        file,
        Err(SourceError::NotAFolder {
            kind: EntryKind::File,
            ..
        })
    ));
    let absent = DirectorySource::open(&folder.path().join("absent"), RootLink::Follow);
    assert!(matches!(absent, Err(SourceError::NotFound { .. })));
}

#[test]
fn directory_source_file_swapped_for_a_link_after_listing_is_refused() {
    let folder = folder_with_everything();
    let source = DirectorySource::open(folder.path(), RootLink::Refuse).unwrap();
    let before = source.entries().unwrap();
    assert!(before.iter().any(|entry| entry.name.shown() == "a/b/file"));
    // First the file, then a whole folder on the way to it.
    std::fs::remove_file(folder.path().join("a/b/file")).unwrap();
    symlink("/etc/hostname", folder.path().join("a/b/file")).unwrap();
    let swapped = source.read(&path("a/b/file"), 100).unwrap_err();
    assert!(matches!(
        swapped,
        SourceError::NotAFile {
            kind: EntryKind::Symlink,
            ..
        }
    ));
    std::fs::remove_dir_all(folder.path().join("a/b")).unwrap();
    symlink("/etc", folder.path().join("a/b")).unwrap();
    let swapped = source.read(&path("a/b/hostname"), 100).unwrap_err();
    assert!(matches!(
        swapped,
        SourceError::NotAFile {
            kind: EntryKind::Symlink,
            ..
        }
    ));
}
