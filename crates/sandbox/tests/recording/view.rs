//! What a command sees of the host: places, hidden paths, layered places, and what of the host answers.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use runseal_sandbox::{Ordinary, Recorded, Sandbox, Spec, View, ViewAccess, ViewPlace};
use runseal_testkit::skip::need_python;
use tempfile::TempDir;

use crate::project::{Project, open_up};

/// A home with a secret and things beside it.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        open_up(folder.path());
        let home = Home(folder);
        home.write(".ssh/id_rsa", "PRIVATE KEY\n");
        home.write(".config/app/settings", "mine\n");
        home.write(".config/cloud/token", "PRIVATE KEY\n");
        home.write("plain", "plain\n");
        symlink(".ssh/id_rsa", home.path().join("alias")).unwrap();
        home
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn view(&self, access: ViewAccess) -> View {
        let mut view = View {
            has_own_etc: false,
            ..View::strict()
        };
        view.places.push(ViewPlace::at_own_path("/etc"));
        view.places.push(ViewPlace {
            access,
            is_own: true,
            ..ViewPlace::at_own_path(self.path())
        });
        for name in [".ssh", ".config/cloud", ".later/secret"] {
            view.hidden.push(self.path().join(name));
        }
        view
    }
}

fn isolating() -> Option<Sandbox> {
    runseal_testkit::isolation::sandbox()
}

fn ordinary<S: AsRef<str>>(project: &Project, home: &Home, command: &[S]) -> Spec {
    let mut spec = project.spec(command);
    spec.view = home.view(ViewAccess::Layered);
    spec.ordinary = Some(Ordinary::of_caller());
    spec.env.insert("PATH".into(), "/usr/bin:/bin".into());
    let text = home.path().display().to_string();
    spec.env.insert("HOME".into(), text);
    spec
}

fn run(sandbox: &Sandbox, home: &Home, script: &str) -> Recorded {
    let project = Project::new();
    let spec = ordinary(&project, home, &["sh", "-c", script]);
    sandbox.record(&spec).unwrap()
}

fn said(recorded: &Recorded) -> String {
    let stderr = String::from_utf8_lossy(&recorded.outcome.stderr.bytes).into_owned();
    String::from_utf8_lossy(&recorded.outcome.stdout.bytes).into_owned() + &stderr
}

#[test]
fn hidden_path_does_not_exist_by_any_name_and_opened_ones_do() {
    let Some(sandbox) = isolating() else { return };
    let home = Home::new();
    let script = "cd $HOME; cat plain .config/app/settings; ls -A . .config; \
        cat .ssh/id_rsa alias .config/cloud/token /proc/self/root$HOME/.ssh/id_rsa; \
        test -e .ssh || echo gone; test -e .later || echo none";
    let recorded = run(&sandbox, &home, script);
    let said = said(&recorded);
    assert!(said.starts_with("plain\nmine\n"), "{said}");
    assert!(said.contains("gone\nnone\n"), "{said}");
    assert!(
        !said.contains("PRIVATE") && !said.contains("cloud\n"),
        "{said}"
    );
    // One of them is opened again.
    let project = Project::new();
    let mut spec = ordinary(
        &project,
        &home,
        &["sh", "-c", "cat $HOME/.ssh/id_rsa; ls -A $HOME/.ssh"],
    );
    home.write(".ssh/other", "PRIVATE KEY\n");
    spec.view.show(home.path().join(".ssh/id_rsa"));
    let recorded = sandbox.record(&spec).unwrap();
    assert_eq!(self::said(&recorded), "PRIVATE KEY\nid_rsa\n");
}

#[test]
fn secret_that_the_host_makes_while_the_command_runs_stays_hidden() {
    let Some(sandbox) = isolating() else { return };
    let home = Home::new();
    let project = Project::new();
    let script = "echo go; sleep 1; cat $HOME/.later/secret; ls -A $HOME";
    let mut spec = ordinary(&project, &home, &["sh", "-c", script]);
    let later = home.path().join(".later");
    spec.on_output = Some(runseal_sandbox::OnOutput::new(move |_, _| {
        let _ = fs::create_dir(&later);
        let _ = fs::write(later.join("secret"), "PRIVATE KEY\n");
    }));
    let said = said(&sandbox.record(&spec).unwrap());
    assert!(
        !said.contains("PRIVATE") && !said.contains(".later\n"),
        "{said}"
    );
}

#[test]
fn layered_place_is_written_in_the_run_and_stays_as_it_is() {
    let Some(sandbox) = isolating() else { return };
    let home = Home::new();
    let script = "cd $HOME && mkdir -p .cache/x && echo y > .cache/x/y && echo more >> plain && rm alias && \
        cat .cache/x/y plain";
    let recorded = run(&sandbox, &home, script);
    assert_eq!(said(&recorded), "y\nplain\nmore\n");
    let written = [".cache/x/y", "alias", "plain"].map(|name| home.path().join(name));
    assert_eq!(recorded.written, written);
    assert!(!home.path().join(".cache").exists());
    assert_eq!(
        fs::read_to_string(home.path().join("plain")).unwrap(),
        "plain\n"
    );
    // What is outside cannot be written at all.
    let said = said(&run(&sandbox, &home, "echo x > /etc/x; echo x > /usr/x"));
    assert_eq!(said.matches("x: ").count(), 2, "{said}");
}

#[test]
fn sockets_and_pipes_of_the_host_lead_nowhere() {
    let Some(sandbox) = isolating() else { return };
    if !need_python() {
        return;
    }
    let home = Home::new();
    let socket = home.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let pipe = home.path().join("pipe");
    let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        name.as_c_str(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let _reader = rustix::fs::open(&pipe, flags, rustix::fs::Mode::empty()).unwrap();
    for name in ["socket", "pipe"] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(home.path().join(name), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let script = "\
import os, socket
home = os.environ['HOME']
try:
    socket.socket(socket.AF_UNIX).connect(home + '/socket')
    print('reached')
except OSError as error:
    print(error.strerror)
try:
    os.open(home + '/pipe', os.O_WRONLY | os.O_NONBLOCK)
    print('reached')
except OSError as error:
    print(error.strerror)
";
    let project = Project::new();
    let spec = ordinary(&project, &home, &["python3", "-c", script]);
    let said = said(&sandbox.record(&spec).unwrap());
    assert_eq!(said, "Connection refused\nNo such device or address\n");
}

#[test]
fn sources_are_merged_and_the_first_wins() {
    let Some(sandbox) = isolating() else { return };
    let (home, other) = (Home::new(), Home::new());
    other.write("plain", "other\n");
    other.write("only/here", "there\n");
    let project = Project::new();
    let mut spec = ordinary(
        &project,
        &home,
        &["cat", "/srv/both/plain", "/srv/both/only/here"],
    );
    spec.view.places.push(ViewPlace {
        inside: "/srv/both".into(),
        sources: vec![home.path(), other.path(), "/not/there".into()],
        access: ViewAccess::ReadOnly,
        is_own: true,
    });
    let recorded = sandbox.record(&spec).unwrap();
    assert_eq!(said(&recorded), "plain\nthere\n");
}

#[test]
fn folder_below_a_place_is_found_where_it_is() {
    let Some(sandbox) = isolating() else { return };
    let home = Home::new();
    home.write("project/data", "data\n");
    let folder = home.path().join("project");
    let store = tempfile::tempdir().unwrap();
    let script = "cat data ../plain; echo new > made; ls $HOME/project";
    let mut spec = Spec::in_folder(["sh", "-c", script], &folder, store.path());
    spec.view = home.view(ViewAccess::Layered);
    spec.ordinary = Some(Ordinary::of_caller());
    spec.env.insert("PATH".into(), "/usr/bin:/bin".into());
    spec.env
        .insert("HOME".into(), home.path().display().to_string());
    let recorded = sandbox.record(&spec).unwrap();
    assert_eq!(said(&recorded), "data\nplain\ndata\nmade\n");
    assert!(recorded.written.is_empty(), "{:?}", recorded.written);
    assert!(recorded.layer.unwrap().changes()[0].path == "made");
    assert!(!folder.join("made").exists());
}

#[test]
fn temporary_folders_are_private_and_larger_than_any_fixed_size() {
    let Some(sandbox) = isolating() else { return };
    let home = Home::new();
    let script = "for f in /tmp /var/tmp /dev/shm; do echo x > $f/x && cat $f/x; done; \
        head -c 400M /dev/zero > /tmp/large && stat -c %s /tmp/large";
    let recorded = run(&sandbox, &home, script);
    assert_eq!(said(&recorded), "x\nx\nx\n419430400\n");
    assert!(!Path::new("/var/tmp/x").exists());
}
