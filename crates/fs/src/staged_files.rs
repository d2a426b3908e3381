//! Hands on the files of a bundle or pack that is about to get its name, for whoever has to look
//! into every one of them before it does.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A staged file or folder that could not be read.
#[derive(Debug)]
pub struct UnreadableFile {
    /// Its path in the bundle or pack.
    pub file: String,
    /// What the system said.
    pub source: io::Error,
}

/// Opens every regular file below `folder` once and hands it to `visit` with its path in there, until
/// `visit` breaks off. Files come in the order of their names, so that what is found first does not
/// depend on the order in which the file system lists them. Links are not followed.
///
/// # Errors
/// When a folder cannot be listed or a file cannot be opened, or with the error of `visit`.
pub fn visit_files<B>(
    folder: &Path,
    mut visit: impl FnMut(&str, &mut File) -> io::Result<ControlFlow<B>>,
) -> Result<Option<B>, UnreadableFile> {
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let name = name.display().to_string();
        match visit_path(&path, &name, &mut waiting, &mut visit) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(found)) => return Ok(Some(found)),
            Err(source) => return Err(UnreadableFile { file: name, source }),
        }
    }
    Ok(None)
}

fn visit_path<B>(
    path: &Path,
    name: &str,
    waiting: &mut Vec<PathBuf>,
    visit: &mut impl FnMut(&str, &mut File) -> io::Result<ControlFlow<B>>,
) -> io::Result<ControlFlow<B>> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_file() {
        return visit(name, &mut File::open(path)?);
    }
    if kind.is_dir() {
        let mut below = Vec::new();
        for entry in fs::read_dir(path)? {
            below.push(entry?.path());
        }
        // The next one is taken from the end.
        below.sort_by(|a, b| b.cmp(a));
        waiting.extend(below);
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn visit_files_each_file_comes_once_in_the_order_of_names_until_told_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b/z", "b/a/x", "a", "c"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link")).unwrap();
        let visit_until = |last: &str| {
            let mut seen = Vec::new();
            let stopped = visit_files(folder.path(), |name, file| {
                let mut content = String::new();
                file.read_to_string(&mut content)?;
                assert_eq!(content, name);
                seen.push(content);
                Ok(match name == last {
                    true => ControlFlow::Break(name.to_owned()),
                    false => ControlFlow::Continue(()),
                })
            });
            (seen.join(" "), stopped.unwrap())
        };
        assert_eq!(visit_until(""), ("a b/a/x b/z c".to_owned(), None));
        assert_eq!(
            visit_until("b/a/x"),
            ("a b/a/x".to_owned(), Some("b/a/x".to_owned()))
        );
    }

    #[test]
    fn visit_files_error_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("artifacts")).unwrap();
        fs::write(folder.path().join("artifacts/x"), "").unwrap();
        let visited = visit_files(folder.path(), |_, _| -> io::Result<ControlFlow<()>> {
            Err(io::Error::other("broken"))
        });
        let UnreadableFile { file, source } = visited.unwrap_err();
        assert_eq!(
            (file.as_str(), source.to_string().as_str()),
            ("artifacts/x", "broken")
        );
    }
}
