//! Where a path lies: in the command's folder, among its inputs, on the machine, or where only the
//! sandbox or the kernel has something.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use runseal_core::path::SafePath;
use runseal_sandbox::{Isolation, View, ViewAccess, ViewPlace, is_system_place};

use super::AccessError;
use crate::record::beneath::RealFiles;

/// What the sandbox creates itself; it contains nothing of the machine.
const OF_THE_SANDBOX: [&str; 4] = [
    "/etc/group",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/passwd",
];

/// Files of the machine that the level `landlock` shows besides the system's folders, for whose content the sandbox has
/// nothing of its own.
const SMALL_FILES: [&str; 2] = ["/etc/ld.so.conf", "/etc/localtime"];

/// Which parts of the machine a run may read as inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// The command's folder.
    pub(crate) folder: &'a Path,
    /// The named inputs, as canonical paths of the host.
    pub(crate) inputs: &'a [PathBuf],
    /// The folder of bundles, if it did not exist when the command ran.
    pub(crate) out: Option<&'a Path>,
    /// What else of the host was visible to the command.
    pub(crate) view: &'a View,
    /// The folder and the inputs as they really are. Nothing else opens a path below them.
    pub(crate) real: &'a RealFiles,
    /// Whether a replay has nothing of its machine, and needs the system's folders from here.
    pub(crate) is_self_contained: bool,
}

/// Which of these places a path lies in.
#[derive(Debug, Clone, Copy)]
pub(super) enum InputPlace<'a> {
    /// Below the command's folder.
    Folder(&'a Path),
    /// Below the folder and named as an input.
    Named(&'a Path),
    /// An input outside the folder.
    Elsewhere { absolute: &'a Path, place: &'a Path },
}

impl<'a> InputPlace<'a> {
    pub(super) fn place(&self) -> &'a Path {
        match self {
            Self::Folder(path) | Self::Named(path) => path,
            Self::Elsewhere { place, .. } => place,
        }
    }
}

pub(super) fn input_of<'a>(path: &'a Path, places: Places<'_>) -> Option<InputPlace<'a>> {
    let named = places.inputs.iter().find(|input| path.starts_with(input));
    match (path.strip_prefix(places.folder).ok(), named) {
        (Some(relative), None) => Some(InputPlace::Folder(relative)),
        (Some(relative), Some(_)) => Some(InputPlace::Named(relative)),
        (None, Some(input)) => {
            // `/data/set/a.csv` of the input `/data/set` goes to `set/a.csv`.
            let above = input.parent().unwrap_or(Path::new("/"));
            let place = path.strip_prefix(above).unwrap_or(path);
            Some(InputPlace::Elsewhere {
                absolute: path,
                place,
            })
        }
        (None, None) => None,
    }
}

pub(super) fn is_private(path: &Path) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"]
        .iter()
        .any(|top| path.starts_with(top))
}

/// The shared memory of the library that fixes the clock.
pub(super) fn is_of_faketime(path: &Path) -> bool {
    let name = path.strip_prefix("/dev/shm").ok().and_then(Path::to_str);
    name.is_some_and(|name| name.starts_with("faketime_shm_") || name.starts_with("sem."))
}

pub(super) fn is_of_the_kernel(path: &Path) -> bool {
    ["/proc", "/sys"].iter().any(|top| path.starts_with(top))
}

/// Whether a path is a process's own descriptor. What has a name is known by it: what is left are pipes and
/// files without one, which the command made itself.
pub(super) fn is_descriptor(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().rev().take(2).collect();
    matches!(parts[..], [number, folder]
        if folder == "fd" && number.as_encoded_bytes().iter().all(u8::is_ascii_digit))
}

/// Whether a file outside the folder belongs to the machine and can be hashed.
pub(crate) fn is_of_the_machine(path: &Path) -> bool {
    let is_own = OF_THE_SANDBOX.iter().any(|own| path == Path::new(own));
    !is_own && !is_private(path) && !is_of_the_kernel(path) && !path.starts_with("/dev")
}

/// Whether a file outside the folder was shown to a command, so that it may be hashed. Whether opening it
/// succeeded is never seen, and the caller may read more than the command.
pub(crate) fn is_shown(path: &Path, isolation: Isolation, shown: &[PathBuf]) -> bool {
    let is_small = || SMALL_FILES.iter().any(|file| path == Path::new(file));
    let is_system = || isolation == Isolation::None || is_system_place(path) || is_small();
    shown.iter().any(|shown| path.starts_with(shown)) || (is_of_the_machine(path) && is_system())
}

/// Whether a command could read a file outside the folder that it was shown. Root's commands run as another
/// user, who may read what everybody may; of what is shown besides the system, also what `owner` may, the
/// owner of the command's folder, whose files look like that user's own.
pub(crate) fn could_be_read(
    path: &Path,
    isolation: Isolation,
    (shown, owner): (&[PathBuf], Option<u32>),
) -> bool {
    if isolation == Isolation::None || !rustix::process::geteuid().is_root() {
        return true;
    }
    // The way to what is shown is the sandbox's own, and so is the root.
    let top = shown.iter().find(|top| path.starts_with(top));
    let owner = owner.filter(|_| top.is_some());
    let is_shown = |folder: &&Path| match top {
        Some(top) => folder.starts_with(top),
        None => folder.parent().is_some(),
    };
    let may = |path: &Path, needed: u32| {
        fs::metadata(path).is_ok_and(|found| {
            let mode = found.mode();
            let owned = if Some(found.uid()) == owner {
                mode >> 6
            } else {
                0
            };
            (mode | owned) & needed == needed
        })
    };
    let mut above = path.ancestors().skip(1).take_while(is_shown);
    may(path, 0o4) && above.all(|folder| may(folder, 0o1))
}

/// Whether a file outside the folder was there for a recorded command. Whether opening it succeeded is never seen,
/// and the caller may read more than the command.
pub(crate) fn could_be_seen(path: &Path, isolation: Isolation, view: &View) -> bool {
    let is_kept_apart = is_of_the_kernel(path) || path.starts_with("/dev");
    if is_kept_apart {
        return false;
    }
    match isolation {
        Isolation::None => true,
        Isolation::Full | Isolation::Landlock => {
            view.shows(path) && may_read(path, place_of(path, view))
        }
    }
}

/// The place of a view that shows a path.
fn place_of<'a>(path: &Path, view: &'a View) -> Option<&'a ViewPlace> {
    let around = view.places.iter().filter(|it| path.starts_with(&it.inside));
    around.max_by_key(|it| it.inside.components().count())
}

/// Whether what a command writes at a path is thrown away, and not kept from it.
pub(super) fn is_layered(path: &Path, view: &View) -> bool {
    place_of(path, view).is_some_and(|place| place.access == ViewAccess::Layered)
}

/// Whether the command's user may read a file of the host. Root's commands run as another user, who may read
/// what everybody may; in the caller's own places also what their owner may, whose files look like that user's own.
fn may_read(path: &Path, place: Option<&ViewPlace>) -> bool {
    let place = place.filter(|place| place.is_own);
    let owner = place.and_then(|place| fs::metadata(place.sources.first()?).ok());
    let shown: Vec<PathBuf> = place.iter().map(|place| place.inside.clone()).collect();
    let owner = owner.map(|found| found.uid());
    could_be_read(path, Isolation::Full, (&shown, owner))
}

/// Devices that behave the same for everybody.
pub(super) fn is_harmless(path: &Path) -> bool {
    [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/tty",
        "/dev/ptmx",
    ]
    .iter()
    .any(|own| path == Path::new(own))
        || ["/proc", "/dev/pts"]
            .iter()
            .any(|top| path.starts_with(top))
}

pub(super) fn text_of(path: &Path) -> Result<&str, AccessError> {
    path.to_str().ok_or_else(|| AccessError::Name {
        shown: path
            .as_os_str()
            .as_encoded_bytes()
            .escape_ascii()
            .to_string(),
        reason: "it is not UTF-8".to_owned(),
    })
}

pub(super) fn safe_path(path: &Path) -> Result<SafePath, AccessError> {
    let text = text_of(path)?;
    SafePath::parse(text).map_err(|fault| AccessError::Name {
        shown: text.escape_debug().to_string(),
        reason: fault.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use runseal_testkit::skip::need_root;

    use super::*;

    #[test]
    fn descriptor_is_told_from_other_things_of_a_process() {
        assert!(is_descriptor(Path::new("/proc/self/fd/12")));
        for path in ["/proc/self/fd", "/proc/self/stat", "/proc/self/fd/x"] {
            assert!(!is_descriptor(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn file_of_the_machine_is_shown_only_where_the_level_shows_it() {
        let tools = [PathBuf::from("/home/me/.cargo/bin"), "/tmp/tools".into()];
        let shows = |path: &str, level| is_shown(Path::new(path), level, &tools);
        for path in ["/usr/bin/env", "/home/me/.cargo/bin/x", "/tmp/tools/y"] {
            assert!(shows(path, Isolation::Landlock), "{path}");
            assert!(shows(path, Isolation::Full), "{path}");
        }
        for path in [
            "/etc/shadow",
            "/home/me/.ssh/id",
            "/var/lib/x",
            "/usrlocal/x",
        ] {
            assert!(!shows(path, Isolation::Landlock), "{path}");
            assert!(!shows(path, Isolation::Full), "{path}");
            assert!(shows(path, Isolation::None), "{path}");
        }
        assert!(!shows("/tmp/other", Isolation::None));
    }

    #[test]
    fn file_that_only_root_may_read_is_not_one_that_the_command_could() {
        if !need_root() {
            return;
        }
        const OTHER: u32 = 2_000_000_001;
        let top = tempfile::tempdir().unwrap();
        let set = |name: &str, mode| {
            let rights = fs::Permissions::from_mode(mode);
            fs::set_permissions(top.path().join(name), rights).unwrap();
        };
        fs::create_dir(top.path().join("d")).unwrap();
        fs::write(top.path().join("d/file"), "x").unwrap();
        let file = top.path().join("d/file");
        let shown = [top.path().to_owned()];
        set("", 0o755);
        for (folder, mode, by_all, by_root) in [
            (0o755, 0o644, true, true),
            (0o755, 0o600, false, true),
            (0o755, 0o640, false, true),
            (0o700, 0o644, false, true),
            (0o755, 0o000, false, false),
        ] {
            set("d", folder);
            set("d/file", mode);
            let could = |owner| could_be_read(&file, Isolation::Full, (&shown, owner));
            assert_eq!(could(None), by_all, "{folder:o} {mode:o}");
            assert_eq!(could(Some(OTHER)), by_all, "{folder:o} {mode:o}");
            assert_eq!(could(Some(0)), by_root, "{folder:o} {mode:o}");
            // What is not shown besides the system is nobody's own.
            let of_system = could_be_read(&file, Isolation::Full, (&[], Some(0)));
            assert_eq!(of_system, by_all, "{folder:o} {mode:o}");
            assert!(could_be_read(&file, Isolation::None, (&[], None)));
        }
    }

    #[test]
    fn input_elsewhere_keeps_its_own_name_and_what_is_below_it() {
        let inputs = [PathBuf::from("/data/set"), PathBuf::from("/p/own.csv")];
        let places = Places {
            folder: Path::new("/p"),
            inputs: &inputs,
            out: None,
            view: &View::default(),
            real: &RealFiles::default(),
            is_self_contained: false,
        };
        let place = |path: &'static str| {
            let found = input_of(Path::new(path), places);
            found.map(|found| found.place().display().to_string())
        };
        assert_eq!(place("/data/set/a/b.csv").as_deref(), Some("set/a/b.csv"));
        assert_eq!(place("/p/own.csv").as_deref(), Some("own.csv"));
        assert_eq!(place("/p/lib/x.py").as_deref(), Some("lib/x.py"));
        assert_eq!(place("/data/settle"), None);
    }
}
