//! Lists of sums: judged as `sha256sum -c --strict` judges them, but for what it reads outside of the folder.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::neighbour_support::{bench, verdict};
use runseal_core::digest::Digest;
use runseal_testkit::skip::need_program;

/// Lists, with whether sha256sum takes a list that we do not: it follows names and links out of the folder.
fn lists() -> Vec<(String, bool)> {
    let one = Digest::of(b"1").to_string();
    let two = Digest::of(b"2").to_string();
    let good = format!("{one}  a\n");
    let shouted = one.to_uppercase();
    let mut lists: Vec<(String, bool)> = [
        good.clone(),
        format!("{one} *a\n"),
        format!("{one}  a"),
        format!("{one}  a\r\n"),
        format!("{shouted}  a\n"),
        format!("   {one}  a\n"),
        format!("\t{one}  a\n"),
        format!("# {one}  b\n{good}"),
        format!("#\n\n\n{good}"),
        format!("SHA256 (a) = {one}\n"),
        format!("SHA256(a)= {one}\n"),
        format!("SHA256 (a)={one}\n"),
        format!("SHA256 (x (1)) = {one}\n"),
        format!("sha256 (a) = {one}\n"),
        format!("\\SHA256 (a) = {one}\n"),
        format!("\\{one}  a\n"),
        format!("{one}  sub/a b\n"),
        format!("{good}{good}"),
        String::new(),
        "\n".to_owned(),
        "# nothing\n".to_owned(),
        "hello\n".to_owned(),
        format!("{good}hello\n"),
        format!("{one} a\n"),
        format!("{one}\ta\n"),
        format!("{one}   a\n"),
        format!("{one}\n"),
        format!("{one}  \n"),
        format!("{}  a\n", &one[1..]),
        format!("{one}0  a\n"),
        format!("{}g  a\n", &one[1..]),
        format!("{two}  a\n"),
        format!("{good}{two}  a\n"),
        format!("{one}  missing\n"),
        format!("{one}  sub\n"),
        format!("\\{one}  a\\tb\n"),
        format!("\\{one}  a\\\n"),
        format!("\\{one}  missing\\n\n"),
        format!("SHA1 (a) = {}\n", &one[..40]),
        format!("SHA256 (a) {one}\n"),
        format!("SHA256 (a) = {}\n", &one[1..]),
        format!("SHA256 () = {one}\n"),
        format!("SHA256 (a = {one}\n"),
        format!("{good}\0\n"),
        format!("{one}  \u{e9}\n"),
        format!("\u{feff}{good}"),
    ]
    .into_iter()
    .map(|list| (list, false))
    .collect();
    for outside in [
        "../outside",
        "./../in/a",
        "sub/../a",
        "/dev/null/../../OUTSIDE",
        "link",
        "sub//a b",
        "sub/./a b",
    ] {
        lists.push((format!("{one}  {outside}\n"), true));
    }
    lists
}

#[test]
fn checksums_hostile_lists_have_the_verdict_of_sha256sum() {
    if !need_program("sha256sum") {
        return;
    }
    let (folder, bench) = bench();
    let place = folder.path().join("in");
    fs::create_dir_all(place.join("sub")).unwrap();
    for name in ["in/a", "in/sub/a b", "in/x (1)", "in/é", "outside"] {
        fs::write(folder.path().join(name), "1").unwrap();
    }
    symlink("a", place.join("link")).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (list, may_differ) in lists() {
        let outside = folder.path().join("outside");
        let list = list.replace("/dev/null/../../OUTSIDE", outside.to_str().unwrap());
        fs::write(place.join("SHA256SUMS"), &list).unwrap();
        let theirs = Command::new("sha256sum")
            .args(["-c", "--strict", "--status", "SHA256SUMS"])
            .current_dir(&place)
            .status()
            .unwrap()
            .success();
        let (code, rules) = verdict(&bench, &place, &[]);
        let (of_file, _) = verdict(&bench, &place.join("SHA256SUMS"), &[]);
        assert_eq!(code, of_file, "{list:?}: the list stands for its folder");
        let fits = match may_differ {
            true => code == 1,
            false => (code == 0) == theirs,
        };
        compared += 1;
        if !fits {
            wrong.push(format!("{list:?}: sha256sum {theirs}, we {code} {rules:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 45, "{compared}");
}

#[test]
fn checksums_name_that_is_not_utf_8_is_reported_as_that() {
    let (folder, bench) = bench();
    let place = folder.path().join("in");
    fs::create_dir(&place).unwrap();
    fs::write(place.join(OsStr::from_bytes(b"\xff")), "1").unwrap();
    let mut list = format!("{}  ", Digest::of(b"1")).into_bytes();
    list.extend(b"\xff\n");
    fs::write(place.join("SHA256SUMS"), list).unwrap();
    let ran = bench.run(&["verify", "in"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let told = "line 1 is not a sum and a name in UTF-8";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn checksums_beside_bundles_do_not_hide_them() {
    let (folder, bench) = bench();
    let bundle = crate::neighbour_support::vectors("run-bundle").join("rb5-artifact-changed/input");
    runseal_testkit::folders::copy_folder(&bundle, &folder.path().join("in/run"));
    fs::write(folder.path().join("in/a"), "1").unwrap();
    let list = format!("{}  a\n", Digest::of(b"1"));
    fs::write(folder.path().join("in/SHA256SUMS"), list).unwrap();
    let (code, rules) = verdict(&bench, &folder.path().join("in"), &[]);
    assert_eq!((code, rules), (1, vec!["RB5".to_owned()]));
    let packed = Command::new("tar")
        .args(["-cf", "in.tar", "in"])
        .current_dir(folder.path())
        .status();
    assert!(packed.unwrap().success());
    let (code, rules) = verdict(&bench, &folder.path().join("in.tar"), &[]);
    assert_eq!((code, rules), (1, vec!["RB5".to_owned()]));
}

#[test]
fn checksums_found_by_a_search_are_judged_and_those_in_bundles_are_not() {
    let (folder, bench) = bench();
    let place = folder.path().join("par");
    let bundle = crate::neighbour_support::vectors("run-bundle").join("ok-recorded/input");
    runseal_testkit::folders::copy_folder(&bundle, &place.join("run"));
    let bag = crate::neighbour_support::vectors("bag").join("ok-two-functions/input");
    runseal_testkit::folders::copy_folder(&bag, &place.join("bag"));
    // A list of its own in a bundle is not judged again: what lists it there is the bundle's seal.
    let pack = |name: &str| {
        let packed = Command::new("tar")
            .args(["-cf", name, "par"])
            .current_dir(folder.path())
            .status();
        assert!(packed.unwrap().success());
    };
    let count = |path: &str, code: i32, said: &str| {
        let ran = bench.run(&["verify", path]);
        assert_eq!(ran.code, Some(code), "{path}: {}", ran.stdout);
        assert!(ran.stdout.contains(said), "{path}: {}", ran.stdout);
    };
    pack("good.tar");
    for path in ["par", "good.tar"] {
        count(path, 0, "2 checked: 2 valid");
    }
    for name in ["list", "deep/below/list", "with-artifacts"] {
        fs::create_dir_all(place.join(name)).unwrap();
        fs::write(place.join(name).join("a"), "2").unwrap();
        let list = format!("{}  a\n", Digest::of(b"1"));
        fs::write(place.join(name).join("SHA256SUMS"), list).unwrap();
    }
    fs::create_dir(place.join("with-artifacts/artifacts")).unwrap();
    pack("bad.tar");
    for path in ["par", "bad.tar"] {
        count(path, 1, "5 checked: 2 valid, 3 invalid");
        count(path, 1, "CS4");
    }
    for name in ["list", "deep/below/list", "with-artifacts"] {
        fs::write(place.join(name).join("a"), "1").unwrap();
    }
    count("par", 0, "5 checked: 5 valid");
}

#[test]
fn checksums_are_said_to_be_unsealed_everywhere() {
    let (_folder, bench) = bench();
    let list = crate::neighbour_support::vectors("checksums").join("ok-list/input");
    let path = list.to_str().unwrap();
    let said = "not sealed";
    for arguments in [["verify", path], ["inspect", path]] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(said), "{}", ran.stdout);
    }
    assert_eq!(
        bench.run(&["report", path, "-o", "page.html"]).code,
        Some(0)
    );
    let page = bench.read("page.html");
    assert!(page.contains(said));
    assert!(page.contains("id=\"came-out\""), "the files are not shown");
    assert_eq!(
        page.matches("can change the list").count(),
        2,
        "said twice in one list"
    );
}
