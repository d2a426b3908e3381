//! Classes of words, one bit each.

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $bit:expr;)*) => {
        $($(#[$doc])* pub(crate) const $name: u64 = 1 << $bit;)*

        /// Every class with its name.
        pub(crate) const NAMES: &[(u64, &str)] = &[$(($name, stringify!($name)),)*];
    };
}

classes! {
    /// Carries no subject: articles, pronouns, prepositions, auxiliaries.
    STOP = 0;
    /// Negates.
    NEG = 1;
    /// must, shall, can, …
    MODAL = 2;
    /// all, every, always, only, …
    UNIVERSAL = 3;
    /// Opens a condition or an exception.
    CONDITION = 4;
    /// People.
    PERSON = 5;
    /// Product, language, framework, protocol.
    TECH = 6;
    /// Framework or library (also TECH).
    LIBRARY = 7;
    /// Database product (also TECH).
    DATABASE = 8;
    /// Cloud product (also TECH).
    CLOUD = 9;
    /// Programming language (also TECH).
    LANGUAGE = 10;
    /// Data and document formats.
    FORMAT = 11;
    /// Words for data and its parts.
    DATA = 12;
    /// Words of failure and its handling.
    FAILURE = 13;
    /// Words for results and deliverables.
    OUTPUT = 14;
    /// Units of time.
    TIME_UNIT = 15;
    /// Units of storage.
    SIZE_UNIT = 16;
    /// Other units of measure.
    OTHER_UNIT = 17;
    /// Names of blanks: name, date, number, …
    BLANK = 18;
    /// HTML element names.
    HTML = 19;
    /// Says that markup, code or syntax is talked about.
    SYNTAX = 20;
    /// Spoken languages.
    TONGUE = 21;
    /// Text encodings.
    ENCODING = 22;
    /// Operating systems.
    SYSTEM = 23;
    /// Verbs by which people or programs use a thing.
    USE_VERB = 24;
    /// The whole of what is built: system, app, service, …
    WHOLE = 25;
    /// Verbs of building.
    BUILD = 26;
    /// Verbs of changing.
    CHANGE = 27;
    /// Verbs of repair and upkeep.
    FIX = 28;
    /// Verbs of writing documents and of planning.
    DESCRIBE = 29;
    /// Verbs of improving.
    IMPROVE = 30;
    /// Verbs of moving data or systems.
    MIGRATE = 31;
    /// Verbs of finding out.
    ANALYSE = 32;
    /// Verbs of running and configuring.
    OPERATE = 33;
    /// Documents as deliverables.
    DOCUMENT = 34;
    /// Ends in -er/-or/-ist but is no person.
    THING = 35;
    /// Cannot be a subject that two statements share: too general.
    GENERIC = 36;
    /// Number words.
    NUMERAL = 37;
    /// Environments and occasions that scope a statement.
    SCOPE = 38;
    /// Verbs that say data properties (`might contain`).
    PROPERTY_VERB = 39;
    /// Test tools: not part of the product.
    TEST_TOOL = 40;
    /// Frequencies: hourly, daily, …
    FREQUENCY = 41;
    /// Software artifacts: app, service, script, website …
    SOFTWARE = 42;
    /// Places where an action sits: file, function, module …
    LOCATION = 43;
    /// Ways to write names: camelCase, snake_case.
    NAMING = 44;
    /// Currencies.
    CURRENCY = 45;
    /// Days of the week.
    WEEKDAY = 46;
    /// Without one of these words no clause can put a value off.
    DEFER = 47;
    /// States of a value that nobody has fixed: `not agreed`.
    UNSETTLED = 48;
    /// Acts by which somebody gives a value.
    GIVING = 49;
    /// A way to send a message.
    CHANNEL = 50;
    /// A colour.
    COLOUR = 51;
    /// A unit that has a counterpart: kilometres, miles.
    SYSTEM_UNIT = 52;
    /// Starts a cue phrase.
    CUE = 63;
}
