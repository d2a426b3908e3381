//! Model calls through a proxy: the exchange becomes the pack's model_io.json, and a replay answers
//! from it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use runseal_core::canon::{Node, ReadOptions, Value, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::model_io::bodies::{bodies_folder, hold_body, parse_body_file};
use runseal_core::formats::policy::Policy;
use runseal_core::limits::JsonLimits;

use super::HarnessError;
use runseal_fs::atomic::{Readers, write_new};
use runseal_fs::input::read_file;
use runseal_fs::models::{ModelSession, ModelTraffic, StartReplay};
use runseal_fs::private::PrivateFolder;

/// The adapter named by the proxy's recordings.
const ADAPTER: &str = "http-proxy";
/// The most bytes of long requests and answers that a pack contains: as many as for the output of
/// commands.
const LARGEST_BODIES: u64 = 32 << 20;
/// The end of calls that the proxy did not forward.
const REFUSED: &str = "refused";

/// Ends a recording session; returns the recording and what it may have missed.
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
    check_models(root, policy)?;
    let mut recording = root.to_value();
    if let Some(bodies) = take_in_bodies(root, &path)? {
        recording.insert("bodies", bodies);
    }
    Ok((recording, traffic.gaps))
}

/// Moves large bodies into the recording as members, because a pack cannot contain its files.
fn take_in_bodies(root: Node<'_>, path: &Path) -> Result<Option<Value>, HarnessError> {
    let parts = interactions(root).flat_map(|node| [node.get("request"), node.get("response")]);
    let named: BTreeSet<Digest> = parts
        .flatten()
        .filter_map(|part| Some(parse_body_file(part)?.sha256))
        .collect();
    if named.is_empty() {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.with_file_name(bodies_folder(&name));
    let mut room = LARGEST_BODIES;
    let mut bodies = Value::object::<Value>([]);
    for digest in named {
        let path = folder.join(digest.to_string());
        let size = std::fs::metadata(&path).map_or(0, |file| file.len());
        room = room.checked_sub(size).ok_or_else(|| {
            let what = "more than 32 MiB of long requests and answers were recorded, which a pack \
                        cannot contain; `runseal record --proxy` can";
            HarnessError::Invalid(what.to_owned())
        })?;
        let bytes = read_file(&path, LARGEST_BODIES)
            .map_err(|error| HarnessError::Internal(error.to_string()))?;
        bodies.insert(&digest.to_string(), hold_body(&bytes));
    }
    Ok(Some(bodies))
}

fn interactions(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let list = root.get("interactions").map(|list| list.items());
    list.into_iter().flatten()
}

/// Checks PL4: only models that the policy names were called. The proxy itself refuses others; this
/// check also covers recordings made by something else.
fn check_models(root: Node<'_>, policy: &Policy) -> Result<(), HarnessError> {
    let allowed = &policy.allowed_models;
    if allowed.is_empty() {
        return Ok(());
    }
    let asked = |interaction: Node<'_>| {
        let end = interaction.get("response")?.get("end")?;
        if end.as_str().as_deref() == Some(REFUSED) {
            return None;
        }
        let body = interaction.get("request")?.get("body")?;
        Some(body.get("model")?.as_str()?.into_owned())
    };
    let mut models = interactions(root).filter_map(asked);
    match models.find(|model| !allowed.contains(model)) {
        None => Ok(()),
        Some(model) => Err(HarnessError::Policy(format!(
            "PL4: model `{model}` was called but is not among allowed_models"
        ))),
    }
}

/// A session that answers from a pack's recording.
pub(super) struct Answering {
    session: Arc<dyn ModelSession>,
    /// The folder of the recording, deleted with the session.
    _folder: PrivateFolder,
}

impl Answering {
    /// Starts a session if the recording was made by the proxy.
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
            let what = "models were called, and this build cannot answer for them (feature `net`)";
            HarnessError::Invalid(what.to_owned())
        })?;
        let fault = |error: std::io::Error| HarnessError::Internal(error.to_string());
        let folder = PrivateFolder::create("models").map_err(fault)?;
        let path = folder.path().join("model_io.json");
        write_new(&path, recording, Readers::Owner)
            .map_err(|error| HarnessError::Internal(error.to_string()))?;
        let session = start(&path).map_err(HarnessError::Invalid)?;
        Ok(Some(Self {
            session,
            _folder: folder,
        }))
    }

    /// The session that answers commands.
    pub(super) fn session(&self) -> &Arc<dyn ModelSession> {
        &self.session
    }

    /// Ends the session; returns what was exchanged.
    pub(super) fn finish(&self) -> Result<ModelTraffic, HarnessError> {
        self.session.finish().map_err(HarnessError::Internal)
    }
}
