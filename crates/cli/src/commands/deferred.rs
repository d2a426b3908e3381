//! Arguments that clap is told about only when their command is typed.
//!
//! There are about a hundred commands. Describing all of them to clap takes longer than verifying
//! a small bundle, so each one is described through [`clap::Command::defer`]. Whoever needs the
//! whole description, such as help and manual pages, calls [`clap::Command::build`] first.

use std::ops::Deref;

use clap::{ArgMatches, Command, Error, FromArgMatches};

/// Arguments of type `A`, described to clap when they are needed.
#[derive(Debug)]
pub struct Deferred<A>(A);

impl<A> Deref for Deferred<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A: clap::Args> clap::Args for Deferred<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(A::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(A::augment_args_for_update)
    }
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
