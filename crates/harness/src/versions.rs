//! The versions of Node.js and npm that commands would find, for runner.json.

use std::fs;
use std::time::Duration;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_sandbox::{Sandbox, Spec};

use runseal_fs::private::PrivateFolder;
use runseal_runs::programs::find_program;

/// Node's version with its `v`, npm's without; v0.0.0 and 0.0.0 if they are not installed.
pub(super) fn find_versions(sandbox: Option<&Sandbox>) -> (String, String) {
    let node = find_program("node").and_then(|_| ask_node(sandbox));
    let npm = find_program("npm").and_then(|program| npm_version(&program));
    (
        node.unwrap_or_else(|| "v0.0.0".to_owned()),
        npm.unwrap_or_else(|| "0.0.0".to_owned()),
    )
}

/// Runs the program to ask for its version; if nothing is to be executed, reads the header file
/// that is installed with it.
fn ask_node(sandbox: Option<&Sandbox>) -> Option<String> {
    let Some(sandbox) = sandbox else {
        return header_version();
    };
    let folder = PrivateFolder::create("versions").ok()?;
    let mut spec = Spec::new(["node", "--version"], folder.path());
    spec.limits.wall_time = Duration::from_secs(5);
    let outcome = sandbox.run(&spec).ok()?;
    let text = String::from_utf8(outcome.stdout.bytes).ok()?;
    let version = text.trim();
    version.starts_with('v').then(|| version.to_owned())
}

fn header_version() -> Option<String> {
    let header = ["/usr/include", "/usr/local/include"]
        .iter()
        .find_map(|folder| fs::read_to_string(format!("{folder}/node/node_version.h")).ok())?;
    let number = |name: &str| {
        let line = header
            .lines()
            .find_map(|line| line.strip_prefix(&format!("#define {name} ")))?;
        line.trim().parse::<u32>().ok()
    };
    let (major, minor) = (number("NODE_MAJOR_VERSION")?, number("NODE_MINOR_VERSION")?);
    Some(format!(
        "v{major}.{minor}.{}",
        number("NODE_PATCH_VERSION")?
    ))
}

/// npm's version, from the package.json of the package that its script is in.
fn npm_version(program: &std::path::Path) -> Option<String> {
    let script = fs::canonicalize(program).ok()?;
    let package = script.parent()?.parent()?.join("package.json");
    let bytes = fs::read(package).ok()?;
    let document = parse_document(&bytes, &ReadOptions::default()).ok()?;
    let version = document.root().get("version")?.as_str()?;
    Some(version.into_owned())
}
