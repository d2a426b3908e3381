//! Unicode properties by the names that `\p{…}` takes.

use unicode_properties::{GeneralCategory as Category, UnicodeGeneralCategory as _};
use unicode_script::{Script, UnicodeScript as _};

/// A property of characters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Property {
    Any,
    Ascii,
    Assigned,
    Alphabetic,
    Lowercase,
    Uppercase,
    WhiteSpace,
    /// One of a few general categories.
    Category(&'static [Category]),
    Script(Script),
    /// Used with this script, and maybe with others.
    ScriptExtension(Script),
}

/// The names of general categories and their groups, in lower case and without separators.
const CATEGORIES: [(&[&str], &[Category]); 38] = {
    use Category as C;
    [
        (
            &["l", "letter"],
            &[
                C::UppercaseLetter,
                C::LowercaseLetter,
                C::TitlecaseLetter,
                C::ModifierLetter,
                C::OtherLetter,
            ],
        ),
        (
            &["lc", "casedletter", "l&"],
            &[C::UppercaseLetter, C::LowercaseLetter, C::TitlecaseLetter],
        ),
        (&["lu", "uppercaseletter"], &[C::UppercaseLetter]),
        (&["ll", "lowercaseletter"], &[C::LowercaseLetter]),
        (&["lt", "titlecaseletter"], &[C::TitlecaseLetter]),
        (&["lm", "modifierletter"], &[C::ModifierLetter]),
        (&["lo", "otherletter"], &[C::OtherLetter]),
        (
            &["m", "mark", "combiningmark"],
            &[C::NonspacingMark, C::SpacingMark, C::EnclosingMark],
        ),
        (&["mn", "nonspacingmark"], &[C::NonspacingMark]),
        (&["mc", "spacingmark"], &[C::SpacingMark]),
        (&["me", "enclosingmark"], &[C::EnclosingMark]),
        (
            &["n", "number"],
            &[C::DecimalNumber, C::LetterNumber, C::OtherNumber],
        ),
        (&["nd", "decimalnumber", "digit"], &[C::DecimalNumber]),
        (&["nl", "letternumber"], &[C::LetterNumber]),
        (&["no", "othernumber"], &[C::OtherNumber]),
        (
            &["p", "punctuation", "punct"],
            &[
                C::ConnectorPunctuation,
                C::DashPunctuation,
                C::OpenPunctuation,
                C::ClosePunctuation,
                C::InitialPunctuation,
                C::FinalPunctuation,
                C::OtherPunctuation,
            ],
        ),
        (&["pc", "connectorpunctuation"], &[C::ConnectorPunctuation]),
        (&["pd", "dashpunctuation"], &[C::DashPunctuation]),
        (&["ps", "openpunctuation"], &[C::OpenPunctuation]),
        (&["pe", "closepunctuation"], &[C::ClosePunctuation]),
        (&["pi", "initialpunctuation"], &[C::InitialPunctuation]),
        (&["pf", "finalpunctuation"], &[C::FinalPunctuation]),
        (&["po", "otherpunctuation"], &[C::OtherPunctuation]),
        (
            &["s", "symbol"],
            &[
                C::MathSymbol,
                C::CurrencySymbol,
                C::ModifierSymbol,
                C::OtherSymbol,
            ],
        ),
        (&["sm", "mathsymbol"], &[C::MathSymbol]),
        (&["sc", "currencysymbol"], &[C::CurrencySymbol]),
        (&["sk", "modifiersymbol"], &[C::ModifierSymbol]),
        (&["so", "othersymbol"], &[C::OtherSymbol]),
        (
            &["z", "separator"],
            &[C::SpaceSeparator, C::LineSeparator, C::ParagraphSeparator],
        ),
        (&["zs", "spaceseparator"], &[C::SpaceSeparator]),
        (&["zl", "lineseparator"], &[C::LineSeparator]),
        (&["zp", "paragraphseparator"], &[C::ParagraphSeparator]),
        (
            &["c", "other"],
            &[
                C::Control,
                C::Format,
                C::Surrogate,
                C::PrivateUse,
                C::Unassigned,
            ],
        ),
        (&["cc", "control", "cntrl"], &[C::Control]),
        (&["cf", "format"], &[C::Format]),
        (&["cs", "surrogate"], &[C::Surrogate]),
        (&["co", "privateuse"], &[C::PrivateUse]),
        (&["cn", "unassigned"], &[C::Unassigned]),
    ]
};

impl Property {
    /// The property that `\p{name}` names, ignoring case, spaces, hyphens and underscores.
    pub fn find(name: &str) -> Option<Self> {
        let Some((kind, value)) = name.split_once('=') else {
            return Self::find_binary(name)
                .or_else(|| find_category(name))
                .or_else(|| find_script(name).map(Self::Script));
        };
        match squeeze(kind).as_str() {
            "gc" | "generalcategory" => find_category(value),
            "sc" | "script" => find_script(value).map(Self::Script),
            "scx" | "scriptextensions" => find_script(value).map(Self::ScriptExtension),
            _ => None,
        }
    }

    fn find_binary(name: &str) -> Option<Self> {
        Some(match squeeze(name).as_str() {
            "any" => Self::Any,
            "ascii" => Self::Ascii,
            "assigned" => Self::Assigned,
            "alphabetic" | "alpha" => Self::Alphabetic,
            "lowercase" | "lower" => Self::Lowercase,
            "uppercase" | "upper" => Self::Uppercase,
            "whitespace" | "space" | "wspace" => Self::WhiteSpace,
            _ => return None,
        })
    }

    pub fn holds(self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Ascii => c.is_ascii(),
            Self::Assigned => c.general_category() != Category::Unassigned,
            Self::Alphabetic => c.is_alphabetic(),
            Self::Lowercase => c.is_lowercase(),
            Self::Uppercase => c.is_uppercase(),
            Self::WhiteSpace => c.is_whitespace(),
            Self::Category(categories) => categories.contains(&c.general_category()),
            Self::Script(script) => c.script() == script,
            Self::ScriptExtension(script) => c.script_extension().contains_script(script),
        }
    }
}

fn find_category(name: &str) -> Option<Property> {
    let name = squeeze(name);
    let found = CATEGORIES
        .iter()
        .find(|(names, _)| names.contains(&name.as_str()));
    found.map(|(_, categories)| Property::Category(categories))
}

/// The script with this full or short name, in which every word begins with a capital letter.
fn find_script(name: &str) -> Option<Script> {
    let words = name.split(['_', '-', ' ']).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        let rest = letters.map(|c| c.to_ascii_lowercase());
        first.into_iter().chain(rest).collect::<String>()
    });
    let name = words.collect::<Vec<_>>().join("_");
    Script::from_full_name(name.as_str()).or_else(|| Script::from_short_name(name.as_str()))
}

fn squeeze(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}
