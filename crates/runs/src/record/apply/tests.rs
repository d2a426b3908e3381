use super::*;

fn real(folder: &Path) -> RealFolder {
    RealFolder::new(fs::File::open(folder).unwrap().into(), folder)
}

fn written<'a>(folder: &'a RealFolder, names: &[&str]) -> StagedChanges<'a> {
    let content = folder.place(Path::new("content"));
    fs::write(&content, "new").unwrap();
    let mut written = StagedChanges::new(folder);
    for name in names {
        let file = fs::File::open(&content).unwrap();
        written.put_beside(file, 0o644, Path::new(name)).unwrap();
    }
    fs::remove_file(&content).unwrap();
    written
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
    let mut names: Vec<String> = entries.map(|entry| name(entry).unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_not_put_into_place_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.txt"), "old").unwrap();
    let real = real(folder.path());
    let written = written(&real, &["new/below/a.txt", "old.txt"]);
    assert!(folder.path().join("new/below").is_dir());
    drop(written);
    assert_eq!(names(folder.path()), ["old.txt"]);
    let old = fs::read_to_string(folder.path().join("old.txt"));
    assert_eq!(old.unwrap(), "old");
}

#[test]
fn what_was_put_into_place_is_named_where_the_rest_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let real = real(folder.path());
    let written = written(&real, &["a.txt", "taken"]);
    fs::create_dir(folder.path().join("taken")).unwrap();
    let error = written
        .put_into_place(&[vec!["gone.txt".into()]])
        .unwrap_err();
    assert_eq!(error.to_string(), "of 3 changes, 1 was applied: `a.txt`");
    assert_eq!(names(folder.path()), ["a.txt", "taken"]);
}

#[test]
fn link_that_leads_out_of_the_folder_is_told_from_one_that_stays() {
    let out = |place: &str, leads_to: &str| {
        leads_out(
            Path::new("/p"),
            &Path::new("/p").join(place),
            Path::new(leads_to),
        )
    };
    for (place, leads_to, is_out) in [
        ("a", "b", false),
        ("a/b", "../c", false),
        ("a", "../p/c", true),
        ("a", "..", true),
        ("a", "/p/c", false),
        ("a", "/p/../etc", true),
        ("a", "/etc/passwd", true),
        ("a/b/c", "../../../x", true),
    ] {
        assert_eq!(out(place, leads_to), is_out, "{place} -> {leads_to}");
    }
}

#[test]
fn link_is_put_into_place_over_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("latest"), "old").unwrap();
    let real = real(folder.path());
    let mut written = StagedChanges::new(&real);
    written
        .put_link(Path::new("run-2"), Path::new("latest"))
        .unwrap();
    written.put_into_place(&[]).unwrap();
    let target = fs::read_link(folder.path().join("latest")).unwrap();
    assert_eq!(target, Path::new("run-2"));
    assert_eq!(names(folder.path()), ["latest"]);
}

fn change(path: &str, now: Changed, existed: bool) -> Change {
    Change {
        path: path.into(),
        now,
        existed,
        fault: None,
    }
}

/// What a check of one change to `folder` finds, by a command that began at `began_ns`.
fn check(folder: &Path, change: &Change, began_ns: i128) -> Result<usize, String> {
    let folder = &real(folder);
    let deleted = Check { folder, began_ns }.find_deleted(&[change]);
    let count = |deleted: Vec<Vec<PathBuf>>| deleted.iter().map(Vec::len).sum();
    deleted.map(count).map_err(|error| error.to_string())
}

fn changed_ns(path: &Path) -> i128 {
    crate::record::environment::status_changed_ns(&fs::symlink_metadata(path).unwrap())
}

/// Waits until a file that changes gets another time than `path` has.
fn wait_beyond(path: &Path) -> i128 {
    let before = changed_ns(path);
    let probe = path.with_extension("probe");
    loop {
        fs::write(&probe, "x").unwrap();
        let now = changed_ns(&probe);
        fs::remove_file(&probe).unwrap();
        if now > before {
            return now;
        }
    }
}

#[test]
fn deleted_folder_is_taken_away_only_with_what_the_command_saw() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("d/e")).unwrap();
    fs::write(at("d/a"), "1").unwrap();
    fs::write(at("d/e/b"), "2").unwrap();
    let began = wait_beyond(&at("d"));
    let gone = change("d", Changed::Deleted, true);
    assert_eq!(check(folder.path(), &gone, began), Ok(4));
    wait_beyond(&at("d"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(at("d/e/b"), "theirs").unwrap();
    let told = "`d/e/b` changed while the command ran, so nothing was applied";
    assert_eq!(check(folder.path(), &gone, began), Err(told.to_owned()));
    fs::write(at("d/e/new"), "theirs").unwrap();
    let told = "`d/e` changed while the command ran, so nothing was applied";
    assert_eq!(check(folder.path(), &gone, began), Err(told.to_owned()));
    // What appears after the last look keeps its folder.
    let paths = ["d/a", "d/e/b", "d/e"].map(PathBuf::from);
    let real = real(folder.path());
    let written = StagedChanges::new(&real);
    let error = written.put_into_place(&[paths.to_vec()]).unwrap_err();
    // What is gone already is reported.
    let told = "of 3 changes, 2 were applied: `d/a`, `d/e/b`";
    assert_eq!(error.to_string(), told);
    assert!(at("d/e/new").exists());
}

#[test]
fn nothing_is_written_through_a_link_or_over_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("file"), "x").unwrap();
    let began = i128::MAX;
    let file = Changed::File {
        bytes: 1,
        mode: 0o644,
    };
    let made = Changed::Folder { mode: 0o755 };
    for (change, obstacle) in [
        (change("link/x", file.clone(), false), "link"),
        (change("file/x", file.clone(), false), "file"),
        (change("folder", file.clone(), true), "folder"),
        (change("file", made.clone(), true), "file"),
        (change("link", made, true), "link"),
    ] {
        let told = check(folder.path(), &change, began).unwrap_err();
        assert!(told.starts_with(&format!("`{obstacle}` would")), "{told}");
    }
    assert_eq!(
        check(folder.path(), &change("file", file, true), began),
        Ok(0)
    );
}

/// Swaps `sub` for a link to `elsewhere`, as the owner of the folder can at any moment.
fn swap(folder: &Path, elsewhere: &Path) {
    fs::rename(folder.join("sub"), folder.join("aside")).unwrap();
    std::os::unix::fs::symlink(elsewhere, folder.join("sub")).unwrap();
}

#[test]
fn folder_swapped_for_a_link_before_writing_gets_nothing() {
    let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("content"), "new").unwrap();
    swap(folder.path(), elsewhere.path());
    let real = real(folder.path());
    let mut written = StagedChanges::new(&real);
    for target in ["sub/new", "sub/deep/new"] {
        let file = fs::File::open(folder.path().join("content")).unwrap();
        let put = written.put_beside(file, 0o644, Path::new(target));
        assert!(put.is_err(), "{target}");
    }
    assert!(written.put_folder(Path::new("sub/made"), 0o777).is_err());
    assert!(written.put_folder(Path::new("../made"), 0o777).is_err());
    drop(written);
    assert_eq!(names(elsewhere.path()), [""; 0]);
}

#[test]
fn folder_swapped_for_a_link_after_writing_changes_nothing_where_it_leads() {
    let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for name in ["gone", "new"] {
        fs::write(elsewhere.path().join(name), "theirs").unwrap();
    }
    fs::create_dir(elsewhere.path().join("inner")).unwrap();
    let mode = Permissions::from_mode(0o700);
    fs::set_permissions(elsewhere.path().join("inner"), mode).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let real = real(folder.path());
    let mut with_folder = StagedChanges::new(&real);
    with_folder
        .put_folder(Path::new("sub/inner"), 0o755)
        .unwrap();
    let with_file = written(&real, &["sub/new"]);
    let beside = with_file.files[0].beside.clone();
    swap(folder.path(), elsewhere.path());
    // Even if the unfinished file is where the link leads.
    fs::write(elsewhere.path().join(&beside), "theirs").unwrap();
    assert!(with_file.put_into_place(&[]).is_err());
    assert!(with_folder.put_into_place(&[]).is_err());
    let gone = vec![PathBuf::from("sub/gone")];
    let removed = StagedChanges::new(&real).put_into_place(&[gone]);
    assert!(removed.is_err());
    let inner = fs::metadata(elsewhere.path().join("inner")).unwrap();
    assert_eq!(inner.permissions().mode() & 0o777, 0o700);
    let mut expected = ["gone", "inner", "new", beside.to_str().unwrap()];
    expected.sort_unstable();
    assert_eq!(names(elsewhere.path()), expected);
    let new = fs::read_to_string(elsewhere.path().join("new"));
    assert_eq!(new.unwrap(), "theirs");
    // Another real folder in its place is not the one that was written to either.
    fs::remove_file(folder.path().join("sub")).unwrap();
    let with_file = written(&real, &["sub/new"]);
    fs::rename(folder.path().join("sub"), folder.path().join("second")).unwrap();
    fs::rename(folder.path().join("aside"), folder.path().join("sub")).unwrap();
    let told = with_file.put_into_place(&[]).unwrap_err();
    let source = std::error::Error::source(&told).unwrap().to_string();
    assert!(source.contains("swapped"), "{source}");
}

#[test]
fn folder_of_bundles_is_found_by_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("real/b")).unwrap();
    std::os::unix::fs::symlink("real", top.join("link")).unwrap();
    let found = find_bundles(&top, &top.join("./link/b"));
    assert_eq!(found, [top.join("link/b"), top.join("real/b")]);
    assert_eq!(
        find_bundles(&top, &top.join("../elsewhere")),
        [""; 0].map(PathBuf::from)
    );
    // The folder itself holds other things too.
    fs::create_dir(top.join("run")).unwrap();
    for name in [RUN_META, SUMS] {
        fs::write(top.join("run").join(name), "x").unwrap();
    }
    let found = find_bundles(&top, &top.join("."));
    assert_eq!(found, [top.join("run"), top.join("run.seed")]);
}
