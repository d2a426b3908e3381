//! Keys and settings for object storage, from the usual places: the environment, then the shared
//! files of the profile `AWS_PROFILE`.
//!
//! Nothing here prints a secret, and secrets are erased from memory on drop.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::error::RemoteError;

/// The most bytes of a shared file.
const MAX_FILE: u64 = 1 << 20;

/// An access key, its secret, and a session token if there is one.
#[derive(Clone)]
pub(super) struct Credentials {
    key_id: String,
    secret_key: Zeroizing<String>,
    session_token: Option<Zeroizing<String>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

impl Credentials {
    pub(super) fn new(key_id: &str, secret_key: &str, session_token: Option<&str>) -> Self {
        Self {
            key_id: key_id.to_owned(),
            secret_key: Zeroizing::new(secret_key.to_owned()),
            session_token: session_token.map(|token| Zeroizing::new(token.to_owned())),
        }
    }

    pub(super) fn key_id(&self) -> &str {
        &self.key_id
    }

    pub(super) fn secret_key(&self) -> &str {
        &self.secret_key
    }

    pub(super) fn session_token(&self) -> Option<&str> {
        self.session_token.as_ref().map(|token| token.as_str())
    }
}

/// Which server to use, and with which credentials.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// `None` if none were found; then requests are not signed.
    pub credentials: Option<Credentials>,
    /// The region to sign for.
    pub region: String,
    /// A server to use instead of Amazon's.
    pub endpoint: Option<String>,
}

impl Settings {
    /// Reads the settings in the environment and the shared files.
    ///
    /// # Errors
    /// If an existing file cannot be used.
    pub(super) fn find() -> Result<Self, RemoteError> {
        Self::from_sources(&|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_sources(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, RemoteError> {
        let profile = variable("AWS_PROFILE");
        let name = profile.as_deref().unwrap_or("default");
        let home = variable("HOME").map(PathBuf::from);
        let file = |named: &str, usual: &str| {
            let named = variable(named).map(PathBuf::from);
            named.or_else(|| Some(home.as_ref()?.join(usual)))
        };
        let credentials_file = file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        let config_file = file("AWS_CONFIG_FILE", ".aws/config");
        let keys = Section::read(credentials_file, name)?;
        let section = match name {
            "default" => "default".to_owned(),
            name => format!("profile {name}"),
        };
        let config = Section::read(config_file.clone(), &section)?;
        if profile.is_some() && keys.is_none() && config.is_none() {
            let shown = config_file.map(|path| path.display().to_string());
            return Err(RemoteError::Credentials {
                path: shown.unwrap_or_default(),
                problem: format!("there is no profile `{name}`"),
            });
        }
        let of_profile = |key: &str| {
            let found = keys.as_ref().and_then(|section| section.get(key));
            found.or_else(|| config.as_ref().and_then(|section| section.get(key)))
        };
        let credentials = match (
            variable("AWS_ACCESS_KEY_ID"),
            variable("AWS_SECRET_ACCESS_KEY"),
        ) {
            (Some(id), Some(secret)) => {
                let token = variable("AWS_SESSION_TOKEN");
                Some(Credentials::new(&id, &secret, token.as_deref()))
            }
            _ => {
                let id = of_profile("aws_access_key_id");
                let secret = of_profile("aws_secret_access_key");
                let token = of_profile("aws_session_token");
                id.zip(secret)
                    .map(|(id, secret)| Credentials::new(id, secret, token))
            }
        };
        let owned = |text: &str| text.to_owned();
        Ok(Self {
            credentials,
            region: variable("AWS_REGION")
                .or_else(|| variable("AWS_DEFAULT_REGION"))
                .or_else(|| of_profile("region").map(owned))
                .unwrap_or_else(|| "us-east-1".to_owned()),
            endpoint: variable("AWS_ENDPOINT_URL_S3")
                .or_else(|| variable("AWS_ENDPOINT_URL"))
                .or_else(|| of_profile("endpoint_url").map(owned)),
        })
    }
}

/// One section of a shared file.
struct Section(BTreeMap<String, Zeroizing<String>>);

impl Section {
    /// Reads the section `name`; returns `None` if the file or section does not exist.
    fn read(path: Option<PathBuf>, name: &str) -> Result<Option<Self>, RemoteError> {
        let Some(path) = path else { return Ok(None) };
        let unusable = |problem: String| RemoteError::Credentials {
            path: path.display().to_string(),
            problem,
        };
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(error.to_string())),
            Ok(metadata) if metadata.len() > MAX_FILE => {
                return Err(unusable("it is too large".to_owned()));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path).map_err(|error| unusable(error.to_string()))?;
        Ok(Self::parse(&Zeroizing::new(text), name))
    }

    fn parse(text: &str, name: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut is_inside = false;
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(title) = trimmed.strip_prefix('[') {
                let title = title.split(']').next().unwrap_or_default();
                is_inside = title.split_whitespace().eq(name.split_whitespace());
                if is_inside && found.is_none() {
                    found = Some(Self(BTreeMap::new()));
                }
                continue;
            }
            let is_comment = trimmed.starts_with(['#', ';']);
            // Indented lines belong to a nested setting such as `s3 =`.
            let is_nested = line.starts_with([' ', '\t']);
            if !is_inside || is_comment || is_nested {
                continue;
            }
            if let Some((key, value)) = trimmed.split_once('=')
                && let Some(found) = &mut found
            {
                let value = Zeroizing::new(value.trim().to_owned());
                found.0.insert(key.trim().to_ascii_lowercase(), value);
            }
        }
        found
    }

    fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key).map(|value| value.as_str());
        value.filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, RemoteError> {
        let variables: BTreeMap<_, _> = variables.iter().copied().collect();
        Settings::from_sources(&|name| variables.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn settings_prefer_the_environment_to_the_profile() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let text = "[default]\naws_access_key_id=A\naws_secret_access_key = B\n\
                    [lab]\naws_access_key_id = C\naws_secret_access_key=D=\naws_session_token=E\n";
        fs::write(&file, text).unwrap();
        let config = folder.path().join("config");
        let text = "[profile lab]\nregion = eu-west-1\ns3 =\n  endpoint_url = no\n\
                    endpoint_url = http://127.0.0.1:1\n";
        fs::write(&config, text).unwrap();
        let file = file.to_str().unwrap();
        let config = config.to_str().unwrap();
        let files = [
            ("AWS_SHARED_CREDENTIALS_FILE", file),
            ("AWS_CONFIG_FILE", config),
        ];
        let plain = settings(&files).unwrap();
        assert_eq!(plain.credentials.unwrap().key_id(), "A");
        assert_eq!((plain.region.as_str(), plain.endpoint), ("us-east-1", None));
        let lab = settings(&[&files[..], &[("AWS_PROFILE", "lab")]].concat()).unwrap();
        let credentials = lab.credentials.unwrap();
        assert_eq!(credentials.secret_key(), "D=");
        assert_eq!(credentials.session_token(), Some("E"));
        assert_eq!(lab.region, "eu-west-1");
        assert_eq!(lab.endpoint.as_deref(), Some("http://127.0.0.1:1"));
        let direct = [
            ("AWS_ACCESS_KEY_ID", "X"),
            ("AWS_SECRET_ACCESS_KEY", "Y"),
            ("AWS_REGION", "r"),
        ];
        let direct = settings(&[&files[..], &direct[..]].concat()).unwrap();
        let credentials = direct.credentials.unwrap();
        assert_eq!(credentials.key_id(), "X");
        assert_eq!(credentials.session_token(), None);
        assert!(settings(&[&files[..], &[("AWS_PROFILE", "none")]].concat()).is_err());
    }

    #[test]
    fn debug_output_of_credentials_has_no_secret() {
        let credentials = Credentials::new("key", "secret", Some("token"));
        assert_eq!(format!("{credentials:?}"), "Credentials(…)");
    }
}
