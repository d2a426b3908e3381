//! What a recorded command sees of the machine and may use of it, as options of the command line.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Members, Value};
use runseal_core::verify::Outcome;
use runseal_report::reveal;
use runseal_runs::record::run::{Command, environment_before};
use runseal_runs::world::{Choices, DEVICES, HIDDEN, World, find_devices};
use runseal_sandbox::{Limits, ViewAccess};

use super::record::parse_size;
use crate::error::CliError;
use crate::ui;

/// Bounds on what a recorded command may use of the machine. Whoever reaches one is stopped, never told that there is
/// no more.
#[derive(Debug, Clone, clap::Args)]
pub struct BoundArgs {
    /// The memory that all its processes may have together; by default as much as there is, in a replay half of
    /// it. Takes K, M, G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// The space that what it writes may take, temporary files and all; by default what is free on the disk, less a
    /// reserve, in a replay 1 GiB. Takes K, M, G.
    #[arg(long, value_name = "SIZE", alias = "artifact-bytes", value_parser = parse_size)]
    disk: Option<u64>,
    /// The files and folders that it may write; by default as many as the disk has room for, in a replay 1,000,000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    files: Option<u64>,
    /// The processes and threads that it may have at a time; by default as many as you may have, in a replay 4,096.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
}

impl BoundArgs {
    /// The same limits with these bounds.
    pub fn limits(&self, limits: Limits) -> Limits {
        Limits {
            memory_bytes: self.memory.unwrap_or(limits.memory_bytes),
            work_bytes: self.disk.unwrap_or(limits.work_bytes),
            file_bytes: self.disk.unwrap_or(limits.file_bytes),
            work_files: self.files.unwrap_or(limits.work_files),
            processes: self.processes.unwrap_or(limits.processes),
            ..limits
        }
    }

    /// The options that were given, by name.
    pub fn given(&self) -> [(&'static str, bool); 4] {
        [
            ("--memory", self.memory.is_some()),
            ("--disk", self.disk.is_some()),
            ("--files", self.files.is_some()),
            ("--processes", self.processes.is_some()),
        ]
    }
}

/// The device files that `--device` names.
pub fn parse_devices(given: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut devices = Vec::new();
    for path in given {
        let found = find_devices(path).map_err(|error| {
            CliError::new(Outcome::Unreadable, "DEVICE", error.to_string())
                .hint("name a character device below /dev, such as `--device /dev/dri`")
        })?;
        devices.extend(found);
    }
    devices.sort();
    devices.dedup();
    Ok(devices)
}

/// The world of whoever runs this, with what was opened and hidden by name.
pub fn world_of_caller(
    folder: &Path,
    (opened, hidden): (&[PathBuf], &[PathBuf]),
    devices: Vec<PathBuf>,
) -> World {
    let absolute = |paths: &[PathBuf]| paths.iter().map(|path| plain(&folder.join(path))).collect();
    World::of_caller(&Choices {
        shell: std::env::vars_os().collect(),
        opened: absolute(opened),
        hidden: absolute(hidden),
        devices,
        folder: Some(folder.to_owned()),
    })
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component;
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

/// A command whose world is shown, and what else was chosen.
pub struct ShownWorld<'a> {
    /// It is not run.
    pub command: &'a Command,
    /// The name of the sandbox level.
    pub level: &'a str,
    /// How much of standard input it may read.
    pub stdin_bytes: u64,
}

/// Prints what a command would see and may use.
pub fn show_world(shown: &ShownWorld<'_>, as_json: bool) -> Result<Outcome, CliError> {
    if as_json {
        ui::print_json(&shown.to_value(), Dialect::Kernel)?;
        return Ok(Outcome::Valid);
    }
    let lines = shown.to_text();
    let lines = lines.lines().map(|line| format!("{}\n", reveal(line)));
    ui::print_text(&lines.collect::<String>())?;
    Ok(Outcome::Valid)
}

impl ShownWorld<'_> {
    fn to_value(&self) -> Value {
        let command = self.command;
        let world = World {
            limits: Some(command.limits.clone()),
            ..command.world.clone()
        };
        let mut value = world.to_value();
        value.insert("sandbox", Value::object([("level", self.level)]));
        let mut variables = Value::Object(Members::new());
        for (name, text) in environment_before(command) {
            variables.insert(&name, text);
        }
        for name in command.secrets.keys() {
            variables.insert(name, Value::Null);
        }
        value.insert("variables", variables);
        value
    }

    fn to_text(&self) -> String {
        let mut text =
            String::from("A command sees this of your machine; docs/world.md says more.\n\n");
        match self.level {
            "none" => text.push_str(
                "At level none nothing is hidden, read-only or private, whatever is said below: it sees and may \
                 change what you may, and has the machine's network.\n\n",
            ),
            "landlock" => text.push_str(
                "At level landlock nothing can be mounted: it works in a copy of the folder, has a TMPDIR of its \
                 own for temporary files, and no loopback.\n\n",
            ),
            _ => {}
        }
        self.add_files(&mut text);
        let network = match self.level {
            "none" => "the machine's",
            "landlock" => "none",
            _ => "its own loopback, and nothing beyond",
        };
        let given = self.command.world.devices.iter();
        let devices = DEVICES.map(str::to_owned).into_iter();
        let devices: Vec<String> = devices
            .chain(given.map(|path| path.display().to_string()))
            .collect();
        text.push_str(&format!("\nDevices: {}\n", devices.join(" ")));
        text.push_str(&format!("\nNetwork: {network}\n"));
        self.add_limits(&mut text);
        text.push_str("\nVariables:\n");
        for (name, value) in environment_before(self.command) {
            text.push_str(&format!("  {name}={value}\n"));
        }
        for name in self.command.secrets.keys() {
            text.push_str(&format!("  {name}: given, and neither shown nor sealed\n"));
        }
        let left_out = &self.command.world.left_out;
        if !left_out.is_empty() {
            text.push_str(&format!("left out: {}\n", left_out.join(" ")));
        }
        text
    }

    fn add_files(&self, text: &mut String) {
        let world = &self.command.world;
        text.push_str("Shown:\n");
        for place in &world.view.places {
            let access = match place.access {
                ViewAccess::ReadOnly => "read-only",
                ViewAccess::Layered => "writable, and thrown away",
            };
            text.push_str(&format!("  {}: {access}\n", place.inside.display()));
        }
        text.push_str("  the current folder: writable; what changes there is sealed\n");
        text.push_str(
            "  /tmp, /var/tmp, /dev/shm: empty, its own\n\nNot there, whatever is shown above:\n",
        );
        for kind in HIDDEN {
            text.push_str(&format!("  {}: ", kind.title));
            let path = |path: &&str| match path.starts_with('/') {
                true => (*path).to_owned(),
                false => format!("~/{path}"),
            };
            let paths: Vec<String> = kind.paths.iter().map(path).collect();
            text.push_str(&format!("{}\n", paths.join(" ")));
        }
        text.push_str("  the home folders of others\n");
        for path in &world.also_hidden {
            text.push_str(&format!("  {}\n", path.display()));
        }
        for path in &world.path_left_out {
            text.push_str(&format!("  {}, a folder of your PATH\n", path.display()));
        }
    }

    fn add_limits(&self, text: &mut String) {
        let limits = &self.command.limits;
        let bounded = |bytes: u64, otherwise: &str| match bytes {
            u64::MAX => otherwise.to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        let processes = match limits.processes {
            u32::MAX => "as many as you may have".to_owned(),
            processes => processes.to_string(),
        };
        let reserve = limits.reserve_bytes >> 20;
        let free = format!("what is free on the disk, less {reserve} MiB");
        let rows = [
            ("time", format!("{} s", limits.wall_time.as_secs())),
            (
                "memory",
                bounded(limits.memory_bytes, "what the machine has"),
            ),
            ("disk", bounded(limits.work_bytes, &free)),
            ("processes and threads", processes),
            ("standard input", format!("{} bytes", self.stdin_bytes)),
            ("standard output", format!("{} bytes", limits.stdout_bytes)),
            ("standard error", format!("{} bytes", limits.stderr_bytes)),
        ];
        text.push_str("\nLimits:\n");
        for (what, bound) in rows {
            let is_kept = self.level != "none" || what == "time" || what.starts_with("standard");
            let bound = if is_kept {
                &bound
            } else {
                "not kept at this level"
            };
            text.push_str(&format!("  {what}: {bound}\n"));
        }
    }
}
