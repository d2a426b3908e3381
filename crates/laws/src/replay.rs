//! The laws of what a RUN_ENVIRONMENT.json from outside can make a replay do.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use runseal_runs::record::ReplayPlan;

/// The folders and files of the system that every sandbox shows; a replay looks at nothing else.
const SYSTEM: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
];

/// A replay only looks at plain paths below the system's folders, and at each once. What it puts into the command's
/// folder stays in there and is in proportion to the document.
pub fn check_replay(bytes: &[u8]) {
    let Some(plan) = ReplayPlan::of(bytes) else {
        return;
    };
    let is_plain = |path: &Path| {
        let mut parts = path.components();
        parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
    };
    for path in &plan.looked_at {
        let is_system = SYSTEM.iter().any(|place| path.starts_with(place));
        assert!(is_system && is_plain(path), "{}", path.display());
    }
    let distinct: BTreeSet<_> = plan.looked_at.iter().collect();
    assert_eq!(distinct.len(), plan.looked_at.len());
    let mut made = BTreeSet::new();
    for name in &plan.placed {
        let path = Path::new(name);
        assert!(path.is_relative() && is_plain(path), "{name}");
        made.extend(path.ancestors().filter(|path| *path != Path::new("")));
    }
    // A name takes at least two bytes of the document.
    assert!(made.len() <= 1000 + 5 * bytes.len(), "{} made", made.len());
}
