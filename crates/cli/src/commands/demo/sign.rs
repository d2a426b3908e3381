//! Who made it: a signature, the three answers, and a forged pack that only a trust policy refuses.

use super::shell::{CommandOutput, Shell, heading, say};
use crate::error::CliError;

pub(super) fn sign_and_forge(shell: &Shell) -> Result<(), CliError> {
    heading("7. Who made it, and do I trust them")?;
    let unsigned = shell.expect("verify good/pack", 0)?;
    repeat(&unsigned)?;
    shell.expect("keygen -o ada.key --public", 0)?;
    shell.expect(
        "sign good/pack --key ada.key --as Ada --meaning reviewer",
        0,
    )?;
    shell.expect("trust init trust.toml", 0)?;
    shell.expect("trust add trust.toml ada --key ada.key.pub --accept", 0)?;
    let trusted = shell.expect("verify good/pack --trust trust.toml", 0)?;
    repeat(&trusted)?;
    say("intact by the rules, signed by a key, trusted by a line of the policy")?;
    // A forger has the same tool: the forged pack verifies, and its signer may claim to be Ada.
    shell.expect("run intent.json --pack forged", 0)?;
    shell.expect("keygen -o forger.key", 0)?;
    shell.expect(
        "sign forged --key forger.key --as Ada --meaning reviewer",
        0,
    )?;
    let forged = shell.expect("verify forged --strict", 0)?;
    repeat(&forged)?;
    say("a forged pack, made with the same tool, is as intact as the other")?;
    let refused = shell.expect("verify forged --strict --trust trust.toml", 1)?;
    repeat(&refused)?;
    say("and the policy refuses it: whoever signed, it was not ada's key")
}

fn repeat(ran: &CommandOutput) -> Result<(), CliError> {
    for line in ran.text().lines() {
        say(line)?;
    }
    Ok(())
}
