//! Determines which message of the client caused a message of the server.

use std::collections::BTreeMap;

use super::message::Message;

/// The state of a session. Interactions are numbered in the order of the client's messages.
#[derive(Debug, Default)]
pub(super) struct Attribution {
    next: u64,
    /// The client's requests that have no answer yet, by id.
    pending: BTreeMap<String, u64>,
    /// Requests by progress token.
    tokens: BTreeMap<String, u64>,
    /// The request during which the server asked something, by the id of the server's question.
    asked_during: BTreeMap<String, u64>,
    /// The last message of the client that belongs to each request.
    latest: BTreeMap<u64, u64>,
}

impl Attribution {
    /// Registers a message of the client; returns its number.
    pub(super) fn client(&mut self, message: &Message) -> u64 {
        let x = self.next;
        self.next += 1;
        match message {
            Message::Request { id, token, .. } => {
                self.pending.insert(id.clone(), x);
                self.latest.insert(x, x);
                if let Some(token) = token {
                    self.tokens.insert(token.clone(), x);
                }
            }
            Message::Answer { id } => {
                if let Some(request) = self.asked_during.remove(id) {
                    self.latest.insert(request, x);
                }
            }
            Message::Notification { .. } | Message::Other => {}
        }
        x
    }

    /// Registers a message of the server. Returns the number of the client's message that it
    /// belongs to (`None` before the client's first), and the request that it answers, if any.
    pub(super) fn server(&mut self, message: &Message) -> (Option<u64>, Option<u64>) {
        let last = self.next.checked_sub(1);
        let request = match message {
            Message::Answer { id } => self.pending.remove(id),
            Message::Notification {
                token: Some(token), ..
            } => self.tokens.get(token).copied(),
            _ => None,
        };
        let answered = match message {
            Message::Answer { .. } => request,
            _ => None,
        };
        // Otherwise it belongs to the most recent open request.
        let request = request.or_else(|| self.pending.values().copied().max());
        if let (Message::Request { id, .. }, Some(request)) = (message, request) {
            self.asked_during.insert(id.clone(), request);
        }
        let cause = request.and_then(|request| self.latest.get(&request).copied());
        (cause.or(last), answered)
    }

    /// Returns the number of messages from the client.
    pub(super) fn said(&self) -> u64 {
        self.next
    }

    /// Returns the requests that have no answer yet.
    pub(super) fn unanswered(&self) -> Vec<u64> {
        self.pending.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::parse(text.as_bytes()).0
    }

    #[test]
    fn attribution_messages_after_a_reply_belong_to_the_reply() {
        let mut said = Attribution::default();
        assert_eq!(said.server(&message(r#"{"method":"hello"}"#)), (None, None));
        let call =
            message(r#"{"id":7,"method":"tools/call","params":{"_meta":{"progressToken":"p"}}}"#);
        assert_eq!(said.client(&call), 0);
        let other = message(r#"{"id":8,"method":"tools/call","params":{}}"#);
        assert_eq!(said.client(&other), 1);
        // Progress names its request; a question does not, and belongs to the most recent request.
        let progress =
            message(r#"{"method":"notifications/progress","params":{"progressToken":"p"}}"#);
        assert_eq!(said.server(&progress), (Some(0), None));
        let question = message(r#"{"id":1,"method":"elicitation/create"}"#);
        assert_eq!(said.server(&question), (Some(1), None));
        assert_eq!(said.client(&message(r#"{"id":1,"result":{}}"#)), 2);
        assert_eq!(
            said.server(&message(r#"{"id":8,"result":{}}"#)),
            (Some(2), Some(1))
        );
        assert_eq!(
            said.server(&message(r#"{"id":7,"result":{}}"#)),
            (Some(0), Some(0))
        );
        assert!(said.unanswered().is_empty());
        // An unsolicited message belongs to the client's last one.
        assert_eq!(
            said.server(&message(r#"{"method":"notifications/x"}"#)),
            (Some(2), None)
        );
    }
}
