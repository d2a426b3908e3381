//! Reads a manifest as it passes by, so that its text need not be held: most of it is names of fields, and hashes
//! as hex.
//!
//! Only a manifest without a fault is read this way: stored canonically, every field there with its type and none
//! that is unknown, steps in order. Anything else is read whole, because its findings have lines and columns.

use std::io::Read;

use super::reading::{Reading, read_artifact, read_step};
use super::records::{ArtifactRecord, Keeping, StepRecord};
use super::{ARTIFACT_FIELDS, Manifest};
use crate::canon::{Node, NotPassing, ReadOptions, Window, parse_outline};
use crate::digest::{Digest, Hasher};
use crate::formats::job_bundle::hashes::{PlanHasher, STEP_FIELDS, write_without_root_hash};
use crate::limits::{JsonLimits, max_manifest_elements};

/// What is kept of a manifest that passed by.
#[derive(Debug)]
pub struct PassedManifest {
    /// Its text, with nothing in the lists of steps and artifacts.
    outline: String,
    /// What those say that rules ask for.
    texts: String,
    steps: Vec<StepRecord>,
    artifacts: Vec<ArtifactRecord>,
    bundle_id: Digest,
    plan_hash: Digest,
    bytes: usize,
}

impl PassedManifest {
    /// Reads a manifest to its end; `None` where it has to be read whole.
    pub fn read(input: &mut dyn Read) -> Option<Self> {
        let passing = Passing {
            window: Window::new(input, JsonLimits::LARGEST_DOCUMENT),
            reading: Reading::default(),
            outline: String::new(),
            texts: String::new(),
            steps: Vec::new(),
            artifacts: Vec::new(),
            hasher: Hasher::new(),
            plan: None,
        };
        let passed = passing.read().ok()?;
        let order = |at: usize| {
            let step = passed.steps[at].view(&passed.texts);
            (step.ordinal, step.step_id)
        };
        let is_sorted = (1..passed.steps.len()).all(|at| order(at - 1) < order(at));
        is_sorted.then_some(passed)
    }

    /// What the manifest says; `None` where it has to be read whole.
    pub fn manifest(&self) -> Option<Manifest<'_>> {
        let names = super::LONG_LISTS;
        let options = ReadOptions::default();
        let outline = parse_outline(self.outline.as_bytes(), &options, &names, &mut |_| ()).ok()?;
        if !outline.is_stored_as_job("\n") {
            return None;
        }
        let steps = super::LongPart::passed(&self.steps);
        let artifacts = super::LongPart::passed(&self.artifacts);
        let mut manifest = Manifest::assemble(outline, (steps, artifacts), &self.texts, self.bytes);
        // What the document is hashed as was seen in passing; an empty list would give another hash.
        manifest.computed_id = Some(Ok(self.bundle_id));
        manifest.passed_plan_hash = Some(self.plan_hash);
        manifest.problems.is_empty().then_some(manifest)
    }
}

struct Passing<'r> {
    window: Window<'r>,
    reading: Reading,
    outline: String,
    texts: String,
    steps: Vec<StepRecord>,
    artifacts: Vec<ArtifactRecord>,
    /// Of the manifest without its own id and the root hash.
    hasher: Hasher,
    /// Begun where the id of the run has passed, which stands before the steps.
    plan: Option<PlanHasher>,
}

impl Passing<'_> {
    fn read(mut self) -> Result<PassedManifest, NotPassing> {
        self.window.expect(b'{')?;
        self.note("{");
        loop {
            self.member()?;
            if !self.window.pass(b',')? {
                break;
            }
            self.note(",");
        }
        self.window.expect(b'}')?;
        self.note("}");
        self.window.expect(b'\n')?;
        self.outline.push('\n');
        if self.window.peek()?.is_some() {
            return Err(NotPassing);
        }
        self.steps.shrink_to_fit();
        self.artifacts.shrink_to_fit();
        Ok(PassedManifest {
            bytes: usize::try_from(self.window.bytes_read()).map_err(|_| NotPassing)?,
            outline: self.outline,
            texts: self.texts,
            steps: self.steps,
            artifacts: self.artifacts,
            bundle_id: self.hasher.finish(),
            plan_hash: self.plan.ok_or(NotPassing)?.finish(),
        })
    }

    /// Takes note of text that stands in the outline and is hashed.
    fn note(&mut self, text: &str) {
        self.outline.push_str(text);
        self.hasher.update(text.as_bytes());
    }

    fn member(&mut self) -> Result<(), NotPassing> {
        let (outline, hasher) = (&mut self.outline, &mut self.hasher);
        let key = self.window.value(1, |node, raw| {
            outline.push_str(raw);
            hasher.update(raw.as_bytes());
            node.as_str().map(|key| key.into_owned())
        })?;
        let key = key.ok_or(NotPassing)?;
        self.window.expect(b':')?;
        self.note(":");
        match key.as_str() {
            "artifacts" => return self.list(Self::artifact),
            "steps" => return self.list(Self::step),
            _ => {}
        }
        let (outline, hasher, plan) = (&mut self.outline, &mut self.hasher, &mut self.plan);
        self.window.value(1, |node, raw| {
            outline.push_str(raw);
            match key.as_str() {
                "bundle_id" => hasher.update(b"\"\""),
                "hashes" => write_without_root_hash(hasher, node).map_err(|_| NotPassing)?,
                _ => hasher.update(raw.as_bytes()),
            }
            if key == "run_id" {
                *plan = PlanHasher::begin(node).ok();
            }
            Ok(())
        })?
    }

    fn list(
        &mut self,
        element: fn(&mut Self) -> Result<usize, NotPassing>,
    ) -> Result<(), NotPassing> {
        self.window.expect(b'[')?;
        self.note("[");
        if !self.window.pass(b']')? {
            loop {
                let count = element(self)?;
                let read = usize::try_from(self.window.bytes_read()).map_err(|_| NotPassing)?;
                if count > max_manifest_elements(read) {
                    return Err(NotPassing);
                }
                if !self.window.pass(b',')? {
                    break;
                }
                self.hasher.update(b",");
            }
            self.window.expect(b']')?;
        }
        self.note("]");
        Ok(())
    }

    /// Passes a step; how many there are then.
    fn step(&mut self) -> Result<usize, NotPassing> {
        let (hasher, reading) = (&mut self.hasher, &mut self.reading);
        let plan = self.plan.as_mut().ok_or(NotPassing)?;
        let mut keeping = Keeping::Apart(&mut self.texts);
        let step = self.window.value(2, |node, raw| {
            hasher.update(raw.as_bytes());
            plan.add_stored(raw);
            let step = read_step(reading, (node, usize::MAX), &mut keeping, &String::new);
            sound(node, STEP_FIELDS.len(), reading).map(|()| step)
        })??;
        self.steps.push(step);
        Ok(self.steps.len())
    }

    /// Passes an artifact's entry; how many there are then.
    fn artifact(&mut self) -> Result<usize, NotPassing> {
        let (hasher, reading) = (&mut self.hasher, &mut self.reading);
        let mut keeping = Keeping::Apart(&mut self.texts);
        let artifact = self.window.value(2, |node, raw| {
            hasher.update(raw.as_bytes());
            let artifact = read_artifact(reading, (node, usize::MAX), &mut keeping, &String::new);
            sound(node, ARTIFACT_FIELDS.len(), reading).map(|()| artifact)
        })??;
        self.artifacts.push(artifact);
        Ok(self.artifacts.len())
    }
}

/// Goes on where an element has its fields and no others, each with its type.
fn sound(node: Node<'_>, fields: usize, reading: &Reading) -> Result<(), NotPassing> {
    match reading.problems.is_empty() && node.len() == fields {
        true => Ok(()),
        false => Err(NotPassing),
    }
}
