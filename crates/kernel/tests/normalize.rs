//! Normalization of what people typed: white space, line ends, composition.

use runseal_kernel::text::{normalize_constraint, normalize_goal, trim_ecmascript};

#[test]
fn constraint_with_runs_of_white_space_is_collapsed() {
    assert_eq!(
        normalize_constraint("\u{feff} a \t b\r\n\r\n\r\rc "),
        "a b\n\nc"
    );
}

#[test]
fn goal_with_inner_spaces_keeps_them() {
    assert_eq!(normalize_goal("  a  b\r\n"), "a  b");
}

#[test]
fn decomposed_goal_becomes_composed() {
    assert_eq!(normalize_goal("cafe\u{301}"), "caf\u{e9}");
}

#[test]
fn trim_keeps_the_next_line_character() {
    assert_eq!(
        trim_ecmascript("\u{85}x\u{200b}\u{feff}"),
        "\u{85}x\u{200b}"
    );
}
