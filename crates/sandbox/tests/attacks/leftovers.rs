//! Things left in the work folder to hurt whoever collects it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use runseal_sandbox::outputs::{self, Fault, Kind, OutputError};

use crate::arena::{arena, text};

#[test]
fn pipe_and_link_left_behind_are_named_and_never_opened() {
    let Some(arena) = arena() else { return };
    let secret = arena.outside_file("secret", "secret");
    let script = format!(
        "mkfifo pipe && ln -s {} link && echo good > file",
        secret.display()
    );
    let outcome = arena.shell(&script);
    assert!(outcome.success(), "{}", text(&outcome));
    // The attack works on a careless collector: the link leads outside.
    assert_eq!(
        fs::read_to_string(arena.work().join("link")).unwrap(),
        "secret"
    );

    let found: Vec<(String, Kind, Option<Fault>)> = outputs::list(arena.work(), 100)
        .unwrap()
        .into_iter()
        .map(|entry| {
            (
                entry.path.to_string_lossy().into_owned(),
                entry.kind,
                entry.fault,
            )
        })
        .collect();
    let expected = [
        ("file".to_owned(), Kind::File, None),
        ("link".to_owned(), Kind::Symlink, Some(Fault::NotAFile)),
        ("pipe".to_owned(), Kind::Fifo, Some(Fault::NotAFile)),
    ];
    assert_eq!(found, expected);
    for name in ["link", "pipe"] {
        let answer = outputs::read(arena.work(), OsStr::new(name), 100);
        assert!(
            matches!(answer, Err(OutputError::NotAFile { .. })),
            "{name}"
        );
    }
    assert_eq!(
        outputs::read(arena.work(), OsStr::new("file"), 100).unwrap(),
        b"good\n"
    );
}

#[test]
fn linked_folder_left_behind_is_not_entered() {
    let Some(arena) = arena() else { return };
    let secret = arena.outside_file("secret", "secret");
    let folder = secret.parent().unwrap();
    let outcome = arena.shell(&format!("ln -s {} folder", folder.display()));
    assert!(outcome.success(), "{}", text(&outcome));
    assert_eq!(
        fs::read_to_string(arena.work().join("folder/secret")).unwrap(),
        "secret"
    );
    let found = outputs::list(arena.work(), 100).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, Kind::Symlink);
    let answer = outputs::read(arena.work(), OsStr::new("folder/secret"), 100);
    assert!(matches!(answer, Err(OutputError::NotAFile { .. })));
}

#[test]
fn hostile_names_left_behind_are_named() {
    let Some(arena) = arena() else { return };
    let outcome = arena.shell(
        r#"printf x > "$(printf 'line\nbreak')"; printf x > "$(printf 'bell\007')"; \
           printf x > "$(printf 'bad\377utf8')"; printf x > 'back\slash'; printf x > 'plain'"#,
    );
    assert!(outcome.success(), "{}", text(&outcome));
    let found: Vec<(Vec<u8>, Option<Fault>)> = outputs::list(arena.work(), 100)
        .unwrap()
        .into_iter()
        .map(|entry| (entry.path.as_bytes().to_vec(), entry.fault))
        .collect();
    let expected: [(&[u8], Option<Fault>); 5] = [
        (b"back\\slash", Some(Fault::UnsafeName)),
        (b"bad\xffutf8", Some(Fault::NotUtf8)),
        (b"bell\x07", Some(Fault::UnsafeName)),
        (b"line\nbreak", Some(Fault::UnsafeName)),
        (b"plain", None),
    ];
    assert_eq!(found, expected.map(|(name, fault)| (name.to_vec(), fault)));
}

#[test]
fn endless_folders_left_behind_are_refused() {
    let Some(arena) = arena() else { return };
    let deep = "i=0; while [ $i -lt 200 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done";
    let outcome = arena.shell(deep);
    assert!(outcome.success(), "{}", text(&outcome));
    let answer = outputs::list(arena.work(), 10_000);
    assert!(matches!(answer, Err(OutputError::TooDeep { .. })));
}

#[test]
fn set_user_id_left_behind_is_gone() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Some(arena) = arena() else { return };
    let outcome = arena.shell("cp /bin/true tool && chmod 6755 tool && ls -l tool");
    assert!(outcome.success(), "{}", text(&outcome));
    let printed = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
    assert!(printed.starts_with("-rwsr-sr-x"), "{printed}");
    let tool = fs::metadata(arena.work().join("tool")).unwrap();
    assert_eq!(tool.permissions().mode() & 0o7777, 0o755);
    assert_eq!(tool.uid(), rustix::process::geteuid().as_raw());
}

#[test]
fn link_in_place_of_a_file_does_not_lead_the_collector_outside() {
    let Some(arena) = arena() else { return };
    let victim = arena.outside_file("victim", "before");
    fs::write(arena.work().join("file"), "given").unwrap();
    fs::create_dir(arena.work().join("folder")).unwrap();
    fs::write(arena.work().join("folder/victim"), "given").unwrap();
    let outside = victim.parent().unwrap().display().to_string();
    let script = format!(
        "rm -r file folder && ln -s {} file && ln -s {outside} folder",
        victim.display()
    );
    let outcome = arena.shell(&script);
    assert!(outcome.success(), "{}", text(&outcome));
    // A second command meets the links as its own, dangling.
    let outcome = arena
        .shell("echo evil > file; echo evil > folder/victim; rm file folder; echo good > file");
    assert!(outcome.success(), "{}", text(&outcome));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "before");
    assert_eq!(
        fs::read_to_string(arena.work().join("file")).unwrap(),
        "good\n"
    );
    assert!(!arena.work().join("folder").exists());
}
