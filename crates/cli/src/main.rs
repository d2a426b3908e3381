//! The `runseal` command.

fn main() {}
