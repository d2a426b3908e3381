//! Models that commands ask through a proxy: what they said becomes the pack's model_io.json, and a replay
//! answers from it.

use std::sync::Arc;

use runseal_core::canon::{Node, ReadOptions, Value, parse_document};
use runseal_core::formats::model_io::bodies::parse_body_file;
use runseal_core::formats::policy::Policy;
use runseal_core::limits::JsonLimits;

use super::HarnessError;
use crate::input::read_file;
use crate::models::{ModelSession, ModelTraffic, StartReplay};

/// The adapter that recordings of the proxy name.
const ADAPTER: &str = "http-proxy";

/// Ends a session that recorded; gives its recording and what it cannot have seen.
pub(super) fn finish_recording(
    session: &dyn ModelSession,
    policy: &Policy,
) -> Result<(Value, Vec<String>), HarnessError> {
    let traffic = session.finish().map_err(HarnessError::Internal)?;
    let path = traffic
        .recording
        .ok_or_else(|| HarnessError::Internal("the session made no recording".to_owned()))?;
    let bytes = read_file(&path, JsonLimits::LARGEST_DOCUMENT)
        .map_err(|error| HarnessError::Internal(error.to_string()))?;
    let document = parse_document(&bytes, &ReadOptions::default())
        .map_err(|error| HarnessError::NotJson(error.kind.to_string()))?;
    let root = document.root();
    if interactions(root).any(has_body_file) {
        return Err(HarnessError::Invalid(
            "more than 1,000,000 bytes were sent to a model or came from it at once, which a pack \
             cannot hold; `runseal record --proxy` can"
                .to_owned(),
        ));
    }
    check_models(root, policy)?;
    Ok((root.to_value(), traffic.gaps))
}

fn interactions(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let list = root.get("interactions").map(|list| list.items());
    list.into_iter().flatten()
}

fn has_body_file(interaction: Node<'_>) -> bool {
    let part = |name: &str| interaction.get(name).and_then(parse_body_file).is_some();
    part("request") || part("response")
}

/// PL4: only models that the policy names answered.
fn check_models(root: Node<'_>, policy: &Policy) -> Result<(), HarnessError> {
    let allowed = &policy.allowed_models;
    if allowed.is_empty() {
        return Ok(());
    }
    let asked = |interaction: Node<'_>| {
        let body = interaction.get("request")?.get("body")?;
        Some(body.get("model")?.as_str()?.into_owned())
    };
    let mut models = interactions(root).filter_map(asked);
    match models.find(|model| !allowed.contains(model)) {
        None => Ok(()),
        Some(model) => Err(HarnessError::Policy(format!(
            "PL4: model `{model}` was asked and is not among allowed_models"
        ))),
    }
}

/// A session that answers from a pack's recording.
pub(super) struct Answering {
    session: Arc<dyn ModelSession>,
    /// Holds the recording while it is answered from.
    _folder: tempfile::TempDir,
}

impl Answering {
    /// Starts one, where the recording is the proxy's.
    pub(super) fn start(
        recording: &[u8],
        start: Option<StartReplay<'_>>,
    ) -> Result<Option<Self>, HarnessError> {
        let document = parse_document(recording, &ReadOptions::default())
            .map_err(|error| HarnessError::NotJson(error.kind.to_string()))?;
        let adapter = document.root().get("adapter_id");
        if adapter.and_then(|adapter| adapter.as_str()).as_deref() != Some(ADAPTER) {
            return Ok(None);
        }
        let start = start.ok_or_else(|| {
            let what = "models were asked, and this build cannot answer for them (feature `net`)";
            HarnessError::Invalid(what.to_owned())
        })?;
        let fault = |error: std::io::Error| HarnessError::Internal(error.to_string());
        let folder = tempfile::Builder::new()
            .prefix("runseal-models-")
            .tempdir()
            .map_err(fault)?;
        let path = folder.path().join("model_io.json");
        std::fs::write(&path, recording).map_err(fault)?;
        let session = start(&path).map_err(HarnessError::Invalid)?;
        Ok(Some(Self {
            session,
            _folder: folder,
        }))
    }

    /// Who answers.
    pub(super) fn session(&self) -> &Arc<dyn ModelSession> {
        &self.session
    }

    /// Ends it.
    pub(super) fn finish(&self) -> Result<ModelTraffic, HarnessError> {
        self.session.finish().map_err(HarnessError::Internal)
    }
}
