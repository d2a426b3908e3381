//! SecretWhen names: members, parameters, headers and variables whose value is probably a secret.
//!
//! Names are compared word by word, whatever their spelling: `access_token`, `Access-Token` and
//! `accessToken` are the same. One list serves all of them. If the name alone is not enough, the look
//! or the place of the value decides.

/// When the value of a telling name is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretWhen {
    /// Whatever it looks like.
    Always,
    /// If it looks like a key: `token` is also what models call the pieces of a text.
    IfKeyLike,
    /// In a header or a URL parameter: a member called `key` or `signature` is mostly something else.
    InFields,
    /// If it contains a password or key: a connection string may or may not.
    IfHoldsPassword,
}

/// The words that telling names end with.
pub const LAST_WORDS: [&str; 22] = [
    "assertion",
    "auth",
    "authorization",
    "code",
    "connection-string",
    "connection_string",
    "connectionstring",
    "credential",
    "credentials",
    "key",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "sessid",
    "session-id",
    "session_id",
    "sessionid",
    "sig",
    "signature",
    "token",
];

/// Words that make a `key` secret when they precede it.
const SECRET_KEYS: [&str; 16] = [
    "access",
    "account",
    "api",
    "app",
    "auth",
    "encryption",
    "function",
    "functions",
    "license",
    "master",
    "private",
    "secret",
    "shared",
    "signing",
    "subscription",
    "webhook",
];

/// Words that make a `token` secret when they precede it.
const SECRET_TOKENS: [&str; 20] = [
    "access", "api", "app", "auth", "bearer", "bot", "client", "csrf", "deploy", "gh", "github",
    "gitlab", "hf", "id", "oauth", "personal", "refresh", "secret", "security", "session",
];

/// Words that make a `token` public when they precede it: cursors, progress, a model's special tokens.
const PUBLIC_TOKENS: [&str; 13] = [
    "bos",
    "continuation",
    "cursor",
    "end",
    "eos",
    "next",
    "page",
    "pad",
    "progress",
    "start",
    "stop",
    "sync",
    "unk",
];

/// The shortest value that looks like a key.
const LEAST_KEY: usize = 16;

/// Judges a name; returns `None` if it is not a telling one.
pub fn judge(name: &str) -> Option<SecretWhen> {
    let words = split_words(name);
    let (last, before) = words.split_last()?;
    let before = before.last().map(String::as_str);
    // Written as one word: `PGPASSWORD`, `apikey`.
    if ["password", "passwd", "passphrase"]
        .iter()
        .any(|ending| last.ends_with(ending))
    {
        return Some(SecretWhen::Always);
    }
    let glued = |ending: &str, words: &[&str]| {
        let front = last.strip_suffix(ending);
        front.is_some_and(|front| {
            words
                .iter()
                .any(|word| front.ends_with(word) || front.strip_suffix('s') == Some(word))
        })
    };
    if last.ends_with("connectionstring") {
        return Some(SecretWhen::IfHoldsPassword);
    }
    // `JSESSIONID`, `PHPSESSID`. A session's id gives access to it, but members of that name mostly
    // number conversations.
    if last.ends_with("sessionid") || last.ends_with("sessid") {
        return Some(SecretWhen::InFields);
    }
    match (last.as_str(), before) {
        ("string", Some("connection")) => Some(SecretWhen::IfHoldsPassword),
        ("id", Some("session")) => Some(SecretWhen::InFields),
        ("secret" | "clientsecret" | "pwd" | "authorization", _) => Some(SecretWhen::Always),
        ("key", Some(word)) if SECRET_KEYS.contains(&word) => Some(SecretWhen::Always),
        ("token", Some(word)) if SECRET_TOKENS.contains(&word) => Some(SecretWhen::Always),
        ("token", Some(word)) if PUBLIC_TOKENS.contains(&word) => None,
        ("token", _) => Some(SecretWhen::IfKeyLike),
        ("key" | "sig" | "signature" | "credential" | "credentials" | "auth" | "assertion", _) => {
            Some(SecretWhen::InFields)
        }
        _ if glued("key", &SECRET_KEYS) || glued("token", &SECRET_TOKENS) => {
            Some(SecretWhen::Always)
        }
        _ => None,
    }
}

/// Splits a name into lower-case words at signs and capital letters.
pub fn split_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let follows_lower = before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let ends_capitals = before.is_some_and(char::is_ascii_uppercase)
            && after.is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (follows_lower || ends_capitals) {
            words.push(String::new());
        }
        if !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a parameter's value is a secret.
pub fn is_secret_parameter(name: &str) -> bool {
    // `code` is what a sign-in returns; members of that name contain errors.
    name.eq_ignore_ascii_case("code") || judge(name).is_some()
}

/// Whether a value looks like a key: long, without spaces, with a digit.
pub fn is_key_like(value: &[u8]) -> bool {
    value.len() >= LEAST_KEY
        && value.iter().all(u8::is_ascii_graphic)
        && value.iter().any(u8::is_ascii_digit)
}

/// Whether a connection string contains a password or key: `Server=…;Password=…`,
/// `host=… password=…`, or `scheme://user:password@host`.
pub fn holds_password(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    let mut parts = text.split([';', '&', '?', ' ']);
    let is_secret_part = |part: &str| {
        let pair = part.split_once('=');
        pair.is_some_and(|(name, value)| {
            let value = value.trim();
            !value.is_empty() && judge(name).is_some() && !is_reference(name, value.as_bytes())
        })
    };
    let has_address = || {
        let authority = text.split_once("://")?.1.split(['/', '?', '#']).next()?;
        let (user, _) = authority.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(!password.is_empty() && !is_reference("password", password.as_bytes()))
    };
    parts.any(is_secret_part) || has_address().unwrap_or(false)
}

/// Whether a value is not the secret itself: the name of a variable, or a working directory (`PWD`).
pub fn is_reference(name: &str, value: &[u8]) -> bool {
    let is_variable = value.strip_prefix(b"$").is_some_and(|rest| {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_{}".contains(byte);
        rest.iter().all(is_name)
    });
    let is_path = value.first().is_some_and(|first| b"/~.".contains(first))
        || value.get(1..3) == Some(b":\\".as_slice());
    is_variable || is_path && name.to_ascii_lowercase().ends_with("pwd")
}

/// Whether a value is ordinary words. It is replaced where it was found, but not learned: other texts
/// may contain the same words by chance.
pub fn is_prose(value: &[u8]) -> bool {
    value.iter().enumerate().all(|(at, byte)| match at {
        0 => byte.is_ascii_alphabetic(),
        _ => byte.is_ascii_lowercase() || b" .,'!?-".contains(byte),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge_recognizes_every_spelling_of_telling_names() {
        for name in [
            "password",
            "db_password",
            "PGPASSWORD",
            "DB_PASSWORD",
            "dbPassword",
            "passphrase",
            "pwd",
            "accessToken",
            "access_token",
            "Access-Token",
            "clientSecret",
            "refreshToken",
            "privateKey",
            "secretKey",
            "apiKey",
            "apikey",
            "authToken",
            "sessionToken",
            "bot_token",
            "access_key",
            "encryption_key",
            "subscription_key",
            "secretAccessKey",
            "aws_secret_access_key",
            "secretaccesskey",
            "x-api-key",
            "Authorization",
            "idToken",
            "DBPassword",
            "accesstoken",
            "x_amz_security_token",
        ] {
            assert_eq!(judge(name), Some(SecretWhen::Always), "{name}");
        }
        for name in ["token", "device_token", "sample_token"] {
            assert_eq!(judge(name), Some(SecretWhen::IfKeyLike), "{name}");
        }
        for name in [
            "key",
            "sig",
            "X-Goog-Signature",
            "prompt_cache_key",
            "client_assertion",
            "x-session-id",
            "session_id",
            "sessionId",
            "JSESSIONID",
            "PHPSESSID",
        ] {
            assert_eq!(judge(name), Some(SecretWhen::InFields), "{name}");
        }
        for name in [
            "connectionString",
            "ConnectionString",
            "connection_string",
            "DB-Connection-String",
            "dbconnectionstring",
        ] {
            assert_eq!(judge(name), Some(SecretWhen::IfHoldsPassword), "{name}");
        }
    }

    #[test]
    fn judge_ignores_token_counts_and_unrelated_names() {
        for name in [
            "max_tokens",
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "token_count",
            "stop_token_ids",
            "tokens",
            "progressToken",
            "nextPageToken",
            "page_token",
            "eos_token",
            "tokenizer",
            "monkey",
            "design",
            "author",
            "secretary",
            "passwords_seen",
            "keyboard",
            "AWSAccessKeyId",
            "user_id",
            "session",
            "obsession_ids",
            "string",
            "code",
            "",
        ] {
            assert_eq!(judge(name), None, "{name}");
        }
        assert!(is_secret_parameter("code") && !is_secret_parameter("postcode"));
    }

    #[test]
    fn holds_password_recognizes_names_and_addresses_within() {
        for value in [
            "Server=db;Database=x;User Id=sa;Password=abc;",
            "Server=db;pwd=abc",
            "host=db user=me password=abc",
            "Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey=q83v=",
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=q83v==",
            "mongodb+srv://me:abc@cluster.example/db?retryWrites=true",
        ] {
            assert!(holds_password(value.as_bytes()), "{value}");
        }
        for value in [
            "",
            "Server=db;Database=x;Integrated Security=true;Trusted_Connection=yes",
            "Server=db;Password=;",
            "Server=db;Password=$DB_PASSWORD",
            "postgres://me@db.example:5432/x",
            "postgres://me:${PASSWORD}@db.example/x",
            "Data Source=/var/lib/app.db",
            "http://localhost:8080/package@2.0",
        ] {
            assert!(!holds_password(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn is_key_like_rejects_pieces_of_model_text() {
        assert!(is_key_like(b"88f438808c578e541b30e1f10d3de732"));
        for piece in [
            "Hello",
            " the",
            "2026",
            "----------------",
            "\n\n",
            "internationalization",
        ] {
            assert!(!is_key_like(piece.as_bytes()), "{piece}");
        }
    }
}
