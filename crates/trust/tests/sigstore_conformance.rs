//! The bundles of sigstore-conformance: each must have the outcome in its folder's name.
//!
//! `SIGSTORE_CONFORMANCE` names the folder `test/assets/bundle-verify` of that repository; without
//! it the test is skipped and says so. It needs no network.
#![cfg(feature = "sigstore")]
use std::fs;
use std::path::Path;

use runseal_testkit::skip::skip_even_in_ci;
use runseal_trust::encoding::decode_armour;
use runseal_trust::sigstore::{
    Signed, SigstoreBundle, TrustedRoot, verify_certificate, verify_key,
};

const IDENTITY: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Judges one case as a user would: with its root, and its key or its identity and issuer.
fn judge(case: &Path, suite: &Path) -> Result<(), String> {
    let text = fs::read(case.join("bundle.sigstore.json")).unwrap();
    let text = String::from_utf8(text).map_err(|_| "no text".to_owned())?;
    let bundle = SigstoreBundle::parse(&text)?;
    let production = sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT;
    let root = read(&case.join("trusted_root.json"));
    let root = TrustedRoot::parse(root.as_deref().unwrap_or(production))
        .map_err(|error| error.to_string())?;
    let artifact = fs::read(case.join("artifact")).or_else(|_| fs::read(suite.join("a.txt")));
    let artifact = artifact.unwrap();
    let signed = Signed::Bytes(&artifact);
    if let Some(key) = read(&case.join("key.pub")) {
        let der = decode_armour(&key, "PUBLIC KEY").ok_or("no key")?;
        return verify_key(&bundle, signed, &der, &root).map_err(|error| error.to_string());
    }
    let found = verify_certificate(&bundle, signed, &root).map_err(|error| error.to_string())?;
    let identity = read(&case.join("identity"));
    let identity = identity.as_deref().map_or(IDENTITY, str::trim);
    let issuer = read(&case.join("issuer"));
    let issuer = issuer.as_deref().map_or(ISSUER, str::trim);
    if found.identity != identity || found.issuer != issuer {
        return Err(format!("signed by {} of {}", found.identity, found.issuer));
    }
    Ok(())
}

#[test]
fn bundles_have_the_outcome_in_their_name() {
    let Some(suite) = std::env::var_os("SIGSTORE_CONFORMANCE") else {
        skip_even_in_ci("SIGSTORE_CONFORMANCE is not set");
        return;
    };
    let suite = Path::new(&suite);
    let mut cases: Vec<_> = fs::read_dir(suite)
        .expect("SIGSTORE_CONFORMANCE names the folder bundle-verify")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert!(cases.len() >= 70, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let result = judge(case, suite);
        if result.is_err() != name.ends_with("_fail") {
            wrong.push(format!("{name}: {result:?}"));
        }
    }
    eprintln!("{} cases, {} wrong", cases.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
