//! One folder or file for each document: what its bytes mean and which rules they must keep.

pub mod job_bundle;
