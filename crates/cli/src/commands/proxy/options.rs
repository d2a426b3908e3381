//! Arguments and functions that `proxy` and `mcp` share.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_net::matching::Volatile;
use runseal_net::proxy::Proxy;
use runseal_net::recording::Finished;
use runseal_net::redact::{RedactionRules, known_values_in_environment};
use runseal_net::{EndOfWork, NetError};

use crate::error::CliError;
use crate::ui;

/// The most bytes that a redaction file may have.
const MAX_RULES_BYTES: u64 = 1 << 20;

/// Which values are secret, and which members matching ignores.
#[derive(Debug, clap::Args)]
pub struct RedactArgs {
    /// A file with patterns of your own for secrets, one per line: `NAME = REGULAR EXPRESSION`.
    #[arg(long, value_name = "FILE")]
    redact: Option<PathBuf>,
    /// A member of request bodies that does not count when requests are matched, as a JSON Pointer
    /// (`*` is any one name or index); may be given several times.
    #[arg(long, value_name = "POINTER")]
    volatile: Vec<String>,
}

impl RedactArgs {
    /// Whether any of these options was given.
    pub fn is_given(&self) -> bool {
        self.redact.is_some() || !self.volatile.is_empty()
    }

    /// The patterns of the redaction file.
    pub fn rules(&self) -> Result<RedactionRules, CliError> {
        let Some(path) = &self.redact else {
            return Ok(RedactionRules::default());
        };
        let shown = path.display().to_string();
        let unreadable = |message: String| {
            CliError::new(Outcome::Unreadable, "REDACT", message)
                .at(shown.as_str())
                .hint(
                    "`--redact` names a file of patterns: check its name and the right to read it",
                )
        };
        let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
        if size.len() > MAX_RULES_BYTES {
            return Err(unreadable("it is larger than 1 MiB".to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        RedactionRules::parse(&text).map_err(|error| {
            CliError::new(Outcome::Unreadable, "REDACT", error.to_string())
                .at(shown.as_str())
                .hint("a rule is a line `NAME = REGULAR EXPRESSION`; its first group is the secret")
        })
    }

    /// The members that matching ignores.
    pub fn volatile(&self) -> Result<Volatile, CliError> {
        Volatile::parse(&self.volatile).map_err(|fault| {
            CliError::usage(
                fault,
                "for example `--volatile /metadata/request_id` or `--volatile /messages/*/id`",
            )
        })
    }
}

/// The values in the environment that must not reach a recording.
pub fn secrets_of_environment() -> Vec<(String, String)> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    known_values_in_environment(variables)
}

/// Where a proxy listens.
#[derive(Debug, clap::Args)]
pub struct OpenArgs {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: String,
}

/// Opens the listener.
pub fn listen(address: &str) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).map_err(|source| {
        CliError::from(NetError::Listen {
            address: address.to_owned(),
            source,
        })
    })
}

/// Prints where the proxy listens, and serves until it is stopped. `chosen` is the address that the user
/// gave.
pub fn attend(proxy: &Proxy, listener: TcpListener, chosen: &str) -> Result<(), CliError> {
    // Watch for the end before the address is printed: whoever reads it may end the proxy at once.
    let end = EndOfWork::listen(proxy.handle())?;
    let name = chosen.rsplit_once(':').map(|(name, _)| name);
    let address = proxy.listen(listener, name)?;
    ui::print_line(&format!("{{\"listening\":\"http://{address}\"}}"))?;
    end.wait(proxy.handle());
    Ok(())
}

/// The number of secrets that were replaced, by kind; `None` if there were none.
pub fn describe_redacted(redacted: &BTreeMap<String, u64>) -> Option<String> {
    let kinds: Vec<String> = redacted
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let replaced = match redacted.values().sum::<u64>() {
        0 => return None,
        1 => "1 secret replaced".to_owned(),
        total => format!("{total} secrets replaced"),
    };
    Some(format!("{replaced}: {}", kinds.join(", ")))
}

/// Tells a person that requests were turned away, if there were any.
pub fn tell_refused(refused: u64) {
    let requests = match refused {
        0 => return,
        1 => "1 request was refused".to_owned(),
        count => format!("{count} requests were refused"),
    };
    ui::tell(&format!(
        "warning: {requests}: they came from a web page or from another program, or asked for another host; \
         they were not forwarded and are not recorded"
    ));
}

/// Tells a person what was recorded.
pub fn tell_finished(finished: &Finished) {
    let Finished {
        path,
        interactions,
        redacted,
        gaps,
    } = finished;
    let recorded = match interactions {
        1 => "1 interaction".to_owned(),
        count => format!("{count} interactions"),
    };
    let mut summary = format!("{recorded} recorded in {}", path.display());
    if let Some(replaced) = describe_redacted(redacted) {
        summary.push_str(&format!("; {replaced}"));
    }
    ui::note(&summary);
    for gap in gaps {
        ui::note(&format!("not seen: {gap}"));
    }
}
