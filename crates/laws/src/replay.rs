//! What a stranger's RUN_ENVIRONMENT.json can make a replay do.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use runseal_runs::record::ReplayPlan;

/// What every sandbox shows of the system; nothing else of a machine is looked at.
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

/// Only plain paths below the system's folders are looked at, each once; and what is put into the command's folder stays in
/// it and is in proportion to the document.
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
    // A name takes two bytes of the document or more.
    assert!(made.len() <= 1000 + 5 * bytes.len(), "{} made", made.len());
}
