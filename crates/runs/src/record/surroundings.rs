//! What RUN_ENVIRONMENT.json tells of a recorded command beside the files of the machine: links, rights and times,
//! packages of languages, the commit of the folder, and what the run took of the machine.

use std::time::Duration;

use runseal_core::canon::Value;
use runseal_core::formats::run_bundle::recorded::{Attributes, ListedLink};

use super::git::GitState;
use super::languages::LanguagePackage;
use super::same_files::SameFiles;

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) links: Vec<ListedLink>,
    pub(crate) attributes: Vec<Attributes>,
    /// Not of a redactable bundle.
    pub(crate) same: SameFiles,
    pub(crate) packages: Vec<LanguagePackage>,
    pub(crate) git: Option<GitState>,
    /// Not of a redactable bundle.
    pub(crate) usage: Option<Usage>,
    /// Whether every file that was read is sealed with its content.
    pub(crate) is_self_contained: bool,
}

/// What a run took of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    /// The processors' time of all its processes, if that is known.
    pub(crate) cpu: Option<Duration>,
    /// The most memory that it had at once, if that is known: of its largest process, or in a control group of all
    /// together.
    pub(crate) memory_bytes: Option<u64>,
}

impl Surroundings {
    /// Adds the members to RUN_ENVIRONMENT.json.
    pub(crate) fn add_to(&self, environment: &mut Value) {
        let link = |link: &ListedLink| {
            Value::object([
                ("path", link.path.as_str()),
                ("target", link.target.as_str()),
            ])
        };
        environment.insert("links", Value::array(self.links.iter().map(link)));
        let attributes = self.attributes.iter().map(attributes_value);
        environment.insert("attributes", Value::array(attributes));
        self.same.add_to(environment);
        let packages = self.packages.iter().map(LanguagePackage::to_value);
        environment.insert("packages", Value::array(packages));
        if let Some(git) = &self.git {
            environment.insert("git", git.to_value());
        }
        if let Some(usage) = self.usage {
            environment.insert("usage", usage.to_value());
        }
        if self.is_self_contained {
            environment.insert("self_contained", true);
        }
    }
}

impl Usage {
    fn to_value(self) -> Value {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut value = Value::object([("wall_ms", millis(self.wall))]);
        if let Some(cpu) = self.cpu {
            value.insert("cpu_ms", millis(cpu));
        }
        if let Some(bytes) = self.memory_bytes {
            value.insert("memory_bytes", bytes);
        }
        value
    }
}

fn attributes_value(of: &Attributes) -> Value {
    let (seconds, nanoseconds) = of.modified;
    Value::object([
        ("path", of.path.as_str()),
        ("mode", format!("{:04o}", of.mode).as_str()),
        ("modified", format!("{seconds}.{nanoseconds:09}").as_str()),
    ])
}
