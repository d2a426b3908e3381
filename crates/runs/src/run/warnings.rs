//! What an engine's command may encounter that its contracts cannot express: files outside its
//! folder, links, and a program other than the one that the user's shell would start.
//!
//! These depend on the machine, so they are warnings of `engine check` and never findings.

use std::fs;
use std::path::Path;

use super::contracts::Engine;
use crate::programs::{find_program, find_program_on};

/// Lists what may be surprising about the command of `engine`.
pub fn find_warnings(engine: &Engine) -> Vec<String> {
    let mut warnings = Vec::new();
    let folder = engine.folder();
    for (at, element) in engine.command().iter().enumerate() {
        let shown = element.escape_debug();
        let place = folder.join(element);
        let looks_like_path = element.contains('/') || Path::new(element).extension().is_some();
        match fs::symlink_metadata(&place) {
            _ if Path::new(element).is_absolute() => warnings.push(format!(
                "`{shown}` lies outside of the engine's folder: it is not sealed, and the engine sees it \
                 only below /usr, /bin, /lib"
            )),
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::read_link(&place).unwrap_or_default();
                warnings.push(match fs::metadata(&place) {
                    Ok(_) => format!(
                        "`{shown}` is a symbolic link to `{}`: links are not followed, put the file itself \
                         into the folder",
                        target.display()
                    ),
                    Err(_) => format!("`{shown}` is a symbolic link to `{}`, which is missing", target.display()),
                });
            }
            Ok(_) => {}
            Err(_) if at > 0 && looks_like_path && !element.starts_with('-') => warnings.push(format!(
                "there is no file `{shown}` in the engine's folder; if the command reads one, it has to be there"
            )),
            Err(_) => {}
        }
    }
    warnings.extend(
        engine
            .command()
            .first()
            .and_then(|program| warn_about_program(program)),
    );
    warnings.extend(warn_about_venv(folder, engine.command()));
    warnings
}

/// Whether the user's shell would start a different program under this name.
fn warn_about_program(program: &str) -> Option<String> {
    if program.contains('/') {
        return None;
    }
    let theirs = find_program_on(&std::env::var_os("PATH")?, program)?;
    let ours = find_program(program)?;
    let real = |place: &Path| place.canonicalize().unwrap_or_else(|_| place.to_owned());
    (real(&theirs) != real(&ours)).then(|| {
        format!(
            "your shell's `{program}` is `{}`, the engine's is `{}`: engines get the system's programs only, \
             `runseal record` takes yours",
            theirs.display(),
            ours.display()
        )
    })
}

/// A virtual environment in the folder is used only if the command starts its Python.
fn warn_about_venv(folder: &Path, command: &[String]) -> Option<String> {
    let program = command.first()?;
    let venv = ["venv", ".venv", "env"]
        .into_iter()
        .find(|name| folder.join(name).join("pyvenv.cfg").exists())?;
    let is_used =
        program.starts_with(&format!("{venv}/")) || program.starts_with(&format!("./{venv}/"));
    (program.starts_with("python") && !is_used).then(|| {
        format!(
            "the virtual environment `{venv}` is not used: an engine's packages go into its folder \
             (`pip install --target lib …` and `PYTHONPATH` in the program), or record the command with \
             `runseal record`, which uses it"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::run::contracts::{Program, check_engine};
    use crate::run::init::{Language, init_engine};

    #[test]
    fn warnings_tell_a_link_from_a_missing_file_and_name_what_lies_outside() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("adder");
        init_engine(&target, Language::Python).unwrap();
        let warnings = |command: &str| {
            let manifest = format!(
                r#"{{"engine_code":"A","engine_version":"1","execution":{{"command":{command}}}}}"#
            );
            fs::write(target.join("ENGINE_MANIFEST.json"), manifest).unwrap();
            let (report, engine) = check_engine(&target, Program::NotAsked).unwrap();
            assert!(report.is_valid());
            find_warnings(&engine.unwrap()).join("\n")
        };
        symlink("engine.py", target.join("link.py")).unwrap();
        symlink("nowhere", target.join("dead.py")).unwrap();
        assert!(warnings(r#"["sh","link.py"]"#).contains("symbolic link to `engine.py`"));
        assert!(warnings(r#"["sh","dead.py"]"#).contains("which is missing"));
        assert!(warnings(r#"["sh","gone.py"]"#).contains("there is no file `gone.py`"));
        assert!(warnings(r#"["sh","/etc/own.conf"]"#).contains("outside of the engine's folder"));
        assert_eq!(warnings(r#"["sh","engine.py","--flag","word"]"#), "");
        fs::create_dir(target.join(".venv")).unwrap();
        fs::write(target.join(".venv/pyvenv.cfg"), "").unwrap();
        assert!(warnings(r#"["python3","engine.py"]"#).contains("`.venv` is not used"));
    }
}
