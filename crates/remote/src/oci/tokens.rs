//! Authenticates to a registry: with a password in every request, or with a token obtained for it.
//!
//! [`super::challenge`] decides where a password may go; a token goes only to the registry.

use std::sync::PoisonError;

use runseal_core::canon::{ReadOptions, parse_document};
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use ureq::http::{Method, Uri};
use zeroize::Zeroizing;

use super::OciError;
use super::challenge::{Challenge, may_have_password};
use super::credentials::{Credential, find_credential};
use super::registry::{Bytes, MAX_ANSWER, Purpose, Registry};
use crate::RemoteError;
use crate::http::{Request, Response};

impl Registry {
    pub(super) fn challenge(&self, response: &Response) -> Result<Challenge, OciError> {
        let headers = response.headers.get_all("www-authenticate").iter();
        let mut challenges = headers.filter_map(|header| Challenge::parse(header.to_str().ok()?));
        challenges
            .next()
            .ok_or_else(|| self.protocol("it demands authentication but does not say how"))
    }

    /// Obtains what the registry demands, for all further requests.
    pub(super) fn authorize(&self, challenge: &Challenge) -> Result<(), OciError> {
        let credential = find_credential(self.access.config.as_deref(), &self.host)?;
        let value = match challenge {
            Challenge::Basic => {
                let basic = credential.as_ref().and_then(Credential::to_basic);
                basic.ok_or_else(|| RemoteError::NoCredentials {
                    host: self.host.to_string(),
                })?
            }
            Challenge::Bearer {
                realm,
                service,
                scope,
            } => {
                let token = self.get_token(
                    (realm, service.as_deref(), scope.as_deref()),
                    credential.as_ref(),
                )?;
                Zeroizing::new(format!("Bearer {}", token.as_str()))
            }
        };
        let mut known = self
            .authorization
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = Some(value);
        Ok(())
    }

    fn get_token(
        &self,
        (realm, service, scope): (&str, Option<&str>, Option<&str>),
        credential: Option<&Credential>,
    ) -> Result<Zeroizing<String>, OciError> {
        let address: Uri = realm
            .parse()
            .map_err(|_| self.protocol("the address of its token service is not valid"))?;
        let is_plain = self.base.scheme_str() == Some("http");
        if address.scheme_str() != Some("https") && !is_plain {
            return Err(self.protocol("its token service does not use TLS"));
        }
        if credential.is_some()
            && !may_have_password(&self.base, &self.host, &address, &self.access.token_hosts)
        {
            return Err(OciError::ForeignTokens {
                registry: self.host.to_string(),
                realm: crate::http::host(&address),
            });
        }
        let wanted = match self.purpose {
            Purpose::Pull => format!("repository:{}:pull", self.name),
            Purpose::Push => format!("repository:{}:pull,push", self.name),
        };
        // For a push, request both rights at once: a registry that first demands only pull would demand
        // more later.
        let scope = match (self.purpose, scope) {
            (Purpose::Pull, Some(scope)) => scope,
            _ => &wanted,
        };
        let mut query = vec![("scope", scope)];
        query.extend(service.map(|service| ("service", service)));
        let form;
        let response = if let Some(Credential::IdentityToken(token)) = credential {
            query.extend([
                ("grant_type", "refresh_token"),
                ("client_id", "runseal"),
                ("refresh_token", token.as_str()),
            ]);
            form = Bytes(Zeroizing::new(encode_query(&query).into_bytes()));
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            let request = Request::new(Method::POST, address.clone())
                .header(CONTENT_TYPE, kind)
                .body(&form);
            self.http.send(&request)
        } else {
            let joint = if realm.contains('?') { '&' } else { '?' };
            let address = format!("{realm}{joint}{}", encode_query(&query)).parse();
            let address = address
                .map_err(|_| self.protocol("the address of its token service is not valid"))?;
            let mut request = Request::new(Method::GET, address);
            if let Some(basic) = credential.and_then(Credential::to_basic) {
                request = request.credential(AUTHORIZATION, self.header_value(&basic)?);
            }
            self.http.send(&request)
        };
        let response = response.map_err(RemoteError::from)?;
        if !response.status.is_success() {
            return Err(self.refusal(response, "a token"));
        }
        let bytes = response.into_bytes(MAX_ANSWER).map_err(RemoteError::from)?;
        let bytes = Zeroizing::new(bytes);
        let broken = || self.protocol("its token service did not return a token");
        let document = parse_document(&bytes, &ReadOptions::default()).map_err(|_| broken())?;
        let token = ["token", "access_token"]
            .iter()
            .find_map(|name| document.root().get(name)?.as_str())
            .ok_or_else(broken)?;
        Ok(Zeroizing::new(token.into_owned()))
    }
}

fn encode_query(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| -> String {
        let mut encoded = String::new();
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    encoded.push(char::from(byte));
                }
                other => encoded.push_str(&format!("%{other:02X}")),
            }
        }
        encoded
    };
    let pairs = pairs.iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_encoded_as_forms_are() {
        let query = encode_query(&[("scope", "repository:a/b:pull,push"), ("x", "é&=")]);
        assert_eq!(
            query,
            "scope=repository%3Aa%2Fb%3Apull%2Cpush&x=%C3%A9%26%3D"
        );
    }
}
