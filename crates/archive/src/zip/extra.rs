//! Extra fields, in the list and in local headers.

use super::{u16_at, u64_at};

/// What is read of an entry's extra fields.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extra<'a> {
    /// Sizes that do not fit 32 bits.
    pub(super) large: Option<&'a [u8]>,
}

const LARGE: u16 = 0x0001;

/// Fields that affect neither names nor content: times, owners, hints to other programs. Fields
/// that do, such as another name (0x7075) or mode (0x756e), are refused, and so are unknown ones.
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
    /// Parses the fields. Each may occur once, and they must fill the bytes exactly.
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
                return Err("duplicate extra field");
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
                _ => return Err("it has an unknown extra field"),
            }
        }
        Ok(extra)
    }
}

/// Replaces the values that do not fit 32 bits by those in the field, in order. There must be
/// exactly as many.
pub(super) fn apply_large(
    field: Option<&[u8]>,
    missing: Vec<&mut u64>,
) -> Result<(), &'static str> {
    let Some(field) = field else {
        return if missing.is_empty() {
            Ok(())
        } else {
            Err("a size refers to an extra field, which is missing")
        };
    };
    if missing.is_empty() || field.len() != 8 * missing.len() {
        return Err("an extra field has more or fewer sizes than needed");
    }
    for (at, value) in missing.into_iter().enumerate() {
        *value = u64_at(field, 8 * at);
    }
    Ok(())
}
