//! Keys that stay outside the sandbox: an isolated client has a stand-in for its key, and the proxy
//! replaces it with the real key on the way to the upstream.

use hyper::HeaderMap;
use hyper::header::HeaderValue;

use super::Upstream;

/// The stand-in that clients have instead of a key.
pub use runseal_fs::models::KEY_STAND_IN as STAND_IN;

/// The keys of the known APIs.
#[derive(Clone, Default)]
pub struct Keys {
    /// Sent as `authorization`.
    pub openai: Option<String>,
    /// Sent as `x-api-key`.
    pub anthropic: Option<String>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Returns all keys that are set.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        [&self.openai, &self.anthropic]
            .into_iter()
            .filter_map(Option::as_deref)
    }

    /// Replaces stand-ins with keys; returns whether there were any. A public upstream gets only its own
    /// key, whichever header the client used.
    pub(super) fn put_in(
        &self,
        headers: &mut HeaderMap,
        upstream: &Upstream,
        is_public: bool,
    ) -> bool {
        let mut any = false;
        let is_anthropic = upstream.is_anthropic();
        let (openai, anthropic) = match (is_public, is_anthropic) {
            (false, _) => (self.openai.as_deref(), self.anthropic.as_deref()),
            (true, true) => (None, self.anthropic.as_deref()),
            (true, false) => (self.openai.as_deref(), None),
        };
        for (name, scheme, key) in [
            ("authorization", "Bearer ", openai),
            ("x-api-key", "", anthropic),
        ] {
            let is_stand_in = headers.get(name).is_some_and(|value| {
                let rest = value.as_bytes().strip_prefix(scheme.as_bytes());
                rest == Some(STAND_IN.as_bytes())
            });
            let value = key.and_then(|key| HeaderValue::from_str(&format!("{scheme}{key}")).ok());
            if let (true, Some(mut value)) = (is_stand_in, value) {
                value.set_sensitive(true);
                headers.insert(name, value);
                any = true;
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(upstream: &Upstream, is_public: bool) -> (String, String) {
        let keys = Keys {
            openai: Some("key-one".to_owned()),
            anthropic: Some("key-two".to_owned()),
        };
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {STAND_IN}");
        headers.insert("authorization", bearer.parse().unwrap());
        headers.insert("x-api-key", STAND_IN.parse().unwrap());
        keys.put_in(&mut headers, upstream, is_public);
        let text = |name: &str| headers[name].to_str().unwrap().to_owned();
        (text("authorization"), text("x-api-key"))
    }

    #[test]
    fn key_replaces_its_stand_in_and_goes_only_to_its_own_api() {
        let own = Upstream::parse("http://127.0.0.1:1").unwrap();
        assert_eq!(
            sent(&own, false),
            ("Bearer key-one".into(), "key-two".into())
        );
        let openai = Upstream::public("/v1/chat/completions", false);
        assert_eq!(
            sent(&openai, true),
            ("Bearer key-one".into(), STAND_IN.into())
        );
        let anthropic = Upstream::public("/v1/messages", true);
        let kept = format!("Bearer {STAND_IN}");
        assert_eq!(sent(&anthropic, true), (kept, "key-two".into()));
    }

    #[test]
    fn key_of_the_client_is_not_replaced() {
        let keys = Keys {
            openai: Some("ours".to_owned()),
            anthropic: None,
        };
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer theirs".parse().unwrap());
        let upstream = Upstream::parse("http://127.0.0.1:1").unwrap();
        keys.put_in(&mut headers, &upstream, false);
        assert_eq!(headers["authorization"], "Bearer theirs");
    }
}
