//! A user's folder with a few files, and the levels at which commands run in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_sandbox::{
    Change, Changed, FolderLayer, Isolation, Observe, ObservedFile, Recorded, Sandbox, Spec,
};
use runseal_testkit::skip::skip_even_in_ci;
use tempfile::TempDir;

/// Folders of one test.
pub(crate) struct Project {
    folder: TempDir,
    store: TempDir,
}

/// The levels that can be tried here. The strongest may be missing, but not in CI; the others
/// need a kernel with Landlock, or nothing.
pub(crate) fn levels() -> Vec<Sandbox> {
    let mut found: Vec<Sandbox> = runseal_testkit::isolation::sandbox().into_iter().collect();
    match Sandbox::at(Isolation::Landlock) {
        Ok(sandbox) => found.push(sandbox),
        Err(missing) => skip_even_in_ci(&missing.to_string()),
    }
    found.push(Sandbox::without_isolation());
    found
}

impl Project {
    /// `data.txt`, `sub/inner.txt`, `script.sh` and a link to `data.txt`.
    pub(crate) fn new() -> Project {
        let folder = tempfile::tempdir().unwrap();
        open_up(folder.path());
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("data.txt", "data\n");
        write("script.sh", "cat data.txt\n");
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        write("sub/inner.txt", "inner\n");
        std::os::unix::fs::symlink("data.txt", folder.path().join("link.txt")).unwrap();
        let store = tempfile::tempdir().unwrap();
        Project { folder, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn store(&self) -> &Path {
        self.store.path()
    }

    /// A command in the folder, observed.
    pub(crate) fn spec<S: AsRef<str>>(&self, command: &[S]) -> Spec {
        let command = command.iter().map(|part| part.as_ref());
        let mut spec = Spec::in_folder(command, self.path(), self.store());
        spec.limits.wall_time = Duration::from_secs(60);
        spec.observe = Some(Observe::default());
        spec
    }

    pub(crate) fn shell(&self, sandbox: &Sandbox, script: &str) -> Recorded {
        sandbox.record(&self.spec(&["sh", "-c", script])).unwrap()
    }

    /// Every file below the folder with its content, links by their target.
    pub(crate) fn content(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.path()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap().file_type();
                if kind.is_dir() {
                    pending.push(path);
                } else if kind.is_symlink() {
                    let target = std::fs::read_link(&path).unwrap();
                    found.insert(path, format!("-> {}", target.display()));
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.insert(path, text);
                }
            }
        }
        found
    }

    /// What was seen of a file of the folder.
    pub(crate) fn seen<'a>(&self, recorded: &'a Recorded, name: &str) -> Option<&'a ObservedFile> {
        let path = self.path().join(name);
        let observation = recorded.observation.as_ref().unwrap();
        observation.files.iter().find(|file| file.path == path)
    }
}

/// Lets every user in, as into an ordinary project folder.
pub(crate) fn open_up(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The change at a path, if there is one.
pub(crate) fn change<'a>(layer: &'a FolderLayer, path: &str) -> Option<&'a Change> {
    layer.changes().iter().find(|change| change.path == path)
}

/// Paths and kinds of all changes, short.
pub(crate) fn short(layer: &FolderLayer) -> Vec<String> {
    let kind = |now: &Changed| match now {
        Changed::File { .. } => "file",
        Changed::Folder { .. } => "folder",
        Changed::Link { .. } => "link",
        Changed::Pipe => "pipe",
        Changed::Socket => "socket",
        Changed::Device => "device",
        Changed::Deleted => "deleted",
    };
    layer
        .changes()
        .iter()
        .map(|change| format!("{} {}", kind(&change.now), change.path.to_string_lossy()))
        .collect()
}

/// What an outcome printed, for messages.
pub(crate) fn text(recorded: &Recorded) -> String {
    format!(
        "{:?} out: {} err: {}",
        recorded.outcome.ending,
        String::from_utf8_lossy(&recorded.outcome.stdout.bytes),
        String::from_utf8_lossy(&recorded.outcome.stderr.bytes)
    )
}
