//! Makes the pack of a case by its recipe.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use runseal_core::canon::Node;
use runseal_testkit::text;

/// Makes the pack in `place`. Returns its path.
pub fn prepare(case: Node<'_>, packs: &Path, place: &Path) -> PathBuf {
    let pack = place.join("pack");
    fs::create_dir(place.join("outside")).unwrap();
    lay_out(&packs.join(text(case, "name").unwrap()), &pack);
    for step in case.get("recipe").iter().flat_map(|recipe| recipe.items()) {
        follow(step, &pack);
    }
    pack
}

fn lay_out(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    // A case that begins with nothing has no folder.
    if !from.exists() {
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            lay_out(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn follow(step: Node<'_>, pack: &Path) {
    let (key, arguments) = step.members().next().unwrap();
    let arguments: Vec<String> = arguments
        .items()
        .map(|argument| argument.as_str().unwrap().into_owned())
        .collect();
    let at = |index: usize| pack.join(&arguments[index]);
    match key.as_str().unwrap().as_ref() {
        "write" => fs::write(at(0), &arguments[1]).unwrap(),
        "remove" => fs::remove_file(at(0)).unwrap(),
        "mkdir" => fs::create_dir(at(0)).unwrap(),
        "mkfifo" => {
            let mode = rustix::fs::Mode::from_raw_mode(0o644);
            rustix::fs::mknodat(rustix::fs::CWD, at(0), rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }
        "symlink" => symlink(&arguments[1], at(0)).unwrap(),
        "move_out" => {
            let outside = pack.parent().unwrap().join("outside");
            fs::rename(at(0), outside.join(&arguments[1])).unwrap();
        }
        "absent" => fs::remove_dir_all(pack).unwrap(),
        "file" => {
            fs::remove_dir_all(pack).unwrap();
            fs::write(pack, &arguments[0]).unwrap();
        }
        other => panic!("unknown step `{other}`"),
    }
}
