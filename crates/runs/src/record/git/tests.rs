use std::process::Command;
use std::time::Duration;

use runseal_testkit::skip::skip;

use super::*;

/// A repository with one commit; nothing where there is no git.
fn repository(folder: &Path) -> Option<()> {
    fs::create_dir_all(folder).ok()?;
    git(folder, &["init", "-q", "-b", "main"])?;
    fs::write(folder.join("a"), "one\n").ok()?;
    git(folder, &["add", "a"])?;
    git(folder, &["commit", "-q", "-m", "first"])?;
    git(
        folder,
        &[
            "remote",
            "add",
            "origin",
            "https://me:token@example.org/p.git",
        ],
    )
}

fn read(folder: &Path) -> Option<GitState> {
    GitState::read_as(folder, Path::new("/nowhere"), None)
}

fn git(folder: &Path, words: &[&str]) -> Option<()> {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    let done = git
        .args(words)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .ok()?;
    done.status.success().then_some(())
}

#[test]
fn state_of_a_repository_is_told_without_running_git() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    let folder = top.join("p");
    if repository(&folder).is_none() {
        skip("git is missing");
        return;
    }
    fs::create_dir(folder.join("sub")).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    git(&folder, &["update-index", "--refresh"]);
    git(&folder, &["read-tree", "HEAD"]);
    git(&folder, &["update-index", "--refresh"]);
    let found = read(&folder.join("sub")).unwrap();
    assert_eq!(found.branch.as_deref(), Some("main"));
    assert_eq!(found.remote.as_deref(), Some("https://example.org/p.git"));
    assert_eq!(found.commit.as_ref().map(String::len), Some(40));
    assert_eq!(found.state, TreeState::Clean);
    git(&folder, &["gc", "-q"]);
    assert_eq!(read(&folder).unwrap(), found);
    git(&folder, &["worktree", "add", "-q", "../w"]).unwrap();
    let of_worktree = read(&top.join("w")).unwrap();
    assert_eq!(
        (of_worktree.commit, of_worktree.branch),
        (found.commit.clone(), Some("w".to_owned()))
    );
    assert_eq!((found.untracked, found.not_read), (Some(0), None));
    fs::write(folder.join("new"), "x\n").unwrap();
    let with_new = read(&folder).unwrap();
    assert_eq!(
        (with_new.state, with_new.untracked),
        (TreeState::Changed, Some(1))
    );
    fs::remove_file(folder.join("new")).unwrap();
    fs::write(folder.join("a"), "changed\n").unwrap();
    assert_eq!(read(&folder).unwrap().state, TreeState::Changed);
    // Staged, but of no commit.
    git(&folder, &["add", "a"]).unwrap();
    assert_ne!(read(&folder).unwrap().state, TreeState::Clean);
    assert_eq!(read(Path::new("/usr/share")), None);
}

#[test]
fn folder_of_a_stranger_does_not_lead_to_another_repository() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    let own = top.join("own/.git");
    fs::create_dir_all(own.join("refs/heads")).unwrap();
    fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(own.join("refs/heads/main"), "a".repeat(40)).unwrap();
    assert!(read(&top.join("own")).unwrap().commit.is_some());
    let strange = top.join("strange");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join(".git"), "gitdir: ../own/.git\n").unwrap();
    assert_eq!(read(&strange), None);
    fs::remove_file(strange.join(".git")).unwrap();
    std::os::unix::fs::symlink(&own, strange.join(".git")).unwrap();
    assert_eq!(read(&strange), None);
    // A reference that leads elsewhere names no commit, whatever is there.
    fs::write(own.join("HEAD"), "ref: refs/../../../key\n").unwrap();
    fs::write(top.join("own/key"), "b".repeat(40)).unwrap();
    assert_eq!(read(&top.join("own")).unwrap().commit, None);
}

#[test]
fn credentials_are_not_part_of_an_address() {
    for (url, plain) in [
        ("https://u:p@h/x?token=1#y", "https://h/x"),
        ("https://token@h:8443/x.git", "https://h:8443/x.git"),
        ("ssh://git:pw@h/x", "ssh://git@h/x"),
        ("git@h:x/y.git", "git@h:x/y.git"),
        ("https://h", "https://h"),
    ] {
        assert_eq!(without_credentials(url), plain);
    }
}

#[test]
fn damaged_index_is_not_believed() {
    for bytes in [
        &b""[..],
        b"DIRC",
        b"DIRC\0\0\0\x02\xff\xff\xff\xff",
        &[0; 100],
    ] {
        assert!(Index::parse(bytes).is_none());
    }
}

#[test]
fn repository_of_another_kind_is_named_and_not_misread() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    for (option, not_read) in [
        (
            "--object-format=sha256",
            "its objects are not named by SHA-1",
        ),
        ("--ref-format=reftable", "its references are not in files"),
    ] {
        let folder = top.join(&option[2..6]);
        fs::create_dir(&folder).unwrap();
        if git(&folder, &["init", "-q", "-b", "main", option]).is_none() {
            runseal_testkit::skip::skip_even_in_ci(&format!("git has no {option}"));
            continue;
        }
        fs::write(folder.join("a"), "one\n").unwrap();
        git(&folder, &["add", "a"]).unwrap();
        git(&folder, &["commit", "-q", "-m", "first"]).unwrap();
        let found = read(&folder).unwrap();
        assert_eq!(found.not_read, Some(not_read));
        assert_eq!((found.state, found.untracked), (TreeState::Unknown, None));
    }
    let found = read(&top.join("obje"));
    if let Some(found) = found {
        assert_eq!(found.commit.map(|it| it.len()), Some(64));
    }
}
