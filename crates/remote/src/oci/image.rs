//! An OCI image of one static program, for container engines.
//!
//! It has one layer with the program at the root, a configuration that makes it the entry point,
//! and neither time nor history, so the same program always gives the same image.

use std::path::Path;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::{ContentHash, Hasher};
use runseal_core::path::SafePath;
use runseal_fs::input::read_file;

use super::OciError;
use super::manifest::{Descriptor, Manifest};
use super::push::{Pushed, Upload};
use super::reference::Reference;
use super::registry::Access;
use super::tarball::{END, Kind, header, padding};

/// The media type of an image's configuration.
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// The media type of an image's layer.
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The most bytes that a program may have: 1 GiB.
const MAX_PROGRAM: u64 = 1 << 30;

/// An image in memory.
#[derive(Debug)]
pub struct Image {
    /// Its manifest.
    pub manifest: Manifest,
    config: Vec<u8>,
    layer: Vec<u8>,
}

impl Image {
    /// Makes the image of the static program at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or is not a static Linux program for a known processor.
    pub fn of_program(path: &Path) -> Result<Self, OciError> {
        let refuse = |why: &str| OciError::Refused {
            what: path.display().to_string(),
            why: why.to_owned(),
        };
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = name.as_deref().unwrap_or_default();
        SafePath::parse(name).map_err(|fault| refuse(&fault.to_string()))?;
        let program = read_file(path, MAX_PROGRAM)?;
        let architecture = architecture_of(&program).map_err(refuse)?;
        let size = program.len() as u64;
        let mut layer = header(name, Kind::Program(size));
        layer.extend_from_slice(&program);
        layer.resize(layer.len() + padding(size), 0);
        layer.extend_from_slice(&END);
        let mut hasher = Hasher::new();
        hasher.update(&layer);
        let layer_digest = hasher.finish();
        let entry_point = format!("/{name}");
        let mut config = Value::object([("architecture", architecture), ("os", "linux")]);
        let mut run = Value::object([("Entrypoint", Value::array([entry_point.as_str()]))]);
        run.insert("WorkingDir", "/");
        config.insert("config", run);
        let diff_id = ContentHash::from(layer_digest).to_string();
        let mut rootfs = Value::object([("type", "layers")]);
        rootfs.insert("diff_ids", Value::array([diff_id]));
        config.insert("rootfs", rootfs);
        let config =
            canonical_bytes(&config, Dialect::Jcs).map_err(|error| OciError::Unwritable {
                what: "the configuration",
                why: error.to_string(),
            })?;
        let manifest = Manifest {
            artifact_type: None,
            config: Descriptor::of(CONFIG, &config),
            layers: vec![Descriptor::new(LAYER, layer_digest, layer.len() as u64)],
            subject: None,
            annotations: Default::default(),
        };
        Ok(Self {
            manifest,
            config,
            layer,
        })
    }

    /// Pushes the image to a registry, or writes it into a layout.
    ///
    /// # Errors
    /// If it cannot be stored.
    pub fn push(&self, reference: &Reference, access: &Access) -> Result<Pushed, OciError> {
        let mut upload = Upload::open(reference, access)?;
        upload.put(&self.manifest.config, &self.config.as_slice())?;
        for layer in &self.manifest.layers {
            upload.put(layer, &self.layer.as_slice())?;
        }
        upload.close(&self.manifest, reference, &[])
    }
}

/// Returns the processor of an ELF file, by its name in images, or why it cannot become an image.
fn architecture_of(program: &[u8]) -> Result<&'static str, &'static str> {
    const NOT_A_PROGRAM: &str = "it is not a 64-bit ELF program";
    let number = |at: usize, count: usize| -> Result<u64, &'static str> {
        let bytes = program.get(at..at + count).ok_or(NOT_A_PROGRAM)?;
        let bytes = bytes.iter().rev();
        Ok(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    if program.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err(NOT_A_PROGRAM);
    }
    let architecture = match number(18, 2)? {
        0x3e => "amd64",
        0xb7 => "arm64",
        0xf3 => "riscv64",
        _ => return Err("it is for an unsupported processor"),
    };
    // A program with a loader needs files that the image does not have.
    let table = usize::try_from(number(32, 8)?).map_err(|_| NOT_A_PROGRAM)?;
    let (size, count) = (number(54, 2)? as usize, number(56, 2)? as usize);
    for at in 0..count {
        let place = size.checked_mul(at).and_then(|at| table.checked_add(at));
        let kind = number(
            place
                .filter(|at| *at < program.len())
                .ok_or(NOT_A_PROGRAM)?,
            4,
        )?;
        const INTERPRETER: u64 = 3;
        if kind == INTERPRETER {
            return Err("it is linked dynamically, and the image has no loader");
        }
    }
    Ok(architecture)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An ELF header with one program header of this kind.
    fn elf(machine: u8, kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = machine;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64] = kind;
        bytes
    }

    #[test]
    fn image_of_same_program_is_the_same_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runseal");
        fs::write(&path, elf(0x3e, 1)).unwrap();
        let one = Image::of_program(&path).unwrap();
        let bytes = one.manifest.to_bytes().unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let other = folder.path().join("elsewhere/runseal");
        fs::write(&other, elf(0x3e, 1)).unwrap();
        let two = Image::of_program(&other).unwrap();
        assert_eq!(bytes, two.manifest.to_bytes().unwrap());
        let config = String::from_utf8(one.config).unwrap();
        assert!(config.contains(r#""architecture":"amd64""#), "{config}");
        assert!(config.contains(r#""Entrypoint":["/runseal"]"#), "{config}");
        for (bytes, why) in [
            (elf(0x3e, 3), "linked dynamically"),
            (elf(0x03, 1), "processor"),
            (b"#!/bin/sh".to_vec(), "not a 64-bit ELF"),
            (elf(0x3e, 1)[..60].to_vec(), "not a 64-bit ELF"),
        ] {
            fs::write(&path, bytes).unwrap();
            let refused = Image::of_program(&path).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
