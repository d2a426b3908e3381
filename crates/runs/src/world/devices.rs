//! Devices that a command may use because its user named them, such as a graphics card.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use runseal_core::canon::Node;

/// Where devices are.
const DEVICES: &str = "/dev";

/// The most device files that a folder stands for.
const MOST: usize = 256;

/// What nobody should hand to a command: the memory and ports of the machine, and names of which the command has its
/// own.
const NEVER: [&str; 10] = [
    "/dev/console",
    "/dev/kmem",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/mqueue",
    "/dev/port",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/dev/tty",
];

/// Why something cannot be given as a device.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{}` cannot be given as a device: {reason}", path.display())]
pub struct DeviceError {
    /// The path as it was given.
    pub path: PathBuf,
    /// Why not.
    pub reason: String,
}

/// The device files that `given` stands for, sorted: itself, or those directly in a folder such as `/dev/dri`.
///
/// # Errors
/// If it is not below /dev, is a link, a disk, the machine's memory, or holds no device.
pub fn find_devices(given: &Path) -> Result<Vec<PathBuf>, DeviceError> {
    let refuse = |reason: &str| DeviceError {
        path: given.to_owned(),
        reason: reason.to_owned(),
    };
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    let is_below = given.starts_with(DEVICES) && given != Path::new(DEVICES);
    if !is_below || !given.components().all(is_plain) {
        return Err(refuse("it is not a path below /dev"));
    }
    if NEVER.iter().any(|place| given.starts_with(place)) {
        return Err(refuse("a command never gets it"));
    }
    let found = fs::symlink_metadata(given).map_err(|error| refuse(&error.to_string()))?;
    let kind = found.file_type();
    if kind.is_char_device() {
        return Ok(vec![given.to_owned()]);
    }
    if kind.is_symlink() {
        return Err(refuse("it is a link; name the device that it leads to"));
    }
    if kind.is_block_device() {
        return Err(refuse("it is a disk"));
    }
    if !kind.is_dir() {
        return Err(refuse("it is not a device"));
    }
    let entries = fs::read_dir(given).map_err(|error| refuse(&error.to_string()))?;
    let is_device = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|it| it.is_char_device());
    let mut devices: Vec<PathBuf> = entries
        .flatten()
        .filter(is_device)
        .map(|entry| entry.path())
        .filter(|path| !NEVER.iter().any(|place| path.starts_with(place)))
        .take(MOST + 1)
        .collect();
    devices.sort();
    match devices.len() {
        0 => Err(refuse("there is no device in this folder")),
        1..=MOST => Ok(devices),
        _ => Err(refuse("there are too many devices in this folder")),
    }
}

/// The devices that a recorded command had, as its bundle says; the names are for people.
pub(crate) fn recorded_devices(environment: Option<Node<'_>>) -> Vec<String> {
    let listed = environment.and_then(|it| it.get("world")?.get("devices"));
    let items = listed.iter().flat_map(|list| list.items());
    let names = items.filter_map(|item| Some(item.as_str()?.into_owned()));
    let given = names.filter(|name| !super::DEVICES.contains(&name.as_str()));
    given.take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_is_a_character_device_below_dev_and_nothing_else() {
        let null = Path::new("/dev/null");
        assert_eq!(find_devices(null), Ok(vec![null.to_owned()]));
        for (path, reason) in [
            ("/etc/passwd", "below /dev"),
            ("/dev", "below /dev"),
            ("/dev/../etc/passwd", "below /dev"),
            ("dev/null", "below /dev"),
            ("/dev/mem", "never"),
            ("/dev/pts/0", "never"),
            ("/dev/shm", "never"),
            ("/dev/stdin", "a link"),
            ("/dev/no-such-device", "No such file"),
        ] {
            let refused = find_devices(Path::new(path)).unwrap_err();
            assert!(refused.reason.contains(reason), "{path}: {refused}");
        }
    }
}
