//! Run bundles as a stranger with the source of runseal makes them: every hash is right, and what they say is not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_testkit::folders::{copy_folder, open_up};
use runseal_testkit::forging::reseal;
use serde_json::{Value, json};

/// A run bundle that is being forged.
pub struct Forged {
    folder: PathBuf,
}

impl Forged {
    /// Takes a copy of the bundle at `original` to `folder`.
    pub fn copy(original: &Path, folder: &Path) -> Self {
        copy_folder(original, folder);
        open_up(folder);
        Self {
            folder: folder.to_owned(),
        }
    }

    pub fn path(&self) -> &str {
        self.folder.to_str().unwrap()
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn edit(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = self.load(name);
        change(&mut value);
        self.put(name, serde_json::to_vec(&value).unwrap());
    }

    pub fn load(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.folder.join(name)).unwrap()).unwrap()
    }

    /// Says that another command ran.
    pub fn set_command(&self, argv: &[&str]) {
        self.edit("RUN_INPUT.json", |input| input["argv"] = json!(argv));
        self.edit("ENGINE_MANIFEST.json", |manifest| {
            manifest["execution"]["command"] = json!(argv);
        });
        self.edit("RUN_META.json", |meta| {
            meta.as_object_mut()
                .unwrap()
                .remove("engine_executable_sha256");
        });
    }

    /// Says that only files with these names were kept, in the contract of the input too.
    pub fn set_keep(&self, patterns: &[&str]) {
        self.edit("RUN_INPUT.json", |input| input["keep"] = json!(patterns));
        self.edit("INPUT_SCHEMA.json", |schema| {
            schema["properties"]["keep"] = json!({});
        });
    }

    /// Says that the command read a file of its folder.
    pub fn add_file(&self, path: &str, bytes: &str, mode: &str) {
        let stored = format!("engine/{path}");
        self.put(&stored, bytes);
        self.edit("RUN_INPUT.json", |input| {
            let files = input["files"].as_array_mut().unwrap();
            files.push(
                json!({"path": path, "stored": stored, "mode": mode, "bytes": bytes.len(),
                "sha256": Digest::of(bytes.as_bytes()).to_string()}),
            );
            files.sort_by_key(|file| file["path"].as_str().unwrap().to_owned());
        });
    }

    /// Computes every hash anew.
    pub fn reseal(&self) {
        reseal(&self.folder, &BTreeMap::new());
    }
}
