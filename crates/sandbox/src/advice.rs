//! What to change, and where, so that a missing layer can be put up: the exact flags of the
//! places that people run this in.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::error::{Layer, Missing};

/// Where this process runs, as far as that decides what a sandbox may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A Docker container.
    Docker,
    /// A Podman container.
    Podman,
    /// A Kubernetes pod.
    Kubernetes,
    /// A job on a GitHub runner.
    GitHub,
    /// The Windows Subsystem for Linux.
    Wsl,
    /// None of these: an ordinary machine.
    Host,
}

impl Place {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Place::Docker => "Docker",
            Place::Podman => "Podman",
            Place::Kubernetes => "Kubernetes",
            Place::GitHub => "GitHub runner",
            Place::Wsl => "WSL",
            Place::Host => "this machine",
        }
    }

    /// Where we are, the innermost place first. A container on a GitHub runner is both; an
    /// ordinary machine is the answer where no sign of another was found.
    pub fn find_all() -> Vec<Place> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let version = fs::read_to_string("/proc/version").unwrap_or_default();
        let signs = [
            (Place::Kubernetes, is_set("KUBERNETES_SERVICE_HOST")),
            (Place::Docker, Path::new("/.dockerenv").exists()),
            (Place::Podman, Path::new("/run/.containerenv").exists()),
            (Place::GitHub, is_set("GITHUB_ACTIONS")),
            (
                Place::Wsl,
                version.to_ascii_lowercase().contains("microsoft"),
            ),
        ];
        let mut places: Vec<Place> = signs
            .into_iter()
            .filter_map(|(place, is_here)| is_here.then_some(place))
            .collect();
        if places.is_empty() {
            places.push(Place::Host);
        }
        places
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing to change in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The place whose settings it is about.
    pub place: Place,
    /// The change, as a command or setting that can be copied.
    pub text: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

impl Missing {
    /// What allows the layer in the places where this process runs, the innermost first; empty
    /// where nothing can be changed.
    pub fn advice(&self) -> Vec<Advice> {
        self.advice_in(&Place::find_all(), rustix_is_root())
    }

    /// The same for given places. `is_root` says whether the caller is root there.
    fn advice_in(&self, places: &[Place], is_root: bool) -> Vec<Advice> {
        self.advice_with(places, is_root, &Settings::read())
    }

    fn advice_with(&self, places: &[Place], is_root: bool, settings: &Settings) -> Vec<Advice> {
        places
            .iter()
            .filter_map(|place| {
                let text = advise(self.layer, *place, is_root, settings)?;
                let place = *place;
                Some(Advice { place, text })
            })
            .collect()
    }
}

fn rustix_is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

fn advise(layer: Layer, place: Place, is_root: bool, settings: &Settings) -> Option<String> {
    match layer {
        // No flag of a container helps where the kernel gives none to anybody.
        Layer::UserNamespace | Layer::Namespaces
            if settings.most_namespaces == Some(0) && place != Place::Wsl =>
        {
            Some(advise_switched_off(place))
        }
        Layer::RootCapabilities
        | Layer::UserNamespace
        | Layer::Namespaces
        | Layer::IdMap
        | Layer::Root
        | Layer::Pivot => Some(advise_namespaces(place, is_root, settings)),
        Layer::Proc => Some(advise_proc(place)),
        Layer::Landlock => advise_landlock(place),
        Layer::Seccomp | Layer::Observation => advise_seccomp(place),
        _ => None,
    }
}

fn advise_switched_off(place: Place) -> String {
    let on = match place {
        Place::Docker | Place::Podman => " on the machine that runs the container",
        Place::Kubernetes => " on the node",
        _ => "",
    };
    format!(
        "user namespaces are switched off (user.max_user_namespaces is 0): \
         sudo sysctl -w user.max_user_namespaces=15000{on}"
    )
}

fn advise_namespaces(place: Place, is_root: bool, settings: &Settings) -> String {
    match (place, is_root) {
        (Place::Docker, true) => {
            "docker run --cap-add SYS_ADMIN --security-opt apparmor=unconfined …".to_owned()
        }
        (Place::Docker, false) => "docker run --security-opt seccomp=unconfined \
            --security-opt apparmor=unconfined --security-opt systempaths=unconfined …"
            .to_owned(),
        (Place::Podman, true) => "podman run --cap-add SYS_ADMIN …".to_owned(),
        (Place::Podman, false) => {
            "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …".to_owned()
        }
        (Place::Kubernetes, true) => "in the container's securityContext: \
            capabilities: {add: [SYS_ADMIN]}, appArmorProfile: {type: Unconfined}"
            .to_owned(),
        (Place::Kubernetes, false) => "hostUsers: false in the pod; in the container's \
            securityContext: seccompProfile: {type: Unconfined}, \
            appArmorProfile: {type: Unconfined}, procMount: Unmasked"
            .to_owned(),
        (Place::GitHub, _) => {
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".to_owned()
        }
        (Place::Wsl, _) => "WSL 1 has no namespaces: wsl --set-version DISTRIBUTION 2".to_owned(),
        (Place::Host, _) => format!("{}; or run as root", settings.changes()),
    }
}

/// The settings of this machine that decide over user namespaces.
#[derive(Debug, Default)]
struct Settings {
    /// `user.max_user_namespaces`, if it can be read.
    most_namespaces: Option<u64>,
    /// Whether AppArmor keeps programs without a profile from them, as on Ubuntu since 23.10.
    is_kept_by_apparmor: bool,
    /// Whether only root may have them, as on older Debian.
    is_for_root: bool,
}

impl Settings {
    fn read() -> Settings {
        let read = |path: &str| -> Option<u64> {
            let text = fs::read_to_string(Path::new("/proc/sys").join(path)).ok()?;
            text.trim().parse().ok()
        };
        Settings {
            most_namespaces: read("user/max_user_namespaces"),
            is_kept_by_apparmor: read("kernel/apparmor_restrict_unprivileged_userns") == Some(1),
            is_for_root: read("kernel/unprivileged_userns_clone") == Some(0),
        }
    }

    /// Those that forbid user namespaces, as commands that change them.
    fn changes(&self) -> String {
        let settings = [
            (
                "kernel.apparmor_restrict_unprivileged_userns=0",
                self.is_kept_by_apparmor,
            ),
            ("kernel.unprivileged_userns_clone=1", self.is_for_root),
            (
                "user.max_user_namespaces=15000",
                self.most_namespaces == Some(0),
            ),
        ];
        let forbidding: Vec<String> = settings
            .into_iter()
            .filter(|(_, forbids)| *forbids)
            .map(|(change, _)| format!("sudo sysctl -w {change}"))
            .collect();
        if forbidding.is_empty() {
            "let its seccomp filter or security module allow unshare(CLONE_NEWUSER) and mounts"
                .to_owned()
        } else {
            forbidding.join("; ")
        }
    }
}

fn advise_proc(place: Place) -> String {
    match place {
        Place::Docker => "docker run --security-opt systempaths=unconfined …",
        Place::Podman => "podman run --security-opt unmask=ALL …",
        Place::Kubernetes => {
            "procMount: Unmasked in the container's securityContext, with hostUsers: false in the pod"
        }
        _ => "a /proc with parts mounted over forbids another one: run where /proc is whole, or as root",
    }
    .to_owned()
}

fn advise_landlock(place: Place) -> Option<String> {
    let text = match place {
        Place::Docker => {
            "a seccomp profile that lists the landlock_* calls (Docker 23 and later), \
             or docker run --security-opt seccomp=unconfined …; the host's kernel must have it"
        }
        Place::Podman => {
            "podman run --security-opt seccomp=unconfined …; the host's kernel must have it"
        }
        Place::Kubernetes => {
            "seccompProfile: {type: Unconfined} in the container's securityContext; \
             the node's kernel must have it"
        }
        Place::GitHub => return None,
        Place::Wsl => {
            "wsl --update, and kernelCommandLine = lsm=landlock,lockdown,yama,loadpin,safesetid in .wslconfig"
        }
        Place::Host => "add landlock to the kernel's lsm= parameter (Linux 5.13 or later)",
    };
    Some(text.to_owned())
}

fn advise_seccomp(place: Place) -> Option<String> {
    let text = match place {
        Place::Docker => "docker run --security-opt seccomp=unconfined …",
        Place::Podman => "podman run --security-opt seccomp=unconfined …",
        Place::Kubernetes => {
            "seccompProfile: {type: Unconfined} in the container's securityContext"
        }
        Place::GitHub | Place::Wsl | Place::Host => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(layer: Layer) -> Missing {
        Missing {
            layer,
            reason: "refused".to_owned(),
        }
    }

    fn text(layer: Layer, place: Place, is_root: bool) -> String {
        text_with(layer, place, is_root, &Settings::default())
    }

    fn text_with(layer: Layer, place: Place, is_root: bool, settings: &Settings) -> String {
        let advice = missing(layer).advice_with(&[place], is_root, settings);
        advice.first().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn advice_names_the_flags_of_each_place() {
        let docker = text(Layer::Proc, Place::Docker, false);
        assert_eq!(
            docker,
            "Docker: docker run --security-opt systempaths=unconfined …"
        );
        let root = text(Layer::RootCapabilities, Place::Docker, true);
        assert!(root.contains("--cap-add SYS_ADMIN"), "{root}");
        let user = text(Layer::UserNamespace, Place::Docker, false);
        assert!(user.contains("seccomp=unconfined"), "{user}");
        let pod = text(Layer::Proc, Place::Kubernetes, false);
        assert!(pod.contains("procMount: Unmasked"), "{pod}");
        let runner = text(Layer::UserNamespace, Place::GitHub, false);
        assert!(runner.contains("apparmor_restrict_unprivileged_userns=0"));
        assert!(text(Layer::Namespaces, Place::Wsl, false).contains("--set-version"));
    }

    #[test]
    fn advice_names_switched_off_namespaces_before_any_flag_of_the_place() {
        let settings = Settings {
            most_namespaces: Some(0),
            is_kept_by_apparmor: true,
            ..Settings::default()
        };
        for place in [Place::Docker, Place::Kubernetes, Place::GitHub, Place::Host] {
            let advice = text_with(Layer::UserNamespace, place, false, &settings);
            assert!(advice.contains("user.max_user_namespaces is 0"), "{advice}");
            assert!(!advice.contains("unconfined"), "{advice}");
        }
        // Others are not what is missing.
        let proc = text_with(Layer::Proc, Place::Docker, false, &settings);
        assert!(proc.contains("systempaths"), "{proc}");
        let some = Settings {
            most_namespaces: Some(15000),
            is_kept_by_apparmor: true,
            ..Settings::default()
        };
        let host = text_with(Layer::UserNamespace, Place::Host, false, &some);
        assert!(
            host.contains("apparmor_restrict_unprivileged_userns=0"),
            "{host}"
        );
        assert!(!host.contains("max_user_namespaces"), "{host}");
    }

    #[test]
    fn advice_for_a_container_on_a_runner_names_both() {
        let places = [Place::Docker, Place::GitHub];
        let advice = missing(Layer::UserNamespace).advice_in(&places, false);
        let found: Vec<Place> = advice.iter().map(|one| one.place).collect();
        assert_eq!(found, places);
        assert_eq!(
            missing(Layer::StandardStreams).advice_in(&places, false),
            []
        );
    }
}
