//! What a command sees of the machine, stated once: which files at which paths, which never, its variables, who and
//! where it is, and its network.
//!
//! A world is built from the user's own choices and fixed lists. Nothing that a command's folder or a bundle
//! contains decides anything: no link, no `#!` line, no pyvenv.cfg, no configuration of git. docs/world.md is this
//! module for people.

mod devices;
mod hidden;
mod search_path;
mod toolchain;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use runseal_core::canon::Value;
use runseal_sandbox::{Limits, Ordinary, View, ViewAccess, ViewPlace};

pub(crate) use devices::recorded_devices;
pub use devices::{DeviceError, find_devices};
pub use hidden::{HIDDEN, HiddenKind, RELOCATIONS, Relocation};
pub use toolchain::Toolchain;
pub use variables::{PASSED, PASSED_BEGINNINGS, Variables};

/// PATH if the caller has none.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Top-level folders that the command gets of its own, or not at all.
const NOT_SHOWN: [&str; 7] = ["boot", "dev", "lost+found", "proc", "run", "sys", "tmp"];

/// Where the links of /run that are shown lead.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// The devices that a command has at level `namespaces`; terminals are its own.
pub const DEVICES: [&str; 8] = [
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// A folder that the command has an own one of, below one that is shown.
const OWN_TEMPORARY: &str = "/var/tmp";

/// What a command sees of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// Files and folders, and what is hidden among them.
    pub view: View,
    /// The command's home folder, if it has one.
    pub home: Option<PathBuf>,
    /// The whole environment, but for what the recorder adds.
    pub variables: BTreeMap<String, String>,
    /// The names of the caller's variables that the command does not get.
    pub left_out: Vec<String>,
    /// Who and where it finds itself to be.
    pub ordinary: Option<Ordinary>,
    /// What the caller hid beside the table, and what the caller's variables move elsewhere.
    pub also_hidden: Vec<PathBuf>,
    /// Devices that the caller named, beside those that every command has.
    pub devices: Vec<PathBuf>,
    /// Folders of the caller's PATH that the command does not see, so that it may run another program than the
    /// caller's shell.
    pub path_left_out: Vec<PathBuf>,
    /// The bounds on what it may use, once they are known.
    pub limits: Option<Limits>,
}

/// What a user chose.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The variables of the user's shell.
    pub shell: Vec<(OsString, OsString)>,
    /// Paths that are opened, absolute: inputs.
    pub opened: Vec<PathBuf>,
    /// Paths that are hidden, absolute.
    pub hidden: Vec<PathBuf>,
    /// Device files, as [`find_devices`] gives them.
    pub devices: Vec<PathBuf>,
    /// The folder of the command, which it sees wherever that lies.
    pub folder: Option<PathBuf>,
}

impl World {
    /// The caller's own world.
    pub fn of_caller(choices: &Choices) -> World {
        let divided = variables::divide(choices.shell.iter().cloned());
        let home = divided.passed.get("HOME").map(PathBuf::from);
        let home = home.filter(|home| is_home(home));
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let mut own: BTreeSet<PathBuf> = home.iter().cloned().collect();
        own.extend(listed_home(&users, rustix::process::getuid().as_raw()));
        let own: Vec<PathBuf> = hidden::with_real_paths(own).into_iter().collect();
        let mut hidden_paths = hidden::listed(&own);
        // Nobody keeps a single secret at a place that has the whole home in it.
        let mut moved = hidden::relocated(&choices.shell);
        moved.retain(|path| !own.iter().any(|home| home.starts_with(path)));
        // What lies in the home at its usual place is in the table.
        moved.retain(|path| !hidden_paths.contains(path));
        hidden_paths.extend(moved.iter().cloned());
        hidden_paths.extend(choices.hidden.iter().cloned());
        hidden_paths.extend(hidden::homes_of_others(&users, &own));
        // The command has its own, or where nothing can be mounted none.
        hidden_paths.insert(OWN_TEMPORARY.into());
        let mut view = View {
            places: top_level(),
            hidden: hidden::with_real_paths(hidden_paths).into_iter().collect(),
            has_own_etc: false,
        };
        let layered = home.as_ref().and_then(|home| home.canonicalize().ok());
        for place in &own {
            let is_layered = layered.as_ref() == Some(place);
            let real = place.canonicalize();
            // A home over a link: what it leads to is a place, and the link is where it is.
            if real.is_ok_and(|real| real != *place) || !is_home(place) {
                continue;
            }
            // The home of root is a top-level folder too, and is shown as the caller's own.
            view.places.retain(|it| it.inside != *place);
            view.places.push(ViewPlace {
                access: match is_layered {
                    true => ViewAccess::Layered,
                    false => ViewAccess::ReadOnly,
                },
                is_own: true,
                ..ViewPlace::at_own_path(place)
            });
        }
        for path in &choices.opened {
            view.show(path);
        }
        let mut variables = divided.passed;
        // Programs that the user's PATH has where the command has a folder of its own, such as in /tmp.
        let path = variables.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        let path_left_out = search_path::show(&mut view, path, choices.folder.as_deref());
        variables
            .entry("PATH".to_owned())
            .or_insert_with(|| DEFAULT_PATH.to_owned());
        World {
            view,
            home: layered,
            variables,
            left_out: divided.left_out,
            ordinary: Some(Ordinary::of_caller()),
            also_hidden: choices.hidden.iter().cloned().chain(moved).collect(),
            devices: choices.devices.clone(),
            path_left_out,
            limits: None,
        }
    }

    /// Whether a command in this world could see what is at `path`, as it is written. One with `..` in it may
    /// lead anywhere, so it counts as not shown.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        let mut parts = path.components();
        parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
            && self.view.shows(path)
    }

    /// For people and programs: what docs/world.md describes, with this user's and this machine's names.
    pub fn to_value(&self) -> Value {
        let text = |path: &Path| path.display().to_string();
        let place = |place: &ViewPlace| {
            let access = match (place.access, place.is_own) {
                (ViewAccess::Layered, _) => "layered",
                (ViewAccess::ReadOnly, _) => "read-only",
            };
            Value::object([("path", text(&place.inside).as_str()), ("access", access)])
        };
        let mut value = Value::object([("network", "loopback")]);
        if let Some(home) = &self.home {
            value.insert("home", text(home).as_str());
        }
        if let Some(ordinary) = &self.ordinary {
            let (user, group) = ordinary.user;
            value.insert("hostname", ordinary.hostname.as_str());
            value.insert("user", u64::from(user));
            value.insert("group", u64::from(group));
            value.insert("umask", format!("{:03o}", ordinary.umask).as_str());
        }
        value.insert("places", Value::array(self.view.places.iter().map(place)));
        let own = ["/proc", "/dev", "/tmp", "/var/tmp", "/dev/shm"];
        value.insert("private", Value::array(own));
        let given = self.devices.iter().map(|path| text(path));
        let devices = DEVICES.map(str::to_owned).into_iter().chain(given);
        value.insert("devices", Value::array(devices.collect::<Vec<_>>()));
        if let Some(limits) = &self.limits {
            value.insert("limits", limits_value(limits));
        }
        // Homes of others are hidden too; whose they are is nobody's business.
        let table = HIDDEN.iter().flat_map(|kind| kind.paths);
        let table = table.map(|path| match path.starts_with('/') {
            true => (*path).to_owned(),
            false => format!("~/{path}"),
        });
        let more = self.also_hidden.iter().map(|path| text(path));
        value.insert(
            "hidden",
            Value::array(table.chain(more).collect::<Vec<_>>()),
        );
        let names = self.left_out.iter().map(String::as_str);
        value.insert("variables_left_out", Value::array(names));
        // A bundle says so only where there is something to say.
        if !self.path_left_out.is_empty() {
            let left_out = self.path_left_out.iter().map(|path| text(path));
            value.insert("path_left_out", Value::array(left_out.collect::<Vec<_>>()));
        }
        value
    }
}

/// The bounds that somebody set; where one is missing, the machine's own holds.
fn limits_value(limits: &Limits) -> Value {
    let seconds = limits.wall_time.as_secs();
    let mut value = Value::object([("seconds", seconds)]);
    let streams = [limits.stdout_bytes, limits.stderr_bytes];
    let [stdout, stderr] = streams.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    for (name, bound, most) in [
        ("memory_bytes", limits.memory_bytes, u64::MAX),
        ("disk_bytes", limits.work_bytes, u64::MAX),
        ("processes", limits.processes.into(), u32::MAX.into()),
        ("stdout_bytes", stdout, u64::MAX),
        ("stderr_bytes", stderr, u64::MAX),
    ] {
        if bound != most {
            value.insert(name, bound);
        }
    }
    value
}

/// Whether a path can be the home of a person: a folder of its own.
fn is_home(path: &Path) -> bool {
    const NO_HOMES: [&str; 12] = [
        "/", "/dev", "/etc", "/home", "/mnt", "/opt", "/proc", "/run", "/srv", "/sys", "/tmp",
        "/var",
    ];
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    path.is_absolute()
        && is_plain
        && path.is_dir()
        && !NO_HOMES.iter().any(|top| path == Path::new(top))
        && !["/dev", "/proc", "/sys"]
            .iter()
            .any(|top| path.starts_with(top))
        && path != Path::new("/var/tmp")
        && !runseal_sandbox::is_program_place(path)
}

fn listed_home(users: &str, uid: u32) -> Option<PathBuf> {
    let home_of = |line: &str| {
        let mut fields = line.split(':');
        let own = fields.nth(2)?.parse::<u32>().ok()? == uid;
        let home = fields.nth(2)?;
        own.then(|| PathBuf::from(home))
    };
    users.lines().find_map(home_of).filter(|home| is_home(home))
}

/// The host's own top level, and what leads from /run into the stores of packages.
fn top_level() -> Vec<ViewPlace> {
    let listed = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let mut places: Vec<ViewPlace> = listed("/")
        .into_iter()
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| !NOT_SHOWN.contains(&name))
        })
        .filter(|path| {
            fs::symlink_metadata(path)
                .is_ok_and(|it| it.is_dir() || it.is_file() || it.is_symlink())
        })
        .map(ViewPlace::at_own_path)
        .collect();
    for store in STORES.iter().filter(|store| Path::new(store).is_dir()) {
        places.push(ViewPlace::at_own_path(store));
    }
    for path in listed("/run") {
        let target = fs::read_link(&path);
        let leads_there = |target: &PathBuf| STORES.iter().any(|store| target.starts_with(store));
        if target.is_ok_and(|target| leads_there(&target)) {
            places.push(ViewPlace::at_own_path(path));
        }
    }
    places
}

/// The folders of a PATH, those that are relative below `folder`.
pub(crate) fn split_path(path: &str, folder: &Path) -> Vec<PathBuf> {
    std::env::split_paths(path)
        .map(|entry| normalize(&folder.join(entry)))
        .collect()
}

/// The path without `.` and `..`, purely textually: links are not resolved.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(home: &Path, choices: Choices) -> World {
        let mut choices = choices;
        choices.shell.push(("HOME".into(), home.into()));
        World::of_caller(&choices)
    }

    #[test]
    fn world_shows_the_host_and_hides_secrets_unless_they_are_opened() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let found = world(&home, Choices::default());
        for path in ["/usr/bin/env", "/etc/passwd", "/opt/x"] {
            assert!(found.shows(Path::new(path)), "{path}");
        }
        for path in [
            "/etc/shadow",
            "/proc/1",
            "/run/docker.sock",
            "/tmp/x",
            "/dev/sda",
            "/usr/../etc",
        ] {
            assert!(!found.shows(Path::new(path)), "{path}");
        }
        assert!(found.shows(&home.join(".config/x")));
        assert!(!found.shows(&home.join(".ssh/id_rsa")));
        let opened = world(
            &home,
            Choices {
                opened: vec![home.join(".ssh/config")],
                hidden: vec![home.join("private"), "/opt/x".into()],
                ..Choices::default()
            },
        );
        assert!(opened.shows(&home.join(".ssh/config")));
        assert!(!opened.shows(&home.join(".ssh/id_rsa")));
        assert!(!opened.shows(&home.join("private/x")));
        assert!(!opened.shows(Path::new("/opt/x/y")));
        let text = format!("{:?}", opened.to_value());
        assert!(text.contains("~/.ssh") && text.contains("/opt/x"), "{text}");
    }

    #[test]
    fn invalid_home_is_not_layered() {
        for home in [
            "/",
            "/nonexistent",
            "/tmp",
            "relative",
            "/usr/share",
            "/proc/self",
        ] {
            let found = world(Path::new(home), Choices::default());
            assert_eq!(found.home, None, "{home}");
        }
    }
}
