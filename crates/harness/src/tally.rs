//! Checks the files that an execution leaves against the policy.

use std::collections::BTreeMap;

use super::execute::{Executor, LARGEST_FILE, OutputFile, violation};
use super::worktree::{FOLDERS, output_name};

impl Executor<'_> {
    /// Checks the files that exist now against the policy.
    pub(super) fn check_policy(&mut self) -> Result<(), String> {
        let entries = self
            .tree
            .list(self.policy.max_output_files.saturating_mul(4).max(10_000))
            .map_err(|error| violation(&error.to_string()))?;
        let (mut files, mut bytes) = (0_u64, 0_u64);
        for entry in &entries {
            let shown = entry.path.to_string_lossy().escape_debug().to_string();
            let root = entry
                .path
                .to_str()
                .map(|path| path.split('/').next().unwrap_or(path));
            let roots = &self.policy.allowed_write_roots;
            // The folders that the harness itself created may exist, empty, in any case.
            let is_laid_out = FOLDERS.iter().any(|name| entry.path == *name);
            let is_root = |root: &str| roots.iter().any(|known| known == root);
            if !roots.is_empty() && !is_laid_out && !root.is_some_and(is_root) {
                return Err(violation(&format!(
                    "`{shown}` is outside allowed_write_roots"
                )));
            }
            if entry.fault.is_some() && root != Some("tmp") {
                return Err(violation(&format!(
                    "`{shown}` is not a file with a safe name"
                )));
            }
            if output_name(entry).is_some() {
                files += 1;
                bytes = bytes.saturating_add(entry.bytes);
            }
        }
        self.usage = (files, bytes);
        self.check_usage()
    }

    pub(super) fn check_usage(&self) -> Result<(), String> {
        let (files, bytes) = self.usage;
        if files > self.policy.max_output_files {
            return Err(violation("more files than max_output_files"));
        }
        if bytes > self.policy.max_total_output_bytes {
            return Err(violation("more bytes than max_total_output_bytes"));
        }
        Ok(())
    }

    /// The files that exist at the end, sorted by name; also stores their contents. Each name
    /// counts as one file.
    pub(super) fn collect(&mut self) -> Result<Vec<OutputFile>, String> {
        let most = self.policy.max_output_files.saturating_mul(4).max(10_000);
        let entries = self
            .tree
            .list(most)
            .map_err(|error| violation(&error.to_string()))?;
        let mut outputs = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.fault.is_none()) {
            let Some(name) = output_name(entry) else {
                continue;
            };
            let bytes = self
                .tree
                .read_listed(&entry.path, LARGEST_FILE)
                .map_err(|error| violation(&error.to_string()))?;
            let sha256 = self.contents.keep(&bytes);
            let file = OutputFile {
                path: name.clone(),
                sha256,
                bytes: entry.bytes,
            };
            if outputs.insert(name.clone(), file).is_some() {
                return Err(violation(&format!(
                    "two files would be the output `{name}`"
                )));
            }
        }
        let mut outputs: Vec<OutputFile> = outputs.into_values().collect();
        outputs.sort_by(|a, b| runseal_core::canon::compare_utf16(&a.path, &b.path));
        Ok(outputs)
    }
}
