//! Extra fields, in the list and before a file.

use super::{u16_at, u64_at};

/// What is read of an entry's extra fields.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extra<'a> {
    /// Sizes that do not fit 32 bits.
    pub(super) large: Option<&'a [u8]>,
}

const LARGE: u16 = 0x0001;

/// Fields that say nothing about names or content: times and owners, hints to other programs.
/// Those that do, such as another name (0x7075) or another mode (0x756e), are refused, and so are
/// those that nobody knows.
const HARMLESS: [u16; 9] = [
    0x000a, // NTFS times
    0x4453, // NTFS access list
    0x5455, // extended times
    0x5855, // Info-ZIP Unix, first form
    0x7855, // Info-ZIP Unix, second form
    0x7875, // Info-ZIP Unix, third form
    0xa11e, // padding for alignment
    0xa220, // padding of office documents
    0xcafe, // mark of Java archives
];

impl<'a> Extra<'a> {
    /// Reads the fields, each of which may occur once and which fill the bytes exactly.
    pub(super) fn parse(mut bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut extra = Self::default();
        let mut ids = Vec::new();
        while !bytes.is_empty() {
            if bytes.len() < 4 {
                return Err("its extra fields are broken");
            }
            let (id, length) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
            let field = bytes
                .get(4..4 + length)
                .ok_or("its extra fields are broken")?;
            bytes = &bytes[4 + length..];
            if ids.contains(&id) {
                return Err("an extra field is given twice");
            }
            ids.push(id);
            match id {
                LARGE => extra.large = Some(field),
                0x7075 | 0x6375 => {
                    return Err(
                        "an extra field gives it another name or comment in Unicode, \
                                which some unpackers use",
                    );
                }
                id if HARMLESS.contains(&id) => {}
                _ => return Err("it has an extra field that is not read"),
            }
        }
        Ok(extra)
    }
}

/// Puts sizes that do not fit 32 bits where they are wanting, in their order. There must be as
/// many as are wanting.
pub(super) fn apply_large(
    field: Option<&[u8]>,
    wanting: Vec<&mut u64>,
) -> Result<(), &'static str> {
    let Some(field) = field else {
        return match wanting.is_empty() {
            true => Ok(()),
            false => Err("a size is said to stand in an extra field, which is not there"),
        };
    };
    if wanting.is_empty() || field.len() != 8 * wanting.len() {
        return Err("an extra field gives sizes that are not asked for, or fewer than are");
    }
    for (at, value) in wanting.into_iter().enumerate() {
        *value = u64_at(field, 8 * at);
    }
    Ok(())
}
