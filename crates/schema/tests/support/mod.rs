//! Random schemas and documents over a few names and values, so that the schemas apply to the documents.

use serde_json::{Map, Value, json};

/// Pseudo-random numbers that are the same every time.
pub struct Dice {
    state: u64,
    /// Definitions that may be referred to without a cycle for one value: the drafts do not define what
    /// a cycle means.
    definitions: Vec<&'static str>,
    /// Whether the schema is for an element or a member, and so may refer to the root.
    is_inside: bool,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1,
            definitions: vec!["x", "y", "z"],
            is_inside: false,
        }
    }

    pub fn below(&mut self, bound: usize) -> usize {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let high = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        high as usize % bound
    }

    /// Makes a schema for an element or a member.
    fn inside<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let was_inside = std::mem::replace(&mut self.is_inside, true);
        let made = make(self);
        self.is_inside = was_inside;
        made
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

const NAMES: [&str; 7] = ["a", "b", "c", "ab", "é", "a/b", ""];

pub fn document(dice: &mut Dice, depth: usize) -> Value {
    let kinds = if depth == 0 { 14 } else { 22 };
    match dice.below(kinds) {
        0 => Value::Null,
        1 => json!(dice.one_in(2)),
        2..=4 => json!(dice.below(8) as i64 - 2),
        5 => dice.pick(&[
            json!(0.5),
            json!(1.5),
            json!(-0.0),
            json!(0.25),
            json!(0.3),
            json!(3.0),
        ]),
        6 => dice.pick(&[json!(9_007_199_254_740_991_i64), json!(12.5), json!(1e-7)]),
        7..=13 => Value::String(string(dice)),
        14..=17 => {
            let count = dice.below(5);
            Value::Array((0..count).map(|_| document(dice, depth - 1)).collect())
        }
        _ => {
            let count = dice.below(5);
            let members = (0..count).map(|_| {
                let name = dice.pick(&NAMES).to_owned();
                (name, document(dice, depth - 1))
            });
            Value::Object(members.collect())
        }
    }
}

fn string(dice: &mut Dice) -> String {
    let count = dice.below(5);
    let letters = ["a", "b", "c", "A", "é", "😀", " ", "1", "-", "\n", "_"];
    (0..count).map(|_| dice.pick(&letters)).collect()
}

/// A schema that declares the draft with this address, with definitions to refer to.
pub fn schema_of(dice: &mut Dice, draft: &str) -> Value {
    let mut whole = match schema(dice, draft, 3) {
        Value::Object(members) => members,
        other => Map::from_iter([("not".to_owned(), json!({"const": other}))]),
    };
    whole.insert("$schema".to_owned(), json!(draft));
    let definitions = if draft.contains("20") {
        "$defs"
    } else {
        "definitions"
    };
    let mut defined = Map::new();
    for (name, later) in [("x", vec!["y", "z"]), ("y", vec!["z"]), ("z", vec![])] {
        dice.definitions = later;
        defined.insert(name.to_owned(), schema(dice, draft, 2));
    }
    whole.insert(definitions.to_owned(), Value::Object(defined));
    if dice.one_in(4) {
        let id = if draft.contains("draft-04") {
            "id"
        } else {
            "$id"
        };
        whole.insert(id.to_owned(), json!("http://example.com/root.json"));
        whole[definitions]["x"] = json!({id: "x.json", "type": "integer"});
    }
    Value::Object(whole)
}

fn schema(dice: &mut Dice, draft: &str, depth: usize) -> Value {
    if !draft.contains("draft-04") && dice.one_in(10) {
        return json!(dice.one_in(2));
    }
    let mut members = Map::new();
    for _ in 0..1 + dice.below(3) {
        let (keyword, value) = keyword(dice, draft, depth);
        members.insert(keyword.to_owned(), value);
    }
    if dice.one_in(150) {
        // Most likely this makes it invalid.
        let at = dice.below(members.len());
        let name = members.keys().nth(at).unwrap().clone();
        members.insert(name, document(dice, 1));
    }
    Value::Object(members)
}

fn keyword(dice: &mut Dice, draft: &str, depth: usize) -> (&'static str, Value) {
    if depth == 0 || dice.one_in(3) {
        return assertion(dice, draft);
    }
    let is_four = draft.contains("draft-04");
    let is_new = draft.contains("draft/20");
    let is_newest = draft.contains("2020");
    let has_if = is_new || draft.contains("draft-07");
    let down = depth - 1;
    match dice.below(24) {
        0 => ("allOf", schemas(dice, draft, down)),
        1 => ("anyOf", schemas(dice, draft, down)),
        2 => ("oneOf", schemas(dice, draft, down)),
        3 => ("not", schema(dice, draft, down)),
        4 | 5 => ("properties", dice.inside(|dice| named(dice, draft, down))),
        6 => (
            "additionalProperties",
            dice.inside(|dice| schema(dice, draft, down)),
        ),
        7 => {
            let mut map = Map::new();
            let inner = dice.inside(|dice| schema(dice, draft, down));
            map.insert(pattern(dice).to_owned(), inner);
            ("patternProperties", Value::Object(map))
        }
        8 if is_newest => (
            "prefixItems",
            dice.inside(|dice| schemas(dice, draft, down)),
        ),
        8 => ("items", dice.inside(|dice| schemas(dice, draft, down))),
        9 => ("items", dice.inside(|dice| schema(dice, draft, down))),
        10 if !is_newest => (
            "additionalItems",
            dice.inside(|dice| schema(dice, draft, down)),
        ),
        11 if !is_four => ("contains", dice.inside(|dice| schema(dice, draft, down))),
        12 if !is_four => (
            "propertyNames",
            dice.inside(|dice| schema(dice, draft, down)),
        ),
        13 if has_if => ("if", schema(dice, draft, down)),
        14 if has_if => ("then", schema(dice, draft, down)),
        15 if has_if => ("else", schema(dice, draft, down)),
        16 if is_new => ("unevaluatedProperties", schema(dice, draft, down)),
        17 if is_new => ("unevaluatedItems", schema(dice, draft, down)),
        18 if is_new => ("dependentSchemas", named(dice, draft, down)),
        18 => {
            let mut map = named(dice, draft, down);
            map[dice.pick(&NAMES)] = json!([dice.pick(&NAMES)]);
            ("dependencies", map)
        }
        19 if is_new => (
            "dependentRequired",
            json!({dice.pick(&NAMES): [dice.pick(&NAMES)]}),
        ),
        20 if is_newest && dice.is_inside => ("$dynamicRef", json!("#")),
        20 if is_new && dice.is_inside => ("$recursiveRef", json!("#")),
        _ => match reference(dice, draft) {
            Some(reference) => ("$ref", json!(reference)),
            None => assertion(dice, draft),
        },
    }
}

fn reference(dice: &mut Dice, draft: &str) -> Option<String> {
    let definitions = if draft.contains("20") {
        "$defs"
    } else {
        "definitions"
    };
    match dice.below(12) {
        0 if dice.is_inside => Some("#".to_owned()),
        1 if dice.one_in(6) => Some("http://example.com/elsewhere.json".to_owned()),
        2 if dice.one_in(6) => Some(format!("#/{definitions}/nowhere")),
        _ if dice.definitions.is_empty() => None,
        _ => {
            let known = dice.definitions.clone();
            Some(format!("#/{definitions}/{}", dice.pick(&known)))
        }
    }
}

fn schemas(dice: &mut Dice, draft: &str, depth: usize) -> Value {
    let count = 1 + dice.below(3);
    Value::Array((0..count).map(|_| schema(dice, draft, depth)).collect())
}

fn named(dice: &mut Dice, draft: &str, depth: usize) -> Value {
    let count = 1 + dice.below(3);
    let members = (0..count).map(|_| {
        let name = dice.pick(&NAMES).to_owned();
        (name, schema(dice, draft, depth))
    });
    Value::Object(members.collect())
}

fn pattern(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        "a", "^a", "b$", "^[a-c]+$", "^.$", "\\d", "^\\w*$", "^\\S*$", "(ab|c)", "^a{1,2}$", "é",
        "^(?!a)", "^[^a]*$", "\\p{L}", "",
    ])
}

fn assertion(dice: &mut Dice, draft: &str) -> (&'static str, Value) {
    let types = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    let is_four = draft.contains("draft-04");
    let small = |dice: &mut Dice| json!(dice.below(4));
    match dice.below(20) {
        0..=2 => ("type", json!(dice.pick(&types))),
        3 => {
            let first = dice.below(6);
            ("type", json!([types[first], types[first + 1]]))
        }
        4 => ("const", document(dice, 1)),
        5 => (
            "enum",
            json!([document(dice, 1), document(dice, 1), document(dice, 1)]),
        ),
        6 => ("minimum", json!(dice.below(5))),
        7 => (
            "maximum",
            dice.pick(&[json!(2), json!(1.5), json!(0), json!(1e300)]),
        ),
        8 if !is_four => ("exclusiveMinimum", small(dice)),
        9 if !is_four => ("exclusiveMaximum", small(dice)),
        10 => (
            "multipleOf",
            dice.pick(&[json!(2), json!(0.1), json!(0.5), json!(1.5), json!(3)]),
        ),
        11 => ("minLength", small(dice)),
        12 => ("maxLength", small(dice)),
        13 => ("pattern", json!(pattern(dice))),
        14 => ("minItems", small(dice)),
        15 => ("maxItems", small(dice)),
        16 => ("uniqueItems", json!(true)),
        17 => ("minProperties", small(dice)),
        18 => ("maxProperties", small(dice)),
        _ => ("required", json!([dice.pick(&NAMES)])),
    }
}
