//! The recorded answers, and the choice of the next one for a request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use runseal_core::canon::{NoCanonicalForm, Value};
use runseal_core::digest::ContentHash;

use crate::matching::{
    Asked, Difference, Volatile, compute_key, first_difference, likeness, name_request,
};
use crate::recording::{Recorded, Recording};

/// The most misses that are remembered in full.
const MOST_MISSES: usize = 100;

/// Why a request has no recorded answer.
#[derive(Debug, Clone)]
pub(crate) struct Miss {
    what: String,
    reason: &'static str,
    /// The most similar interaction, if there is one.
    pub(crate) nearest: Option<usize>,
    /// Where the request differs from it.
    pub(crate) difference: Option<Difference>,
}

impl Miss {
    /// Returns a message for people: the request, the reason, the most similar one and the first
    /// difference.
    pub(crate) fn message(&self) -> String {
        let Self {
            what,
            reason,
            nearest,
            difference,
        } = self;
        let mut message = format!("{what} {reason}");
        if let Some(nearest) = nearest {
            message.push_str(&format!("; nearest is interaction {nearest}"));
        }
        if let Some(difference) = difference {
            let or_nothing = |text: &Option<String>| text.clone().unwrap_or("nothing".to_owned());
            message.push_str(&format!(
                ", first difference at {}: recorded {}, asked {}",
                difference.pointer,
                or_nothing(&difference.recorded),
                or_nothing(&difference.asked)
            ));
        }
        message
    }
}

/// Where the answer to a request comes from.
#[derive(Debug)]
pub(crate) enum Selection {
    /// From this interaction of the recording, which is then used up.
    Recorded(Arc<Recorded>),
    /// From the upstream: the recording was forked before this request.
    Live,
    /// From nowhere; see [`super::OnMiss`].
    Missed(Miss),
}

/// A recording, and what has been answered from it.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) recording: Recording,
    pub(crate) volatile: Volatile,
    entries: Vec<Entry>,
    by_key: BTreeMap<String, VecDeque<usize>>,
    strict_order: bool,
    is_fork: bool,
    replayed: usize,
    misses: Vec<String>,
    missed: usize,
}

#[derive(Debug)]
struct Entry {
    recorded: Arc<Recorded>,
    form: Value,
    key: ContentHash,
    is_used: bool,
}

impl Library {
    /// Creates a library; with `fork_at`, only of the interactions before that.
    pub(crate) fn new(
        mut recording: Recording,
        volatile: Volatile,
        strict_order: bool,
        fork_at: Option<usize>,
    ) -> Result<Self, NoCanonicalForm> {
        let mut entries = Vec::new();
        let mut by_key: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        let most = fork_at.unwrap_or(usize::MAX);
        let taken = std::mem::take(&mut recording.interactions);
        for (at, recorded) in taken.into_iter().take(most).enumerate() {
            let form = recorded.asked.form(&volatile);
            let key = compute_key(&form)?;
            by_key.entry(key.to_string()).or_default().push_back(at);
            entries.push(Entry {
                recorded: Arc::new(recorded),
                form,
                key,
                is_used: false,
            });
        }
        Ok(Self {
            recording,
            volatile,
            entries,
            by_key,
            strict_order,
            is_fork: fork_at.is_some(),
            replayed: 0,
            misses: Vec::new(),
            missed: 0,
        })
    }

    /// Returns the number of interactions that may be used.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns how many requests were answered, how many interactions were never requested, and the
    /// misses.
    pub(crate) fn tally(&self) -> (u64, u64, Vec<String>) {
        let unused = self.entries.iter().filter(|entry| !entry.is_used).count();
        let mut misses = self.misses.clone();
        if self.missed > misses.len() {
            misses.push(format!("and {} more", self.missed - misses.len()));
        }
        (self.replayed as u64, unused as u64, misses)
    }

    /// Remembers a miss as it was reported to the client.
    pub(crate) fn remember_miss(&mut self, message: String) {
        self.missed += 1;
        if self.misses.len() < MOST_MISSES {
            self.misses.push(message);
        }
    }

    /// Decides where the answer comes from, and counts the interaction as used or missed.
    pub(crate) fn select(&mut self, asked: &Asked) -> Selection {
        if self.is_fork && self.replayed >= self.entries.len() {
            return Selection::Live;
        }
        let form = asked.form(&self.volatile);
        // A request without a canonical form cannot have been recorded.
        let key = compute_key(&form).ok();
        let found = if self.strict_order {
            let next = self.entries.iter().position(|entry| !entry.is_used);
            next.filter(|at| self.entries.get(*at).map(|entry| entry.key) == key)
        } else {
            let queue = key.and_then(|key| self.by_key.get_mut(&key.to_string()));
            queue.and_then(VecDeque::pop_front)
        };
        match found.and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => {
                entry.is_used = true;
                self.replayed += 1;
                Selection::Recorded(Arc::clone(&entry.recorded))
            }
            None => Selection::Missed(self.explain(asked, &form, key)),
        }
    }

    /// Takes the recorded reply to the server's question `id`, whatever it says.
    pub(crate) fn take_answer(&mut self, id: &Value) -> Option<Arc<Recorded>> {
        let entry = self.entries.iter_mut().find(|entry| {
            let body = entry.form.get("body");
            let is_answer = body.is_some_and(|body| body.get("method").is_none());
            !entry.is_used && is_answer && body.and_then(|body| body.get("id")) == Some(id)
        })?;
        entry.is_used = true;
        self.replayed += 1;
        Some(Arc::clone(&entry.recorded))
    }

    fn explain(&self, asked: &Asked, form: &Value, key: Option<ContentHash>) -> Miss {
        let was_recorded = self.entries.iter().any(|entry| Some(entry.key) == key);
        let reason = match (was_recorded, self.strict_order) {
            (true, true) => "was recorded, but not as the next request",
            (true, false) => "was asked more often than recorded",
            (false, _) => "was not recorded",
        };
        // In strict order the one that is due; otherwise the most similar, preferably an unused one.
        let due = self.entries.iter().position(|entry| !entry.is_used);
        let nearest = match (self.strict_order, due) {
            (true, Some(due)) => Some(due),
            _ => {
                let is_candidate = |entry: &Entry| due.is_none() || !entry.is_used;
                let candidates = self.entries.iter().enumerate();
                let candidates = candidates.filter(|(_, entry)| is_candidate(entry));
                // Of equally similar ones the first: `max_by_key` alone would return the last.
                candidates
                    .rev()
                    .max_by_key(|(_, entry)| likeness(&entry.form, form))
                    .map(|(at, _)| at)
            }
        };
        let difference = nearest
            .and_then(|at| self.entries.get(at))
            .and_then(|entry| first_difference(&entry.form, form));
        Miss {
            what: name_request(&asked.method, &asked.path),
            reason,
            nearest,
            difference,
        }
    }
}
