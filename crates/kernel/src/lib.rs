//! The context kernel: from an intent to a context bundle (document 000). Pure and deterministic.
