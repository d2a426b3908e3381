//! The integration tests of this crate, in one program: linking is what they would wait for.
//! `cargo test -p runseal-cli --test main agents_in_the_wild::` runs one file of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod agents_in_the_wild;
mod answer_schemas;
mod assess_failures;
mod assess_models;
mod assess_support;
mod bags;
mod bounded_memory;
mod canon_and_hash;
mod catalog;
mod checksums;
mod clauses;
mod crash;
mod demo;
mod document_support;
mod documents;
mod every_implementation;
mod executable;
mod exports;
mod forge_support;
mod forged_copies;
mod forged_packs;
mod forged_runs;
mod format_pages;
mod full_disk;
mod hidden_text;
mod hostile_configuration;
mod hostile_opens;
mod integrations;
mod interrupted;
mod job_crash;
mod job_isolation;
mod job_walk_through;
mod kernel;
mod library;
mod lint_and_assess;
mod lint_assessors;
mod log;
mod log_ledgers;
mod log_statements;
mod neighbour_support;
mod object_storage;
mod object_storage_evidence;
mod object_storage_support;
mod oci;
mod oci_hardships;
mod oci_large;
mod oci_support;
mod other_users;
mod outside_verifiers;
mod page_checks_itself;
mod page_support;
mod predicates;
mod proxy;
mod proxy_hardships;
mod proxy_memory;
mod proxy_recordings;
mod proxy_sandboxed;
mod proxy_sdks;
mod proxy_secrets;
mod proxy_strangers;
mod proxy_support;
mod queue;
mod record;
mod record_apply;
mod record_compare;
mod record_extract;
mod record_faithful;
mod record_gaps;
mod record_hardships;
mod record_hostile;
mod record_identity;
mod record_images;
mod record_names;
mod record_newcomers;
mod record_programs;
mod record_replaying;
mod record_same_files;
mod record_secrets;
mod record_support;
mod record_terminal;
mod record_walks;
mod record_world;
mod redaction;
mod redaction_alike;
mod redaction_attacks;
mod redaction_companions;
mod redaction_formats;
mod redaction_large;
mod redaction_replay;
mod redaction_support;
mod redaction_words;
mod reference;
mod replay_bounds;
mod replay_hostile;
mod replay_intent;
mod replay_pages;
mod report_in_browser;
mod rules_and_docs;
mod run_and_pack;
mod run_bundles;
mod run_contents;
mod schema_mutations;
mod schema_support;
mod schemas;
mod signing;
mod signing_support;
mod store_chaos;
mod store_support;
mod style;
mod tampering;
mod threads_refused;
mod trust_attacks;
mod vectors;
mod verify_all;
mod verify_relied_on;
