//! Compares two arrays in NumPy's format (`.npy`), element by element, in pieces.
//!
//! Both headers have to be the same: type, order and shape. Types without numbers, such as objects, texts and records, are
//! not compared here.

use std::io::{self, Read};

use super::compared::{Measure, Place};
use super::number::Close;

/// The longest header that is read.
const LONGEST_HEADER: usize = 64 << 10;

/// How many bytes are compared at a time; a multiple of the size of every element.
const PIECE: usize = 64 << 10;

/// Why two arrays differ in more than numbers.
#[derive(Debug)]
pub(super) enum ArrayFault {
    /// It is not an array of numbers.
    NoNumbers,
    /// Type, order or shape differ.
    Header,
    /// One has fewer bytes than the other, or more.
    Length,
    Read(io::Error),
}

/// Compares two arrays; their elements go to `measure`.
pub(super) fn compare_arrays(
    mut before: impl Read,
    mut now: impl Read,
    measure: &mut Measure,
) -> Result<(), ArrayFault> {
    let (old, new) = (Header::read(&mut before)?, Header::read(&mut now)?);
    if old != new {
        return Err(ArrayFault::Header);
    }
    let (mut a, mut b) = (vec![0; PIECE], vec![0; PIECE]);
    let mut number = 0_u64;
    loop {
        let old_count = fill(&mut before, &mut a)?;
        let new_count = fill(&mut now, &mut b)?;
        if old_count != new_count || old_count % old.size != 0 {
            return Err(ArrayFault::Length);
        }
        if old_count == 0 {
            return Ok(());
        }
        if a[..old_count] == b[..old_count] {
            number += (old_count / old.size) as u64;
            continue;
        }
        let pairs = a[..old_count].chunks_exact(old.size);
        for (x, y) in pairs.zip(b.chunks_exact(old.size)) {
            let (x, y) = (old.element(x), old.element(y));
            let at = number / old.parts;
            let close = measure.compare(x, y);
            if close != Close::Same {
                let place = || Place::Index(old.index_of(at));
                measure.add_close(close, &x.to_string(), &y.to_string(), place);
            }
            number += 1;
        }
    }
}

/// One part of an element.
#[derive(Debug, Clone, Copy)]
pub(super) enum Element {
    Integer(i128),
    Double(f64),
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value:?}"),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Header {
    text: Vec<u8>,
    is_big: bool,
    kind: u8,
    /// Bytes of one part.
    size: usize,
    /// How many parts an element has: a complex number has two.
    parts: u64,
    shape: Vec<u64>,
    is_fortran: bool,
}

impl Header {
    fn read(from: &mut impl Read) -> Result<Self, ArrayFault> {
        let mut magic = [0; 8];
        exact(from, &mut magic)?;
        let length = match (&magic[..6], magic[6]) {
            (b"\x93NUMPY", 1) => {
                let mut length = [0; 2];
                exact(from, &mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            (b"\x93NUMPY", 2 | 3) => {
                let mut length = [0; 4];
                exact(from, &mut length)?;
                u32::from_le_bytes(length) as usize
            }
            _ => return Err(ArrayFault::NoNumbers),
        };
        if length > LONGEST_HEADER {
            return Err(ArrayFault::NoNumbers);
        }
        let mut text = vec![0; length];
        exact(from, &mut text)?;
        text.truncate(text.trim_ascii_end().len());
        Self::parse(text).ok_or(ArrayFault::NoNumbers)
    }

    fn parse(text: Vec<u8>) -> Option<Self> {
        let written = str::from_utf8(&text).ok()?;
        let value = |name: &str| Some(written.split_once(name)?.1.trim_start());
        let of_type = value("'descr':")?.strip_prefix('\'')?;
        let (of_type, _) = of_type.split_once('\'')?;
        let order = value("'fortran_order':")?;
        let (shape, _) = value("'shape':")?.strip_prefix('(')?.split_once(')')?;
        let shape = shape.split(',').map(str::trim).filter(|it| !it.is_empty());
        let shape = shape.map(|it| it.parse().ok()).collect::<Option<_>>()?;
        let (is_big, is_fortran) = (of_type.starts_with('>'), order.starts_with("True"));
        let of_type = of_type.trim_start_matches(['<', '>', '=', '|']);
        let (kind, size, parts) = match of_type {
            "f2" => (b'f', 2, 1),
            "f4" => (b'f', 4, 1),
            "f8" => (b'f', 8, 1),
            "c8" => (b'f', 4, 2),
            "c16" => (b'f', 8, 2),
            "i1" => (b'i', 1, 1),
            "i2" => (b'i', 2, 1),
            "i4" => (b'i', 4, 1),
            "i8" => (b'i', 8, 1),
            "u1" => (b'u', 1, 1),
            "u2" => (b'u', 2, 1),
            "u4" => (b'u', 4, 1),
            "u8" => (b'u', 8, 1),
            _ => return None,
        };
        Some(Self {
            is_big,
            kind,
            size,
            parts,
            shape,
            is_fortran,
            text,
        })
    }

    fn element(&self, bytes: &[u8]) -> Element {
        let mut bits = 0_u64;
        for at in 0..bytes.len() {
            let byte = if self.is_big {
                bytes[at]
            } else {
                bytes[bytes.len() - 1 - at]
            };
            bits = bits << 8 | u64::from(byte);
        }
        match (self.kind, self.size) {
            (b'f', 2) => Element::Double(half(bits as u16)),
            (b'f', 4) => Element::Double(f32::from_bits(bits as u32).into()),
            (b'f', _) => Element::Double(f64::from_bits(bits)),
            (b'i', size) => {
                let shift = 64 - 8 * size;
                Element::Integer((((bits << shift) as i64) >> shift).into())
            }
            _ => Element::Integer(bits.into()),
        }
    }

    /// The index of the element that comes at `number`.
    fn index_of(&self, mut number: u64) -> Vec<u64> {
        let mut index = vec![0; self.shape.len()];
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        if !self.is_fortran {
            axes.reverse();
        }
        for axis in axes {
            let length = self.shape[axis].max(1);
            index[axis] = number % length;
            number /= length;
        }
        index
    }
}

/// A double of half precision.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    };
    sign * size
}

fn exact(from: &mut impl Read, buffer: &mut [u8]) -> Result<(), ArrayFault> {
    match fill(from, buffer)? == buffer.len() {
        true => Ok(()),
        false => Err(ArrayFault::NoNumbers),
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ArrayFault> {
    runseal_archive::fill(from, buffer).map_err(ArrayFault::Read)
}

#[cfg(test)]
mod tests {
    use super::super::number::Tolerance;
    use super::*;

    fn array(of_type: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{of_type}', 'fortran_order': False, 'shape': ({shape}), }}   \n");
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    fn compare(before: &[u8], now: &[u8]) -> Result<Measure, ArrayFault> {
        let mut measure = Measure::new(Tolerance {
            relative: Some(1e-6),
            absolute: Some(1.0),
        });
        compare_arrays(before, now, &mut measure)?;
        Ok(measure)
    }

    #[test]
    fn arrays_are_compared_element_by_element() {
        let doubles = |values: &[f64]| -> Vec<u8> {
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        let a = array("<f8", "2, 2", &doubles(&[1.0, f64::NAN, 1e9, 0.0]));
        let b = array("<f8", "2, 2", &doubles(&[1.0, f64::NAN, 1e9 + 10.0, -0.0]));
        let measure = compare(&a, &b).unwrap();
        assert_eq!(measure.differing(), 1);
        let far = array("<f8", "2, 2", &doubles(&[5.0, 0.0, 1e9, 0.0]));
        let told = compare(&a, &far).unwrap().beyond().unwrap();
        assert!(told.contains("[0, 0]: 1.0, now 5.0"), "{told}");
        assert!(told.contains("[0, 1]: NaN, now 0.0"), "{told}");
        let other = array("<f8", "4,", &doubles(&[1.0, f64::NAN, 1e9, 0.0]));
        assert!(matches!(compare(&a, &other), Err(ArrayFault::Header)));
        assert!(matches!(
            compare(&a, &a[..a.len() - 8]),
            Err(ArrayFault::Length)
        ));
        assert!(matches!(
            compare(b"\x93NUM", b"\x93NUM"),
            Err(ArrayFault::NoNumbers)
        ));
        let texts = array("<U4", "1,", &[0; 16]);
        assert!(matches!(
            compare(&texts, &texts),
            Err(ArrayFault::NoNumbers)
        ));
    }

    #[test]
    fn every_type_of_number_is_read() {
        for (of_type, bytes, value) in [
            ("<i2", &[0xff, 0xff][..], "-1"),
            (">i2", &[0x01, 0x00], "256"),
            ("|u1", &[0xff], "255"),
            ("<u8", &[0xff; 8], "18446744073709551615"),
            ("<i8", &[0xff; 8], "-1"),
            ("<f2", &[0x00, 0x3c], "1.0"),
            ("<f2", &[0x01, 0x00], "5.960464477539063e-8"),
            (">f4", &[0x3f, 0x80, 0, 0], "1.0"),
        ] {
            let header = Header::read(&mut array(of_type, "1,", bytes).as_slice()).unwrap();
            assert_eq!(header.element(bytes).to_string(), value, "{of_type}");
        }
        let complex = |imaginary: f32| {
            let parts = [1.0_f32, 2.0, 3.0, imaginary];
            let parts: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
            array("<c8", "2,", &parts)
        };
        let told = compare(&complex(4.0), &complex(9.0))
            .unwrap()
            .beyond()
            .unwrap();
        assert!(told.contains("[1]: 4.0, now 9.0"), "{told}");
    }
}
