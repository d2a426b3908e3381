//! `runseal push`: publishes evidence to a registry or object storage.

use std::io::ErrorKind;
use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::source::SourceError;
use runseal_core::verify::Outcome;
use runseal_remote::error::shown_address;
use runseal_remote::oci::OciError;
use runseal_remote::oci::image::Image;
use runseal_remote::oci::push::push;
use runseal_remote::oci::reference::Reference;
use runseal_remote::oci::registry::Access;

use super::push_object::{RetentionArgs, is_object_address, push_run, tell_sent};
use crate::error::{CliError, Named};
use crate::ui;
use crate::verdict::LevelArgs;

/// Push evidence to a registry, a layout or object storage.
///
/// Signatures next to it are pushed too.
///
/// It is verified first; what is not valid, or is not one thing, is not pushed. The same evidence has the
/// same digest, whoever pushes it and whenever. What is there already is not sent again, and a push that was
/// interrupted continues where it stopped. A tag that names something else is not moved unless --move-tag
/// says what it names. Prints the digest and the reference that names exactly this.
///
/// Exit 0: pushed. Exit 1: it does not verify, or what is there already is not what it should be. Exit 2: it could
/// not be read or stored. Unless it is 0, no name or tag was changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal push RUN_BUNDLE/run_1 registry.example/team/run_1:v1\n  runseal push run_1 oci-layout:evidence.tar:v1\n  runseal push run_1 localhost:5000/run_1 --report report.html\n  runseal push RUN_BUNDLE/run_1 s3://bucket/evidence/run_1\n  runseal push --image target/release/runseal registry.example/tools/runseal:1.0"
)]
pub struct Args {
    /// A bundle, pack, document or archive.
    path: PathBuf,
    /// Where to: `host[:port]/name[:tag][@sha256:…]`, or `oci-layout:FOLDER[:tag]`, or `oci-layout:FILE.tar[:tag]`,
    /// or `s3://BUCKET/PREFIX/NAME`.
    reference: String,
    /// A report to attach: .html, .json, .sarif or .xml; may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "image")]
    report: Vec<PathBuf>,
    /// Move a tag that is taken, away from what it names now: `sha256:…`. Without this a tag stays where it is.
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    move_tag: Option<Digest>,
    /// PATH is a static program: push it as a container image that runs it.
    #[arg(long, conflicts_with_all = ["strict", "lenient"])]
    image: bool,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    retention: RetentionArgs,
}

/// How registries are reached.
#[derive(Debug, clap::Args)]
pub struct AccessArgs {
    /// Speak plain HTTP, which others can read and change; it is always used for this machine.
    #[arg(long)]
    plain_http: bool,
}

impl AccessArgs {
    /// The access settings given by the options and the environment.
    pub fn access(&self) -> Access {
        Access {
            plain_http: self.plain_http,
            ..Access::from_environment()
        }
    }
}

fn parse_digest(text: &str) -> Result<Digest, String> {
    let hash = ContentHash::parse(text).map_err(|error| error.to_string())?;
    Ok(hash.digest())
}

/// Parses a reference given on the command line.
pub fn parse_reference(text: &str) -> Result<Reference, CliError> {
    Reference::parse(text)
        .map_err(OciError::from)
        .named(shown_address(text))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    if args
        .path
        .symlink_metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        let path = args.path.display().to_string();
        return Err(SourceError::NotFound { path }.into());
    }
    if is_object_address(&args.reference) {
        return if args.image || !args.report.is_empty() || args.move_tag.is_some() {
            Err(CliError::usage(
                "images, reports and tags go to registries",
                "object storage takes evidence alone; name a registry or layout",
            ))
        } else {
            push_run(
                &args.path,
                &args.reference,
                args.level.level(),
                &args.retention,
            )
        };
    }
    args.retention.refuse_elsewhere()?;
    let reference = parse_reference(&args.reference)?;
    let access = Access {
        move_tag: args.move_tag,
        ..args.access.access()
    };
    let pushed = if args.image {
        Image::of_program(&args.path).and_then(|image| image.push(&reference, &access))
    } else {
        push(
            &args.path,
            &reference,
            args.level.level(),
            &args.report,
            &access,
        )
    };
    let pushed = pushed.map_err(|error| match &error {
        OciError::NotValid { why, .. } => CliError::within(why, args.path.display()),
        _ => CliError::within(&error, shown_address(&args.reference)),
    })?;
    tell_sent(pushed.sent, pushed.skipped, &pushed.attached);
    let answer = Value::object([
        ("digest", ContentHash::from(pushed.digest).to_string()),
        ("reference", pushed.reference.to_string()),
    ]);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
