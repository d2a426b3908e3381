//! How the program itself was built.
#![cfg(target_os = "linux")]
/// `e_type` of a shared object, which a position-independent executable is; a program with fixed
/// addresses has 2.
const ET_DYN: u16 = 3;

#[test]
fn program_is_a_position_independent_executable() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_runseal")).unwrap();
    assert_eq!(&bytes[..4], b"\x7fELF");
    let e_type = [bytes[16], bytes[17]];
    let e_type = match bytes[5] {
        1 => u16::from_le_bytes(e_type),
        _ => u16::from_be_bytes(e_type),
    };
    assert_eq!(e_type, ET_DYN);
}
