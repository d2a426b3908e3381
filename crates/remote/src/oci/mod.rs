//! Run bundles as artifacts of an OCI registry or an OCI layout: `oci://HOST/NAME:TAG`.
//!
//! An artifact manifest lists the files of a run, each one a blob; the same run has the same
//! manifest, and so the same digest, wherever and whenever it is pushed. Signatures are attached as
//! referrers.
