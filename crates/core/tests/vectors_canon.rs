//! The project's own canonical JSON vectors: every folder below `vectors/canon`.

use std::fs;
use std::path::Path;

use runseal_core::canon::{CanonError, Dialect, ReadOptions, canonicalize, parse_document};
use runseal_testkit::{folders_in, project_root};

fn canon(text: &[u8], dialect: Dialect) -> Result<String, CanonError> {
    let mut bytes = Vec::new();
    canonicalize(text, dialect, &ReadOptions::TEXT, &mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn check_accepted(folder: &Path) {
    let text = fs::read(folder.join("input")).unwrap();
    for dialect in Dialect::ALL {
        let refused = folder.join(format!("{dialect}.refused"));
        let made = canon(&text, dialect);
        if refused.exists() {
            let Err(CanonError::NoForm(error)) = made else {
                panic!("{folder:?} {made:?}")
            };
            assert_eq!(
                error.kind.code(),
                fs::read_to_string(refused).unwrap().trim()
            );
            assert!(error.position.is_some());
        } else {
            let expected = fs::read_to_string(folder.join(dialect.name())).unwrap();
            assert_eq!(
                made.unwrap(),
                expected,
                "{} of {}",
                dialect,
                folder.display()
            );
        }
    }
}

#[test]
fn accepted_vectors_have_expected_bytes_in_every_dialect() {
    let folders = folders_in(&project_root().join("vectors/canon/accept"));
    assert!(folders.len() >= 25);
    folders.iter().for_each(|folder| check_accepted(folder));
}

#[test]
fn rejected_vectors_are_refused_with_code_and_place() {
    let folders = folders_in(&project_root().join("vectors/canon/reject"));
    assert!(folders.len() >= 50);
    for folder in folders {
        let text = fs::read(folder.join("input")).unwrap();
        let expected = fs::read_to_string(folder.join("error")).unwrap();
        let error = parse_document(&text, &ReadOptions::TEXT).unwrap_err();
        let place = error.position;
        let actual = format!("{} {}:{}", error.kind.code(), place.line, place.column);
        assert_eq!(actual, expected.trim(), "{}", folder.display());
    }
}
