//! What a recorded command sees of the machine and may use of it, as options of the command line.

use std::path::{Path, PathBuf};

use runseal_core::canon::Dialect;
use runseal_core::verify::Outcome;
use runseal_report::reveal;
use runseal_runs::world::{Choices, HIDDEN, World, find_devices};
use runseal_sandbox::{Limits, ViewAccess};

use super::record::parse_size;
use crate::error::CliError;
use crate::ui;

/// Bounds on what the command may use of the machine. Whoever reaches one is stopped, never told that there is no more.
#[derive(Debug, clap::Args)]
pub struct BoundArgs {
    /// The memory that all its processes may have together; by default as much as there is. Takes K, M, G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// The space that what it writes may take, temporary files and all; by default what is free on the disk, less a
    /// reserve. Takes K, M, G.
    #[arg(long, value_name = "SIZE", alias = "artifact-bytes", value_parser = parse_size)]
    disk: Option<u64>,
    /// The processes and threads that it may have at a time; by default as many as you may have.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
}

impl BoundArgs {
    /// The same limits with these bounds.
    pub fn limits(&self, limits: Limits) -> Limits {
        Limits {
            memory_bytes: self.memory.unwrap_or(limits.memory_bytes),
            work_bytes: self.disk.unwrap_or(limits.work_bytes),
            processes: self.processes.unwrap_or(limits.processes),
            ..limits
        }
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

/// Prints what a command would see.
pub fn show_world(world: &World, as_json: bool) -> Result<Outcome, CliError> {
    if as_json {
        ui::print_json(&world.to_value(), Dialect::Kernel)?;
        return Ok(Outcome::Valid);
    }
    let mut text =
        String::from("A command sees this of your machine; docs/world.md says more.\n\nShown:\n");
    for place in &world.view.places {
        let access = match place.access {
            ViewAccess::ReadOnly => "read-only",
            ViewAccess::Layered => "writable, and thrown away",
        };
        text.push_str(&format!("  {}: {access}\n", place.inside.display()));
    }
    for path in &world.devices {
        text.push_str(&format!("  {}: a device\n", path.display()));
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
    text.push_str("\nNetwork: its own loopback, and nothing beyond\n\nVariables:\n");
    for (name, value) in &world.variables {
        text.push_str(&format!("  {name}={value}\n"));
    }
    if !world.left_out.is_empty() {
        text.push_str(&format!("left out: {}\n", world.left_out.join(" ")));
    }
    ui::print_text(
        &text
            .lines()
            .map(|line| format!("{}\n", reveal(line)))
            .collect::<String>(),
    )?;
    Ok(Outcome::Valid)
}
