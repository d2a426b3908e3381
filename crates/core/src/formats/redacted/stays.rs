//! What a format never withholds: ids, outcome, engine, hash algorithms.

use super::commit::{has_marker, read_marker};
use super::documents::{Redaction, find_value};
use crate::canon::Value;

/// Places of a run bundle that every copy shows.
const RUN_BUNDLE: [(&str, &[&str]); 3] = [
    (
        "RUN_META.json",
        &[
            "/run_id",
            "/engine_code",
            "/engine_version",
            "/sealed_at",
            "/canonicalization",
            "/hash_algo",
            "/core_orchestrator_version",
        ],
    ),
    (
        "RUN_OUTPUT.json",
        &[
            "/engine/engine_code",
            "/engine/engine_version",
            "/semantics",
        ],
    ),
    ("ENGINE_MANIFEST.json", &["/engine_code", "/engine_version"]),
];

/// The places that copies of a bundle of this format show.
pub fn staying(format: &str) -> &'static [(&'static str, &'static [&'static str])] {
    match format {
        "run-bundle" => &RUN_BUNDLE,
        _ => &[],
    }
}

/// Whether withholding `pointer` of the file at `path` (none: the whole file) would hide
/// something that stays: that something.
pub fn conflict(format: &str, path: &str, pointer: Option<&str>) -> Option<String> {
    let (file, places) = staying(format).iter().find(|(file, _)| *file == path)?;
    let hides = |place: &&&str| {
        let place: &str = place;
        let is_below = |above: &str, below: &str| {
            let rest = below.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        pointer.is_none_or(|pointer| is_below(pointer, place) || is_below(place, pointer))
    };
    let place = places.iter().find(hides)?;
    Some(format!("{file}#{place}"))
}

/// What should stay and is not shown, of a document that is.
pub(super) fn missing(redaction: &Redaction, path: &str, document: &Value) -> Vec<&'static str> {
    let places = staying(&redaction.format);
    let of_file = places.iter().find(|(file, _)| *file == path);
    let places = of_file.map_or(&[][..], |(_, places)| places);
    // What a place stands in may be withheld as a whole.
    let is_missing = |place: &&&str| {
        let ends = place
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([place.len()]);
        let mut above = ends.map(|end| find_value(document, &place[..end]));
        above.any(|value| value.is_some_and(|value| read_marker(value).is_some()))
            || find_value(document, place).is_some_and(has_marker)
    };
    places.iter().filter(is_missing).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_what_stays_or_what_holds_it_is_a_conflict() {
        for (path, pointer) in [
            ("RUN_META.json", None),
            ("RUN_META.json", Some("")),
            ("RUN_META.json", Some("/run_id")),
            ("RUN_OUTPUT.json", Some("/engine")),
            ("RUN_OUTPUT.json", Some("/semantics/x")),
        ] {
            assert!(
                conflict("run-bundle", path, pointer).is_some(),
                "{path} {pointer:?}"
            );
        }
        for (path, pointer) in [
            ("RUN_INPUT.json", None),
            ("RUN_META.json", Some("/run_id2")),
            ("RUN_OUTPUT.json", Some("/outputs")),
        ] {
            assert_eq!(conflict("run-bundle", path, pointer), None);
        }
    }
}
