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
        places
            .iter()
            .filter_map(|place| {
                let text = advise(self.layer, *place, is_root)?;
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

fn advise(layer: Layer, place: Place, is_root: bool) -> Option<String> {
    match layer {
        Layer::RootCapabilities
        | Layer::UserNamespace
        | Layer::Namespaces
        | Layer::IdMap
        | Layer::Root
        | Layer::Pivot => Some(advise_namespaces(place, is_root)),
        Layer::Proc => Some(advise_proc(place)),
        Layer::Landlock => advise_landlock(place),
        Layer::Seccomp | Layer::Observation => advise_seccomp(place),
        _ => None,
    }
}

fn advise_namespaces(place: Place, is_root: bool) -> String {
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
        (Place::Host, _) => format!("{}; or run as root", forbidding_settings()),
    }
}

/// The settings of this machine that forbid user namespaces, as commands that change them.
fn forbidding_settings() -> String {
    let read = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let settings = [
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1"),
            "0",
        ),
        (
            "kernel.unprivileged_userns_clone",
            read("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0"),
            "1",
        ),
        (
            "user.max_user_namespaces",
            read("/proc/sys/user/max_user_namespaces").as_deref() == Some("0"),
            "15000",
        ),
    ];
    let forbidding: Vec<String> = settings
        .into_iter()
        .filter(|(_, forbids, _)| *forbids)
        .map(|(name, _, value)| format!("sudo sysctl -w {name}={value}"))
        .collect();
    if forbidding.is_empty() {
        "let its seccomp filter or security module allow unshare(CLONE_NEWUSER) and mounts"
            .to_owned()
    } else {
        forbidding.join("; ")
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
        let advice = missing(layer).advice_in(&[place], is_root);
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
