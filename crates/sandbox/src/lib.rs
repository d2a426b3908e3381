//! Runs one command with nothing but what it was given.
