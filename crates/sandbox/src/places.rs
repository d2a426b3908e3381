//! Which paths a command may be given: where its own folder, inputs and mounts may lie, and which
//! places the sandbox keeps to itself.

use std::path::{Component, Path};

use crate::error::SpecError;
use crate::spec::{INSIDE_HOME, INSIDE_TMP, INSIDE_WORK};

/// Whether a folder can be layered at its own place: not where the sandbox has things of its
/// own, nor anything that holds such a place.
///
/// # Errors
/// [`SpecError::Place`] says why not.
pub fn check_own_place(path: &Path) -> Result<(), SpecError> {
    check_shown(path)?;
    if SYSTEM_PLACES.iter().any(|place| path.starts_with(place)) {
        return Err(refused_place(
            path,
            "system folders are shown as they are, read-only",
        ));
    }
    if path.starts_with("/etc") {
        return Err(refused_place(path, "the sandbox has an /etc of its own"));
    }
    Ok(())
}

/// Whether something can be shown, read-only, at its own place.
pub(crate) fn check_shown(path: &Path) -> Result<(), SpecError> {
    check_host_path(path)?;
    check_inside_path(path)?;
    let reason = if path == Path::new("/") {
        "it is the whole file system"
    } else if ["/proc", "/sys", "/dev"]
        .iter()
        .any(|place| path.starts_with(place))
    {
        "the kernel's own file systems are not shown"
    } else if path == Path::new("/etc") {
        "the sandbox has an /etc of its own"
    } else if [INSIDE_TMP, INSIDE_HOME]
        .iter()
        .any(|place| path == Path::new(place))
    {
        "the command gets a private one, use something below it"
    } else {
        return Ok(());
    };
    Err(refused_place(path, reason))
}

fn refused_place(path: &Path, reason: &'static str) -> SpecError {
    SpecError::Place {
        path: path.to_owned(),
        reason,
    }
}

/// What every sandbox shows of the system, read-only.
pub(crate) const SYSTEM: [&str; 11] = [
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

/// Whether a plain absolute path lies in what every sandbox shows of the system.
pub fn is_system_place(path: &Path) -> bool {
    SYSTEM.iter().any(|place| path.starts_with(place))
}

/// Folders of the system that nothing else can be put into.
pub(crate) const SYSTEM_PLACES: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

pub(crate) fn check_host_path(path: &Path) -> Result<(), SpecError> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(SpecError::Nul {
            what: "a host path",
        });
    }
    if path.is_absolute() {
        Ok(())
    } else {
        Err(SpecError::HostPath {
            path: path.to_owned(),
        })
    }
}

pub(crate) fn check_inside_path(path: &Path) -> Result<(), SpecError> {
    let plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && plain && !path.as_os_str().as_encoded_bytes().contains(&0) {
        Ok(())
    } else {
        Err(SpecError::InsidePath {
            path: path.to_owned(),
        })
    }
}

/// Mount points may not lie where the sandbox has its own mounts: below the work folder they
/// would leave files on the host, elsewhere they could hide what the sandbox put there.
pub(crate) fn check_mount_point(path: &Path) -> Result<(), SpecError> {
    check_inside_path(path)?;
    let reserved = [INSIDE_WORK, INSIDE_TMP, "/proc", "/dev", "/etc", "/usr"];
    if path == Path::new("/") || reserved.iter().any(|place| path.starts_with(place)) {
        return Err(SpecError::InsidePath {
            path: path.to_owned(),
        });
    }
    Ok(())
}
