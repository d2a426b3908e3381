//! Normalization of what people typed: white space, line ends, composition.

use runseal_kernel::text::{normalize_constraint, normalize_goal, trim_ecmascript};

#[test]
fn constraint_spaces_and_newlines_collapse() {
    assert_eq!(
        normalize_constraint("\u{feff} a \t b\r\n\r\n\r\rc "),
        "a b\n\nc"
    );
}

#[test]
fn goal_inner_spaces_stay() {
    assert_eq!(normalize_goal("  a  b\r\n"), "a  b");
}

#[test]
fn goal_decomposed_becomes_composed() {
    assert_eq!(normalize_goal("cafe\u{301}"), "caf\u{e9}");
}

#[test]
fn trim_next_line_stays() {
    assert_eq!(
        trim_ecmascript("\u{85}x\u{200b}\u{feff}"),
        "\u{85}x\u{200b}"
    );
}
