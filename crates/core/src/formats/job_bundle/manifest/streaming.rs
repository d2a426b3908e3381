//! Streams a manifest, so that its text need not be in memory: most of it is field names, and
//! hashes in hex.
//!
//! Only a manifest without faults is read this way: stored canonically, every field present with
//! its type, no unknown field, steps in order. Anything else is read whole, because its findings
//! have lines and columns.

use std::io::Read;

use super::matching::match_steps;
use super::reading::{Reading, read_artifact, read_step};
use super::records::{ArtifactRecord, Keeping, Step, StepRecord};
use super::{ARTIFACT_FIELDS, Manifest, Matching, root_of};
use crate::canon::{Node, NotPassing, ReadOptions, Window, parse_outline};
use crate::digest::{Digest, Hasher};
use crate::formats::job_bundle::hashes::{PlanHasher, STEP_FIELDS, write_without_root_hash};
use crate::limits::{JsonLimits, max_manifest_elements};

/// What is kept of a streamed manifest.
#[derive(Debug)]
pub struct StreamedManifest {
    /// Its text, with empty lists of steps and artifacts.
    outline: String,
    /// The texts of steps and artifacts that rules need.
    texts: String,
    steps: Vec<StepRecord>,
    artifacts: Vec<ArtifactRecord>,
    bundle_id: Digest,
    plan_hash: Digest,
    root_hash: Option<Digest>,
    matching: Option<Matching>,
    bytes: usize,
}

impl StreamedManifest {
    /// Reads a manifest to its end; `None` if it must be read whole.
    pub fn read(input: &mut dyn Read) -> Option<Self> {
        let streaming = Streaming {
            window: Window::new(input, JsonLimits::LARGEST_DOCUMENT),
            reading: Reading::default(),
            outline: String::new(),
            texts: String::new(),
            steps: Vec::new(),
            artifacts: Vec::new(),
            hasher: Hasher::new(),
            plan: None,
        };
        let streamed = streaming.read().ok()?;
        let order = |step| Step::new(step, &streamed.texts).order();
        let is_sorted = streamed.steps.is_sorted_by(|a, b| order(a) < order(b));
        is_sorted.then_some(streamed)
    }

    /// The manifest for the rules; `None` if it must be read whole.
    pub fn manifest(&self) -> Option<Manifest<'_>> {
        let names = super::LONG_LISTS;
        let options = ReadOptions::default();
        let outline = parse_outline(self.outline.as_bytes(), &options, &names, &mut |_| ()).ok()?;
        if !outline.is_stored_as_job("\n") {
            return None;
        }
        let steps = super::LongPart::read_before(&self.steps);
        let artifacts = super::LongPart::read_before(&self.artifacts);
        let mut manifest = Manifest::assemble(outline, (steps, artifacts), &self.texts, self.bytes);
        // The hashes were computed while streaming; those over the emptied lists would differ.
        manifest.computed_id = Some(Ok(self.bundle_id));
        manifest.streamed_plan_hash = Some(self.plan_hash);
        manifest.computed_root = self.root_hash;
        manifest.matching = self.matching;
        manifest.problems.is_empty().then_some(manifest)
    }
}

struct Streaming<'r> {
    window: Window<'r>,
    reading: Reading,
    outline: String,
    texts: String,
    steps: Vec<StepRecord>,
    artifacts: Vec<ArtifactRecord>,
    /// Hashes the manifest without its own id and the root hash.
    hasher: Hasher,
    /// Begun when the run id was read, which comes before the steps.
    plan: Option<PlanHasher>,
}

impl Streaming<'_> {
    fn read(mut self) -> Result<StreamedManifest, NotPassing> {
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
        Ok(StreamedManifest {
            bytes: usize::try_from(self.window.bytes_read()).map_err(|_| NotPassing)?,
            root_hash: root_of(&self.artifacts),
            matching: match_steps(&self.steps, &self.artifacts, &self.texts),
            outline: self.outline,
            texts: self.texts,
            steps: self.steps,
            artifacts: self.artifacts,
            bundle_id: self.hasher.finish(),
            plan_hash: self.plan.ok_or(NotPassing)?.finish(),
        })
    }

    /// Adds text to the outline and to the hash.
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

    /// Streams a step; returns how many there are so far.
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

    /// Streams an artifact's entry; returns how many there are so far.
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

/// Fails unless an element has exactly its fields, each with its type.
fn sound(node: Node<'_>, fields: usize, reading: &Reading) -> Result<(), NotPassing> {
    if reading.problems.is_empty() && node.len() == fields {
        Ok(())
    } else {
        Err(NotPassing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::job_bundle::hashes::derive_artifact_id;

    /// A canonically stored manifest of three reads; its hashes are made up.
    fn stored() -> String {
        let hex = "0123456789abcdef".repeat(4);
        let reads = [("@a", "head(1)"), ("f", "lines[0:2]"), ("g", "tail(3)")];
        let mut artifacts: Vec<String> = reads
            .iter()
            .map(|(reference, slice)| {
                let id = derive_artifact_id(reference, slice);
                format!(
                    r#"{{"artifact_id":"{id}","bytes":7,"kind":"SECTION_SLICE","path":"artifacts/{id}.txt","ref":"{reference}","sha256":"{hex}","slice":"{slice}"}}"#
                )
            })
            .collect();
        artifacts.sort();
        let steps = reads.iter().enumerate().map(|(at, (reference, slice))| {
            format!(
                r#"{{"constraints":{{"slice":"{slice}"}},"expected_outputs":{{}},"op":"READ_SECTION","ordinal":{at},"refs":{{"section_id":"{reference}"}},"step_id":"s{at}"}}"#
            )
        });
        let steps: Vec<String> = steps.collect();
        format!(
            "{{\"artifacts\":[{}],\"bundle_id\":\"{hex}\",\"bundle_version\":\"5.0.0\",\"hashes\":{{\"root_hash\":\"{hex}\"}},\"inputs\":{{\"files\":[\"f\",\"g\"],\"slices\":[\"head(1)\",\"lines[0:2]\",\"tail(3)\"],\"symbols\":[\"@a\"]}},\"job_id\":\"j\",\"message_id\":\"m\",\"plan_hash\":\"{hex}\",\"provenance\":{{}},\"run_id\":\"r\",\"steps\":[{}]}}\n",
            artifacts.join(","),
            steps.join(",")
        )
    }

    /// Everything that rules see of a manifest except positions in its text.
    fn shown(manifest: &Manifest<'_>) -> String {
        let steps = manifest.steps().map(|step| {
            let read = (step.pair(), step.op());
            format!("{:?} {read:?}", step.order())
        });
        let artifacts = manifest.artifacts().map(|artifact| {
            let names = (artifact.artifact_id(), artifact.key(), artifact.pair());
            let file = (artifact.elsewhere(), artifact.is_in_place());
            let content = (artifact.kind(), artifact.sha256(), artifact.bytes());
            format!("{names:?} {file:?} {content:?}")
        });
        let inputs =
            (0..3).map(|list| format!("{:?}", manifest.input_texts(list).collect::<Vec<_>>()));
        let lines: Vec<String> = steps.chain(artifacts).chain(inputs).collect();
        let keys: Vec<_> = manifest.outline.keys().collect();
        format!(
            "{lines:#?} {keys:?} {:?} {:?} {:?} {:?} {:?}",
            manifest.problems,
            manifest.computed_id,
            manifest.computed_root,
            manifest.matching,
            manifest.outline.is_stored_as_job("\n"),
        )
    }

    #[test]
    fn streamed_manifest_equals_whole_one() {
        let text = stored();
        let streamed = StreamedManifest::read(&mut text.as_bytes()).unwrap();
        let manifest = streamed.manifest().unwrap();
        let whole = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(shown(&manifest), shown(&whole));
        assert!(manifest.matching.is_some());
        let run_id = whole.outline.get("run_id").unwrap();
        let mut plan = PlanHasher::begin(run_id).unwrap();
        let mut elements = whole.outline.elements();
        for step in whole.steps() {
            let added = elements.look(step.start(), |node| plan.add(node));
            added.unwrap().unwrap().unwrap();
        }
        assert_eq!(manifest.streamed_plan_hash, Some(plan.finish()));
    }

    #[test]
    fn manifest_with_any_fault_is_not_streamed() {
        let text = stored();
        for (from, to) in [
            ("\"ordinal\":1", "\"ordinal\":9"),
            ("\"ordinal\":1", "\"ordinal\":1.0"),
            ("\"ordinal\":1", "\"ordinal\": 1"),
            ("\"bytes\":7", "\"bytes\":-7"),
            ("\"bytes\":7", "\"bytes\":7,\"extra\":1"),
            ("\"step_id\":\"s1\"", "\"step_id\":null"),
            ("\"step_id\":\"s1\"", "\"step_id\":\"\\ud800\""),
            ("\"op\":\"READ_SECTION\"", "\"op\":\"WRITE\""),
            (
                "\"bundle_version\":\"5.0.0\"",
                "\"bundle_version\":\"4.0.0\"",
            ),
            ("\"run_id\":\"r\",", ""),
            ("\"job_id\":\"j\",", "\"job_id\":\"j\",\"job_id\":\"j\","),
            ("\"provenance\":{}", "\"provenance\":[]"),
            ("]}\n", "]}"),
            ("]}\n", "]}\n\n"),
            ("]}\n", "]"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            let streamed = StreamedManifest::read(&mut edited.as_bytes());
            let is_read = streamed.is_some_and(|streamed| streamed.manifest().is_some());
            assert!(!is_read, "{from} {to}");
        }
    }
}
