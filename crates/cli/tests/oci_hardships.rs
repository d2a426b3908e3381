//! Registries that misbehave, and the ways there: every one a clear error, nothing half-visible, no
//! secret told to anybody.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::Bench;
use runseal_testkit::docker_registry::free_port;
use runseal_testkit::odd_registry::{Manners, OddRegistry};

use crate::oci_support::{
    ADA, answer, assert_no_secret, assert_refused, assert_same, bench, give_large, left_over,
    log_in, ok, run_as_ada, seal,
};

fn odd(manners: Manners) -> (OddRegistry, String) {
    let registry = OddRegistry::start(manners);
    let reference = format!("{}/team/run:v1", registry.host());
    (registry, reference)
}

#[test]
fn registry_with_tokens_is_asked_once_and_again_when_they_expire() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let (registry, reference) = odd(Manners {
        bearer: Some(ADA.to_owned()),
        token_uses: Some(3),
        ..Manners::default()
    });
    log_in(&bench, &registry.host(), ADA);
    ok(run_as_ada(&bench, &["push", "out/r1", &reference]));
    ok(run_as_ada(&bench, &["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    let tokens = registry.requests();
    let tokens = tokens.iter().filter(|request| request.contains("/token"));
    assert!(tokens.count() > 2);
    // A token that is never good for anything does not cause an endless loop.
    registry.behave(|manners| manners.token_uses = Some(0));
    let refused = run_as_ada(&bench, &["pull", &reference, "-o", "never"]);
    assert_refused(&refused, 2, "UNAUTHORIZED");
    // A wrong password is reported as one, and an answer that repeats it is not shown.
    registry.behave(|manners| manners.repeats_secrets = true);
    log_in(&bench, &registry.host(), "YWRhOndyb25n");
    let refused = run_as_ada(&bench, &["pull", &reference, "-o", "never"]);
    assert_refused(&refused, 2, "UNAUTHORIZED");
    assert!(
        !refused.stderr.contains("YWRhOndyb25n"),
        "{}",
        refused.stderr
    );
}

#[test]
fn password_is_not_sent_to_a_foreign_host_that_gives_out_tokens() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let foreign = OddRegistry::start(Manners {
        bearer: Some(String::new()),
        ..Manners::default()
    });
    // Another name of the same machine is another host.
    let port = foreign.host().split(':').nth(1).unwrap().to_owned();
    let (registry, reference) = odd(Manners {
        bearer: Some(ADA.to_owned()),
        token_host: Some(format!("localhost:{port}")),
        ..Manners::default()
    });
    log_in(&bench, &registry.host(), ADA);
    let refused = run_as_ada(&bench, &["push", "out/r1", &reference]);
    assert_refused(&refused, 2, "FOREIGN_TOKENS");
    assert_eq!(foreign.requests(), Vec::<String>::new());
    assert!(registry.manifests().is_empty());
}

#[test]
fn uploads_and_blobs_on_a_foreign_host_go_there_without_credentials() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let foreign = OddRegistry::start(Manners::default());
    let (registry, reference) = odd(Manners {
        basic: Some(ADA.to_owned()),
        upload_host: Some(foreign.host()),
        blob_host: Some(foreign.host()),
        ..Manners::default()
    });
    log_in(&bench, &registry.host(), ADA);
    ok(run_as_ada(&bench, &["push", "out/r1", &reference]));
    ok(run_as_ada(&bench, &["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    let requests = foreign.requests();
    assert!(requests.iter().any(|request| request.starts_with("PUT")));
    assert!(requests.iter().any(|request| request.starts_with("GET")));
    let told = requests
        .iter()
        .filter(|request| request.contains("credentials"));
    assert_eq!(told.count(), 0, "{requests:?}");
}

#[test]
fn blobs_that_lie_are_refused_and_nothing_stays() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let (registry, reference) = odd(Manners::default());
    ok(bench.run(&["push", "out/r1", &reference]));
    let artifact = format!("oci://{reference}");
    registry.behave(|manners| manners.blobs_are_changed = true);
    let refused = bench.run(&["pull", &reference, "-o", "pulled"]);
    assert_refused(&refused, 1, "CORRUPT");
    let refused = bench.run(&["verify", &artifact]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(
        refused.stdout.contains("not what was requested"),
        "{}",
        refused.stdout
    );
    // Cut off again and again, with what came before kept: it gets there in the end.
    registry.behave(|manners| {
        manners.blobs_are_changed = false;
        manners.blobs_end_at = Some(3_000);
    });
    ok(bench.run(&["verify", &artifact]));
    registry.behave(|manners| manners.blobs_end_at = Some(0));
    let refused = bench.run(&["pull", &reference, "-o", "pulled"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_eq!(left_over(&bench), Vec::<String>::new());
}

#[test]
fn upload_is_not_taken_up_at_an_address_that_others_could_write_down() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let (other, reference) = odd(Manners::default());
    ok(bench.run(&["push", "out/r1", &reference]));
    let manifest: serde_json::Value =
        serde_json::from_slice(&other.manifest("v1").unwrap()).unwrap();
    let (registry, reference) = odd(Manners::default());
    let note = serde_json::json!({
        "blob": manifest["layers"][0]["digest"],
        "location": format!("http://{}/elsewhere", other.host()),
        "repository": reference.replace(":v1", ""),
    });
    bench.write("out/.runseal-upload-r1.json", note.to_string());
    let path = bench.path("out/.runseal-upload-r1.json");
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    ok(bench.run(&["push", "out/r1", &reference]));
    let asked = other.requests();
    assert!(
        !asked.iter().any(|asked| asked.contains("/elsewhere")),
        "{asked:?}"
    );
    assert!(registry.manifest("v1").is_some());
}

#[test]
fn manifest_that_lies_about_a_size_is_refused_in_both_directions() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let (registry, reference) = odd(Manners::default());
    ok(bench.run(&["push", "out/r1", &reference]));
    let manifest = String::from_utf8(registry.manifest("v1").unwrap()).unwrap();
    let document: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let size = document["layers"][0]["size"].as_u64().unwrap();
    for lie in [size - 512, size + 512, u64::MAX] {
        let lying = manifest.replace(&format!("\"size\":{size}"), &format!("\"size\":{lie}"));
        assert_ne!(lying, manifest);
        registry.plant("lie", lying.as_bytes());
        let lie = reference.replace(":v1", ":lie");
        let refused = bench.run(&["pull", &lie, "-o", "pulled"]);
        assert_refused(&refused, 1, "CORRUPT");
        let refused = bench.run(&["verify", &format!("oci://{lie}")]);
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    }
    // Another manifest under the same tag is not the one that was pinned.
    let digest = "sha256:".to_owned() + &"0".repeat(64);
    registry.plant(&digest, manifest.as_bytes());
    let refused = bench.run(&["pull", &format!("{reference}@{digest}"), "-o", "pulled"]);
    assert_refused(&refused, 1, "CORRUPT");
    for other in ["{}", "[]", "not json", r#"{"manifests":[]}"#] {
        registry.plant("odd", other.as_bytes());
        let odd = reference.replace(":v1", ":odd");
        let refused = bench.run(&["pull", &odd, "-o", "pulled"]);
        assert_refused(&refused, 1, "MALFORMED");
    }
    // The same layer twice is one tar behind another: some readers would see one, some both.
    let layer = document["layers"][0].to_string();
    let twice = manifest.replace(&layer, &format!("{layer},{layer}"));
    assert_ne!(twice, manifest);
    registry.plant("twice", twice.as_bytes());
    let twice = reference.replace(":v1", ":twice");
    let refused = bench.run(&["pull", &twice, "-o", "pulled"]);
    assert_refused(&refused, 1, "MALFORMED");
    let refused = bench.run(&["verify", &format!("oci://{twice}")]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert_eq!(left_over(&bench), Vec::<String>::new());
}

#[test]
fn layout_with_a_link_or_a_wrong_size_is_refused() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    ok(bench.run(&["push", "out/r1", "oci-layout:layout:v1"]));
    let index = fs::read_to_string(bench.path("layout/index.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&index).unwrap();
    let size = document["manifests"][0]["size"].as_u64().unwrap();
    let lying = index.replace(
        &format!("\"size\":{size}"),
        &format!("\"size\":{}", size + 1),
    );
    assert_ne!(lying, index);
    fs::write(bench.path("layout/index.json"), lying).unwrap();
    let refused = bench.run(&["pull", "oci-layout:layout:v1", "-o", "pulled"]);
    assert_refused(&refused, 1, "CORRUPT");
    fs::write(bench.path("layout/index.json"), &index).unwrap();
    let digest = document["manifests"][0]["digest"].as_str().unwrap();
    let manifest = format!("layout/blobs/sha256/{}", &digest["sha256:".len()..]);
    let text = fs::read_to_string(bench.path(&manifest)).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let layer = parsed["layers"][0]["digest"].as_str().unwrap();
    let layer = format!("layout/blobs/sha256/{}", &layer["sha256:".len()..]);
    for blob in [manifest, layer] {
        fs::rename(bench.path(&blob), bench.path("elsewhere")).unwrap();
        std::os::unix::fs::symlink(bench.path("elsewhere"), bench.path(&blob)).unwrap();
        let refused = bench.run(&["pull", "oci-layout:layout:v1", "-o", "pulled"]);
        assert_refused(&refused, 1, "MALFORMED");
        assert!(refused.stderr.contains("link"), "{}", refused.stderr);
        fs::remove_file(bench.path(&blob)).unwrap();
        fs::rename(bench.path("elsewhere"), bench.path(&blob)).unwrap();
    }
    ok(bench.run(&["pull", "oci-layout:layout:v1", "-o", "pulled"]));
}

#[test]
fn reference_with_a_password_is_refused_without_showing_it() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    for reference in [
        "me:t0ken@host.example/a/b",
        "oci://me:t0/ken@host.example/a:v1",
    ] {
        for command in [&["push", "out/r1", reference][..], &["pull", reference]] {
            let refused = bench.run(command);
            assert_refused(&refused, 64, "REFERENCE");
            assert!(!refused.stderr.contains("t0/ken"), "{}", refused.stderr);
        }
    }
}

#[test]
fn upload_cut_off_in_the_middle_goes_on_from_what_arrived() {
    let (_folder, bench) = bench();
    give_large(&bench, "large.bin", 70 << 20);
    seal(&bench, "r1");
    let (registry, reference) = odd(Manners {
        breaks_off: Some((5 << 20, 3)),
        least_piece: Some(40 << 20),
        busy_for: 2,
        ..Manners::default()
    });
    ok(bench.run(&["push", "out/r1", &reference]));
    ok(bench.run(&["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    let requests = registry.requests();
    let begun = requests
        .iter()
        .filter(|request| request.starts_with("POST"));
    // One upload for each blob: the interrupted one was never begun again.
    assert_eq!(begun.count(), 2, "{requests:?}");
    assert_eq!(left_over(&bench), ["pulled"]);
}

/// Pushes `out/r1`, and kills that once so many bytes of its next piece have arrived.
fn kill_in_a_piece(bench: &Bench, registry: &OddRegistry, bytes: usize) {
    let reference = format!("{}/team/run:v1", registry.host());
    let before = registry.unfinished();
    registry.behave(|manners| manners.breaks_off = Some((bytes, 1)));
    let mut push = bench.command(&["push", "out/r1", &reference]);
    let mut push = push
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while registry.unfinished() < before + bytes {
        assert!(push.try_wait().unwrap().is_none(), "it ended first");
        thread::sleep(Duration::from_millis(2));
    }
    push.kill().unwrap();
    assert_eq!(push.wait().unwrap().signal(), Some(9));
    assert_eq!(registry.unfinished(), before + bytes);
}

#[test]
fn push_killed_after_the_first_byte_begins_the_upload_again() {
    let (_folder, bench) = bench();
    give_large(&bench, "large.bin", 40 << 20);
    seal(&bench, "r1");
    let (registry, reference) = odd(Manners {
        stalls: true,
        ..Manners::default()
    });
    // A registry answers `0-0` for one byte as for none, and then takes no other first byte.
    kill_in_a_piece(&bench, &registry, 1);
    ok(bench.run(&["push", "out/r1", &reference]));
    ok(bench.run(&["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
}

#[test]
fn push_killed_five_times_within_a_piece_goes_on_from_what_arrived() {
    let (_folder, bench) = bench();
    give_large(&bench, "large.bin", 70 << 20);
    seal(&bench, "r1");
    let (registry, reference) = odd(Manners {
        stalls: true,
        ..Manners::default()
    });
    for at in [5 << 20, 31 << 20, 100, 9 << 20, 1] {
        kill_in_a_piece(&bench, &registry, at);
        assert_eq!(registry.manifests(), Vec::<String>::new());
        let note = fs::metadata(bench.path("out/.runseal-upload-r1.json")).unwrap();
        assert_eq!(note.permissions().mode() & 0o777, 0o600);
    }
    let pushed = answer(bench.run(&["push", "out/r1", &reference]));
    let whole = answer(bench.run(&["push", "out/r1", "oci-layout:layout:v1"]));
    assert_eq!(pushed["digest"], whole["digest"]);
    let requests = registry.requests();
    let begun = requests
        .iter()
        .filter(|request| request.starts_with("POST"));
    // One upload for each blob: the interrupted one was never begun again.
    assert_eq!(begun.count(), 2, "{requests:?}");
    ok(bench.run(&["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    assert_eq!(left_over(&bench), ["layout", "pulled"]);
    assert!(!bench.path("out/.runseal-upload-r1.json").exists());
}

#[test]
fn registry_that_is_missing_or_unknown_is_reported_and_leaves_nothing() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    let nobody = format!("127.0.0.1:{}/run:v1", free_port());
    let refused = bench.run(&["push", "out/r1", &nobody]);
    assert_refused(&refused, 2, "UNREACHABLE");
    let refused = bench.run(&["verify", &format!("oci://{nobody}")]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    for (reference, exit, code) in [
        ("run:v1", 64, "REFERENCE"),
        ("team/run", 64, "REFERENCE"),
        ("127.0.0.1:1/Run", 64, "REFERENCE"),
        ("127.0.0.1:1/run@sha256:12", 64, "REFERENCE"),
        ("oci-layout:missing", 2, "NOT_FOUND"),
    ] {
        let refused = bench.run(&["pull", reference]);
        assert_refused(&refused, exit, code);
    }
    let (_registry, reference) = odd(Manners::default());
    assert_refused(&bench.run(&["pull", &reference]), 2, "NOT_FOUND");
    assert_eq!(left_over(&bench), Vec::<String>::new());
}

#[test]
fn plain_http_to_another_machine_needs_to_be_asked_for() {
    let (_folder, bench) = bench();
    seal(&bench, "r1");
    // 192.0.2.0/24 is nobody's; what matters is which protocol would have been spoken.
    let (registry, _) = odd(Manners::default());
    let port = registry.host().split(':').nth(1).unwrap().to_owned();
    let named = format!("localhost.localdomain:{port}/run:v1");
    let refused = bench.run(&["push", "out/r1", &named]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_no_secret(&refused);
    assert!(registry.manifests().is_empty());
}
