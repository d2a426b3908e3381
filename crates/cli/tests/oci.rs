//! Evidence in registries and layouts: pushed, pulled, verified where it is, and read by others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use runseal_testkit::docker_registry::{DockerRegistry, free_port};
use runseal_testkit::odd_registry::{Manners, OddRegistry};
use runseal_testkit::skip::{need_program, skip};

use crate::oci_support::{ADA_BCRYPT, answer, assert_same, bench, log_in, ok, run_as_ada, seal};

/// Every place that a test can push to: a registry where one is installed, layouts always.
fn homes(registry: Option<&DockerRegistry>) -> Vec<String> {
    let mut homes = vec![
        "oci-layout:layout:v1".to_owned(),
        "oci-layout:layout.tar:v1".to_owned(),
    ];
    homes.extend(registry.map(|registry| format!("{}/team/run:v1", registry.host())));
    homes
}

#[test]
fn run_pushed_and_pulled_is_the_same_to_the_byte_and_has_one_digest_everywhere() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let registry = DockerRegistry::start();
    let mut digests = Vec::new();
    for (at, home) in homes(registry.as_ref()).iter().enumerate() {
        let pushed = answer(bench.run(&["push", "out/r1", home]));
        let digest = pushed["digest"].as_str().unwrap().to_owned();
        let pinned = format!("{home}@{digest}");
        assert_eq!(pushed["reference"], pinned);
        let target = format!("pulled{at}");
        let pulled = answer(bench.run(&["pull", home, "-o", &target]));
        assert_eq!(pulled["digest"].as_str(), Some(digest.as_str()));
        assert_eq!(pulled["attached"], serde_json::json!([]));
        assert_same(&bench.path("out/r1"), &bench.path(&target));
        let mode = fs::metadata(bench.path(&target).join("RUN_META.json")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o444);
        let scheme = match home.starts_with("oci-layout:") {
            true => home.clone(),
            false => format!("oci://{home}"),
        };
        let said = ok(bench.run(&["verify", &scheme, "--format", "json"]));
        assert!(said.contains(r#""ok":true"#), "{said}");
        let by_digest = format!("{scheme}@{digest}");
        ok(bench.run(&["verify", &by_digest]));
        ok(bench.run(&["inspect", &scheme]));
        ok(bench.run(&["report", &scheme, "-o", &format!("{target}.html")]));
        digests.push(digest);
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "{digests:?}");
    // What exists is never replaced.
    let again = bench.run(&["pull", "oci-layout:layout:v1", "-o", "pulled0"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("EXISTS"), "{}", again.stderr);
    let again = bench.run(&["push", "out/r1", "oci-layout:layout.tar:v2"]);
    assert_eq!(again.code, Some(2));
    // A layout is known without its scheme.
    for plain in ["layout", "layout.tar"] {
        ok(bench.run(&["verify", plain]));
    }
}

#[test]
fn run_pushed_from_another_folder_later_and_with_other_rights_has_the_same_digest() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let first = answer(bench.run(&["push", "out/r1", "oci-layout:one"]));
    let copied = Command::new("cp")
        .args(["-r", "out/r1", "elsewhere"])
        .current_dir(bench.path(""))
        .status();
    assert!(copied.unwrap().success());
    let file = bench.path("elsewhere/RUN_META.json");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let times = Command::new("find")
        .args(["elsewhere", "-exec", "touch", "-d", "2001-02-03", "{}", ";"])
        .current_dir(bench.path(""))
        .status();
    assert!(times.unwrap().success());
    let second = answer(bench.run(&["push", "elsewhere", "oci-layout:two"]));
    assert_eq!(first["digest"], second["digest"]);
    // So has the tar of a layout.
    ok(bench.run(&["push", "out/r1", "oci-layout:one.tar"]));
    ok(bench.run(&["push", "elsewhere", "oci-layout:two.tar"]));
    let read = |name: &str| fs::read(bench.path(name)).unwrap();
    assert_eq!(read("one.tar"), read("two.tar"));
    // Another run has another one.
    seal(&bench, "r2");
    let other = answer(bench.run(&["push", "out/r2", "oci-layout:one:other"]));
    assert_ne!(first["digest"], other["digest"]);
    ok(bench.run(&["verify", "oci-layout:one:other"]));
    ok(bench.run(&["verify", "oci-layout:one"]));
}

#[test]
fn single_file_pushed_and_pulled_is_that_file() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let packed = Command::new("tar")
        .args(["-C", "out", "-czf", "run.tar.gz", "r1"])
        .current_dir(bench.path(""))
        .status();
    assert!(packed.unwrap().success());
    ok(bench.run(&["push", "run.tar.gz", "oci-layout:layout:archive"]));
    ok(bench.run(&["verify", "oci-layout:layout:archive"]));
    ok(bench.run(&["pull", "oci-layout:layout:archive", "-o", "pulled"]));
    let read = |name: &str| fs::read(bench.path(name)).unwrap();
    assert_eq!(read("run.tar.gz"), read("pulled/run.tar.gz"));
}

#[test]
fn signatures_and_reports_travel_as_referrers_with_and_without_the_list() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    ok(bench.run(&["keygen", "-o", "key.pem", "--public"]));
    ok(bench.run(&["sign", "out/r1", "--key", "key.pem"]));
    ok(bench.run(&["sign", "out/r1", "--key", "key.pem", "--form", "sigstore"]));
    ok(bench.run(&["report", "out/r1", "-o", "report.html"]));
    let listing = OddRegistry::start(Manners {
        lists_referrers: true,
        ..Manners::default()
    });
    let tagging = DockerRegistry::start();
    let mut homes = homes(tagging.as_ref());
    homes.push(format!("{}/team/run:v1", listing.host()));
    for (at, home) in homes.iter().enumerate() {
        let arguments = ["push", "out/r1", home, "--report", "report.html"];
        ok(bench.run(&arguments));
        // A second time changes nothing.
        if !home.contains(".tar") {
            ok(bench.run(&arguments));
        }
        let scheme = match home.starts_with("oci-layout:") {
            true => home.clone(),
            false => format!("oci://{home}"),
        };
        let said = ok(bench.run(&["verify", &scheme, "--require-signed", "--format", "json"]));
        assert!(said.contains(r#""signed":"signed""#), "{home}: {said}");
        assert!(said.contains(r#""form":"sigstore""#), "{home}: {said}");
        let target = format!("pulled{at}");
        let pulled = answer(bench.run(&["pull", home, "-o", &target]));
        assert_eq!(pulled["attached"].as_array().unwrap().len(), 2, "{pulled}");
        let read = |name: &str| fs::read(bench.path(name)).unwrap();
        for ending in ["intoto.jsonl", "sigstore.json"] {
            let beside = format!("{target}.{ending}");
            assert_eq!(read(&beside), read(&format!("out/r1.{ending}")), "{home}");
        }
        // Anybody can attach a page, so none is taken along.
        let names = fs::read_dir(bench.path("")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages: Vec<String> = names.filter(|name| name.ends_with(".html")).collect();
        assert_eq!(pages, ["report.html"], "{home}");
        ok(bench.run(&["verify", &target, "--require-signed"]));
    }
    // The list that a client has to keep is there only where the registry keeps none.
    let tags = listing.manifests();
    assert!(
        !tags.iter().any(|tag| tag.starts_with("sha256-")),
        "{tags:?}"
    );
}

#[test]
fn tag_that_is_taken_stays_unless_the_push_says_what_it_names() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    seal(&bench, "r2");
    let registry = OddRegistry::start(Manners::default());
    let homes = [
        "oci-layout:layout:v1".to_owned(),
        format!("{}/team/run:v1", registry.host()),
    ];
    for home in &homes {
        let digest = |ran| answer(ran)["digest"].as_str().unwrap().to_owned();
        let first = digest(bench.run(&["push", "out/r1", home]));
        assert_eq!(digest(bench.run(&["push", "out/r1", home])), first);
        let stranger = format!("sha256:{}", "0".repeat(64));
        let attempts: [&[&str]; 2] = [&[], &["--move-tag", &stranger]];
        for more in attempts {
            let taken = bench.run(&[&["push", "out/r2", home][..], more].concat());
            assert_eq!(taken.code, Some(2), "{taken:?}");
            assert!(taken.stderr.contains("TAKEN"), "{taken:?}");
            assert!(taken.stderr.contains(&first), "{taken:?}");
        }
        let named = |target: &str| digest(bench.run(&["pull", home, "-o", target]));
        let target = |at: u32| format!("pulled{at}{}", home.len());
        assert_eq!(named(&target(1)), first);
        let second = digest(bench.run(&["push", "out/r2", home, "--move-tag", &first]));
        assert_ne!(second, first);
        assert_eq!(named(&target(2)), second);
    }
}

#[test]
fn signatures_missing_and_signatures_that_nobody_can_tell_of_are_two_answers() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let registry = OddRegistry::start(Manners::default());
    let reference = format!("{}/team/run:v1", registry.host());
    ok(bench.run(&["push", "out/r1", &reference]));
    let artifact = format!("oci://{reference}");
    let verify = ["verify", &artifact, "--format", "json"];
    let said = ok(bench.run(&verify));
    assert!(said.contains(r#""signed":"unsigned""#), "{said}");
    registry.behave(|manners| manners.referrers_fail = true);
    let said = ok(bench.run(&verify));
    assert!(said.contains(r#""signed":"cannot-tell""#), "{said}");
    let said = ok(bench.run(&["verify", &artifact]));
    assert!(said.contains("cannot tell whether it is signed"), "{said}");
    let demanded = bench.run(&["verify", &artifact, "--require-signed"]);
    assert_eq!(demanded.code, Some(1), "{}", demanded.stdout);
    assert!(
        demanded.stdout.contains("cannot tell"),
        "{}",
        demanded.stdout
    );
    let pulled = answer(bench.run(&["pull", &reference, "-o", "pulled"]));
    assert_eq!(pulled["attached"], "cannot-tell");
}

#[test]
fn artifacts_are_queued_worked_and_told_like_folders() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let registry = OddRegistry::start(Manners {
        basic: Some(crate::oci_support::ADA.to_owned()),
        ..Manners::default()
    });
    log_in(&bench, &registry.host(), crate::oci_support::ADA);
    let reference = format!("{}/team/run:v1", registry.host());
    ok(run_as_ada(&bench, &["push", "out/r1", &reference]));
    ok(bench.run(&["push", "out/r1", "oci-layout:layout:v1"]));
    ok(bench.run(&["job", "init", "--store", "jobs.db"]));
    let run =
        |arguments: &[&str]| run_as_ada(&bench, &[arguments, &["--store", "jobs.db"]].concat());
    let address = format!("oci://{reference}");
    let queued = ok(run(&[
        "queue",
        "verify",
        &address,
        "oci-layout:layout:v1",
        "layout",
    ]));
    assert_eq!(queued, "{\"again\":0,\"open\":0,\"queued\":3}\n");
    let worked = ok(run(&["work"]));
    assert!(worked.contains("\"good\":3"), "{worked}");
    let results = ok(run(&["queue", "results"]));
    assert_eq!(results.matches("verify valid").count(), 3, "{results}");
    assert!(results.contains(&address), "{results}");
    // What is there by the time that somebody looks is what counts.
    ok(run(&["queue", "verify", &address]));
    registry.behave(|manners| manners.blobs_are_changed = true);
    let worked = run(&["work"]);
    assert_eq!(worked.code, Some(1), "{worked:?}");
    let results = run(&["queue", "results", &address]);
    assert_eq!(results.code, Some(1), "{results:?}");
    assert!(results.stdout.contains("verify failed"), "{results:?}");
    assert!(
        results.stdout.contains("not what was requested"),
        "{results:?}"
    );
    crate::oci_support::assert_no_secret(&results);
}

#[test]
fn artifact_that_cannot_be_read_is_refused_when_it_is_queued() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let registry = OddRegistry::start(Manners {
        basic: Some(crate::oci_support::ADA.to_owned()),
        ..Manners::default()
    });
    let address = format!("oci://{}/team/run", registry.host());
    registry.plant("odd", b"{}");
    ok(bench.run(&["job", "init", "--store", "jobs.db"]));
    let nobody = format!("oci://127.0.0.1:{}/team/run:v1", free_port());
    let check = |exit: i32, code: &str, reference: &str| {
        for command in ["verify", "replay"] {
            let arguments = ["queue", command, "out/r1", reference, "--store", "jobs.db"];
            let refused = run_as_ada(&bench, &arguments);
            crate::oci_support::assert_refused(&refused, exit, code);
            assert!(refused.stderr.contains(reference), "{refused:?}");
        }
    };
    check(2, "UNREACHABLE", &nobody);
    check(2, "NO_CREDENTIALS", &format!("{address}:v1"));
    log_in(&bench, &registry.host(), "YWRhOndyb25n");
    check(2, "UNAUTHORIZED", &format!("{address}:v1"));
    log_in(&bench, &registry.host(), crate::oci_support::ADA);
    check(2, "NOT_FOUND", &format!("{address}:v1"));
    check(1, "MALFORMED", &format!("{address}:odd"));
    check(64, "REFERENCE", "oci://team/run");
    let status = ok(bench.run(&["queue", "status", "--store", "jobs.db"]));
    assert!(status.contains("0 of 0 tasks"), "{status}");
    // A layout is a path on this machine, and another machine may have it where this one has not.
    let queued = ok(bench.run(&[
        "queue",
        "verify",
        "oci-layout:elsewhere:v1",
        "--store",
        "jobs.db",
    ]));
    assert!(queued.contains("\"queued\":1"), "{queued}");
}

#[test]
fn evidence_that_does_not_verify_is_not_pushed_and_leaves_no_tag() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let file = bench.path("out/r1/RUN_OUTPUT.json");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(&file, "{}").unwrap();
    let refused = bench.run(&["push", "out/r1", "oci-layout:layout"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("NOT_VALID"), "{}", refused.stderr);
    assert!(!bench.path("layout").exists());
    seal(&bench, "r2");
    seal(&bench, "r3");
    fs::remove_dir_all(bench.path("out/r1")).unwrap();
    let refused = bench.run(&["push", "out", "oci-layout:layout"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    for part in ["contains 2 units", "push each of them separately"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    bench.write("no-evidence/x", "y");
    let refused = bench.run(&["push", "no-evidence", "oci-layout:layout"]);
    // Nothing was found to be wrong: there is nothing.
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn registry_with_a_password_is_used_through_dockers_file_and_helper() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let Some(registry) = DockerRegistry::start_with_password("ada", ADA_BCRYPT) else {
        return;
    };
    let reference = format!("{}/team/run:v1", registry.host());
    let refused = bench.run(&["push", "out/r1", &reference]);
    crate::oci_support::assert_refused(&refused, 2, "NO_CREDENTIALS");
    log_in(&bench, &registry.host(), "YWRhOndyb25n");
    let refused = run_as_ada(&bench, &["push", "out/r1", &reference]);
    crate::oci_support::assert_refused(&refused, 2, "UNAUTHORIZED");
    log_in(&bench, &registry.host(), crate::oci_support::ADA);
    ok(run_as_ada(&bench, &["push", "out/r1", &reference]));
    ok(run_as_ada(
        &bench,
        &["verify", &format!("oci://{reference}")],
    ));
    // The same from a helper, which is asked by the host's name.
    let answer = format!(
        "#!/bin/sh\nread host; [ \"$host\" = {} ] || exit 1\n\
         echo '{{\"Username\":\"ada\",\"Secret\":\"{}\"}}'\n",
        registry.host(),
        crate::oci_support::PASSWORD
    );
    let helper = bench.write("bin/docker-credential-test", answer);
    fs::set_permissions(&helper, PermissionsExt::from_mode(0o755)).unwrap();
    bench.write("docker/config.json", r#"{"credsStore":"test"}"#);
    let mut command = bench.command(&["pull", &reference, "-o", "pulled"]);
    let path = format!("{}:/usr/bin:/bin", bench.path("bin").display());
    command
        .env("DOCKER_CONFIG", bench.path("docker"))
        .env("PATH", path);
    ok(command.output().unwrap().into());
}

#[test]
fn artifact_is_inspected_and_copied_by_skopeo_and_stays_the_same() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let Some(registry) = DockerRegistry::start() else {
        return;
    };
    if !need_program("skopeo") {
        return;
    }
    let reference = format!("{}/team/run:v1", registry.host());
    let pushed = answer(bench.run(&["push", "out/r1", &reference]));
    let skopeo = |arguments: &[&str]| {
        let ran = Command::new("skopeo")
            .args(arguments)
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{arguments:?}: {said}");
        ran.stdout
    };
    let source = format!("docker://{reference}");
    let raw = skopeo(&["inspect", "--tls-verify=false", "--raw", &source]);
    let digest = runseal_core::digest::ContentHash::of(&raw).to_string();
    assert_eq!(pushed["digest"], digest);
    // Into a layout of skopeo's, which is read; and out of one of ours.
    skopeo(&["copy", "--src-tls-verify=false", &source, "oci:copied:v1"]);
    let pulled = answer(bench.run(&["pull", "oci-layout:copied:v1", "-o", "pulled"]));
    assert_eq!(pulled["digest"], digest);
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    skopeo(&[
        "copy",
        "--src-tls-verify=false",
        &source,
        "oci-archive:copied.tar:v1",
    ]);
    ok(bench.run(&["verify", "copied.tar"]));
    ok(bench.run(&["push", "out/r1", "oci-layout:ours:v1"]));
    let other = format!("docker://{}/team/other:v1", registry.host());
    skopeo(&["copy", "--dest-tls-verify=false", "oci:ours:v1", &other]);
    let said = format!("oci://{}/team/other:v1@{digest}", registry.host());
    ok(bench.run(&["verify", &said]));
}

#[test]
fn artifact_is_pulled_by_oras_and_its_tar_is_the_run() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let Some(registry) = DockerRegistry::start() else {
        return;
    };
    let python = runseal_testkit::project_root().join("target/oci-tools/venv/bin/python");
    if !python.exists() {
        skip("oras is missing; .ci/servers installs it");
        return;
    }
    let reference = format!("{}/team/run:v1", registry.host());
    ok(bench.run(&["push", "out/r1", &reference]));
    let program = "import sys, oras.client\n\
                   client = oras.client.OrasClient(insecure=True)\n\
                   files = client.pull(target=sys.argv[1], outdir='oras')\n\
                   print(files)\n";
    let ran = Command::new(python)
        .args(["-c", program, &reference])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    ok(bench.run(&["verify", "oras/run.tar"]));
    fs::create_dir(bench.path("unpacked")).unwrap();
    let unpacked = Command::new("tar")
        .args(["-xf", "oras/run.tar", "-C", "unpacked"])
        .current_dir(bench.path(""))
        .status();
    assert!(unpacked.unwrap().success());
    assert_same(&bench.path("out/r1"), &bench.path("unpacked"));
}

#[test]
fn image_of_a_static_program_is_the_same_twice_and_known_to_skopeo() {
    let (_folder, bench) = bench();
    let build = Command::new("cc")
        .args(["-static", "-x", "c", "-", "-o", "hello"])
        .current_dir(bench.path(""))
        .stdin(fs::File::open(bench.write("hello.c", "int main(void) { return 0; }\n")).unwrap())
        .status();
    assert!(build.unwrap().success());
    let first = answer(bench.run(&["push", "--image", "hello", "oci-layout:image:v1"]));
    let second = answer(bench.run(&["push", "--image", "hello", "oci-layout:again:v1"]));
    assert_eq!(first["digest"], second["digest"]);
    let refused = bench.run(&["push", "--image", "hello.c", "oci-layout:no:v1"]);
    assert_eq!(refused.code, Some(2));
    if !need_program("skopeo") {
        return;
    }
    let ran = Command::new("skopeo")
        .args(["inspect", "--config", "oci:image:v1"])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let config: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(
        config["config"]["Entrypoint"],
        serde_json::json!(["/hello"])
    );
    assert_eq!(config["os"], "linux");
}

#[test]
fn replay_of_an_artifact_does_the_run_again() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    ok(bench.run(&["push", "out/r1", "oci-layout:layout:v1"]));
    let engine = runseal_testkit::project_root().join("examples/engines/resonance-sweep");
    let engine = engine.canonicalize().unwrap().to_str().unwrap().to_owned();
    let here = bench.run(&["replay", "out/r1", "--engine", &engine]);
    let there = bench.run(&["replay", "oci-layout:layout:v1", "--engine", &engine]);
    assert_eq!(here.code, there.code, "{}{}", there.stdout, there.stderr);
}

#[test]
fn push_and_pull_name_what_is_wrong_and_where() {
    let (_folder, bench) = bench();
    bench.write("text.json", "no JSON");
    fs::create_dir(bench.path("empty")).unwrap();
    for (arguments, code, told) in [
        (
            ["push", "nope", "oci-layout:layout"],
            2,
            "NOT_FOUND: `nope` does not exist\n",
        ),
        (
            ["push", "text.json", "oci-layout:layout"],
            1,
            "NOT_VALID: it does not verify: a rule is broken, so it was not pushed: text.json\n",
        ),
        (
            ["push", "empty", "oci-layout:layout"],
            2,
            "NOT_VALID: it does not verify: nothing to verify was found",
        ),
        (
            ["pull", "oci-layout:nope", "-o=x"],
            2,
            "NOT_FOUND: `nope` is not an OCI layout: no folder with `oci-layout` and `index.json` in it: ",
        ),
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.starts_with(told), "{arguments:?}: {ran:?}");
    }
}
