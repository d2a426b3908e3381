//! The contract of a catalogue, tested on a file, a server, and a server behind pgbouncer in
//! transaction mode.

use std::collections::{BTreeMap, BTreeSet};
use std::{slice, thread};

use crate::support::{Fresh, Kind};
use runseal_core::digest::Digest;
use runseal_postgres::PostgresCatalog;
use runseal_store::catalog::filter::{Column, Comparison, Field, Several};
use runseal_store::catalog::sqlite::SqliteCatalog;
use runseal_store::catalog::words::words_of;
use runseal_store::catalog::{
    Added, Catalog, CatalogError, Entry, Existing, Filter, Query, Scalar, Sighting, UNSIGNED,
    ValueName, entries_of, resolve,
};

fn open(fresh: &Fresh) -> Box<dyn Catalog> {
    if fresh.place.starts_with("postgres://") {
        Box::new(PostgresCatalog::create(&fresh.place).unwrap())
    } else {
        let path = fresh.folder.path().join("catalog.db");
        Box::new(SqliteCatalog::create(&path).unwrap())
    }
}

fn digest(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

fn sighting(place: &str, signer: &str) -> Sighting {
    Sighting {
        place: place.to_owned(),
        signer: signer.to_owned(),
    }
}

/// An entry with the id `id`, seen at a place of that name.
fn entry(id: &str, engine: &str, time: &str, values: &[(&str, Scalar)]) -> Entry {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Entry {
        digest: digest(id),
        format: "run-bundle".to_owned(),
        id: text(id),
        engine: text(engine),
        outcome: None,
        time: text(time),
        values: values
            .iter()
            .map(|(name, scalar)| (ValueName::parse(name).unwrap(), scalar.clone()))
            .collect(),
        left_out: 0,
        sightings: [sighting(id, UNSIGNED)].into(),
        tags: BTreeSet::new(),
    }
}

fn number(number: f64) -> Scalar {
    Scalar::Number(number)
}

fn text(text: &str) -> Scalar {
    Scalar::Text(text.to_owned())
}

fn tags(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn found(catalog: &dyn Catalog, query: &Query) -> Vec<Entry> {
    let mut entries = Vec::new();
    catalog
        .visit(query, &mut |entry| {
            entries.push(entry);
            true
        })
        .unwrap();
    entries
}

fn ids(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| entry.id.clone().unwrap())
        .collect()
}

fn filtered(catalog: &dyn Catalog, filter: &str) -> Vec<String> {
    let query = Query {
        filter: Some(Filter::parse(filter).unwrap()),
        ..Query::default()
    };
    ids(&found(catalog, &query))
}

fn searched(catalog: &dyn Catalog, text: &str) -> Vec<String> {
    let query = Query {
        words: words_of(text).collect(),
        ..Query::default()
    };
    ids(&found(catalog, &query))
}

/// Four runs of two engines.
fn four() -> Vec<Entry> {
    let mut entries = vec![
        entry(
            "one",
            "FLATS",
            "2026-11-01T00:00:00Z",
            &[
                ("metrics/outputs/rmse", number(0.25)),
                ("params/inputs/model", text("tiny-model")),
                ("params/debug", Scalar::Flag(true)),
            ],
        ),
        entry(
            "two",
            "FLATS",
            "2026-11-03T00:00:00Z",
            &[
                ("metrics/rmse", number(0.5)),
                ("params/inputs/model", text("O'Neil 100% _ \"Größe\"")),
            ],
        ),
        entry(
            "three",
            "SWEEP",
            "2026-11-02T00:00:00Z",
            &[
                ("metrics/outputs/rmse", number(-1e-9)),
                ("params/inputs/seed", number(42.0)),
                ("metrics/a~1b/0", number(7.0)),
            ],
        ),
        entry("four", "", "", &[("metrics/outputs/rmse", text("0.25"))]),
    ];
    entries[1].sightings = [sighting("a/two", "key1"), sighting("b/two", UNSIGNED)].into();
    entries[2].outcome = Some("accepted".to_owned());
    entries[3].format = "pack".to_owned();
    entries
}

/// Whether a filter matches, by a naive evaluation.
fn matches(filter: &Filter, entry: &Entry) -> bool {
    let test = match filter {
        Filter::All(parts) => return parts.iter().all(|part| matches(part, entry)),
        Filter::Any(parts) => return parts.iter().any(|part| matches(part, entry)),
        Filter::Not(part) => return !matches(part, entry),
        Filter::Test(test) => test,
    };
    let compares = |text: &str| match &test.check {
        None => true,
        Some((Comparison::Contains, literal)) => text.contains(&literal.text),
        Some((comparison, literal)) => orders(*comparison, text.cmp(&literal.text)),
    };
    match &test.field {
        Field::Column(column) => {
            let text = match column {
                Column::Format => Some(entry.format.as_str()),
                Column::Id => entry.id.as_deref(),
                Column::Engine => entry.engine.as_deref(),
                Column::Outcome => entry.outcome.as_deref(),
                Column::Time => entry.time.as_deref(),
            };
            text.is_some_and(compares)
        }
        Field::Several(Several::Tag) => entry.tags.iter().any(|tag| compares(tag)),
        Field::Several(Several::Signer) => {
            entry.sightings.iter().any(|seen| compares(&seen.signer))
        }
        Field::Several(Several::Place) => entry.sightings.iter().any(|seen| compares(&seen.place)),
        Field::Digest => {
            let (_, literal) = test.check.as_ref().unwrap();
            entry.digest.to_string().starts_with(&literal.text)
        }
        Field::Value(root, parts) => {
            let names = ValueName::of_parts(*root, parts);
            let mut values = names.iter().filter_map(|name| entry.values.get(name));
            values.any(|value| match &test.check {
                Some((comparison, literal))
                    if literal.number.is_some() && *comparison != Comparison::Contains =>
                {
                    let order = value
                        .number()
                        .and_then(|number| number.partial_cmp(&literal.number.unwrap()));
                    order.is_some_and(|order| orders(*comparison, order))
                }
                Some(_) => value.text().is_some_and(compares),
                None => true,
            })
        }
    }
}

fn orders(comparison: Comparison, order: std::cmp::Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
        Comparison::Contains => false,
    }
}

/// A reproducible random number generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) as usize) % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    fn filter(&mut self, depth: usize) -> String {
        match self.roll(if depth == 0 { 4 } else { 7 }) {
            4 => format!("not ({})", self.filter(depth - 1)),
            5 => format!("({}) or {}", self.filter(depth - 1), self.filter(depth - 1)),
            6 => format!(
                "{} and ({})",
                self.filter(depth - 1),
                self.filter(depth - 1)
            ),
            _ => {
                let sign = self.pick(&["=", "!=", "<", "<=", ">", ">=", "~"]);
                match self.roll(5) {
                    0 => format!("metrics.x{sign}{}", self.pick(&["1", "2.5", "'b'", "c"])),
                    1 => format!(
                        "params.y{sign}{}",
                        self.pick(&["0", "true", "'Ä'", "\"%\""])
                    ),
                    2 => format!("engine{sign}{}", self.pick(&["E1", "E2", "''", "e"])),
                    3 => format!("tag{sign}{}", self.pick(&["red", "blue", "r"])),
                    _ => self
                        .pick(&["tag", "engine", "metrics.x", "signer=unsigned"])
                        .to_owned(),
                }
            }
        }
    }
}

on_every_store! {
    fn entry_is_read_back_as_it_was_added(fresh: &Fresh) {
        let mut catalog = open(fresh);
        let mut entries = four();
        entries[0].tags = tags(&["base line", "größe"]);
        entries[0].left_out = 3;
        let added = catalog.add(&entries, Existing::Keep).unwrap();
        assert_eq!(added, Added { added: 4, known: 0 });
        for entry in &entries {
            let back = entries_of(catalog.as_reader(), &[entry.digest]).unwrap();
            assert_eq!(back, slice::from_ref(entry));
        }
        assert_eq!(catalog.count().unwrap(), 4);
    }

    fn unit_added_again_is_one_entry_with_all_its_places(fresh: &Fresh) {
        let mut catalog = open(fresh);
        let first = entry("one", "E", "", &[("params/x", number(1.0))]);
        let mut second = first.clone();
        second.sightings = [sighting("elsewhere", "key"), sighting("elsewhere", "other")].into();
        second.tags = tags(&["late"]);
        catalog.add(&[first.clone(), second.clone(), first.clone()], Existing::Keep).unwrap();
        let added = catalog.add(&[second.clone()], Existing::Keep).unwrap();
        assert_eq!(added, Added { added: 0, known: 1 });
        let mut whole = first.clone();
        whole.sightings.extend(second.sightings.clone());
        whole.tags = second.tags.clone();
        assert_eq!(found(&*catalog, &Query::default()), [whole.clone()]);
        assert_eq!(whole.signers(), ["key", "other"].into());
        assert_eq!(searched(&*catalog, "late"), ["one"]);
        // A signature that was removed is forgotten when its place is seen again.
        second.sightings = [sighting("elsewhere", UNSIGNED)].into();
        catalog.add(&[second], Existing::Keep).unwrap();
        assert!(filtered(&*catalog, "signer=key").is_empty());
    }

    fn entries_are_ordered_newest_first_and_those_without_time_last(fresh: &Fresh) {
        let mut catalog = open(fresh);
        catalog.add(&four(), Existing::Keep).unwrap();
        let all = found(&*catalog, &Query::default());
        assert_eq!(ids(&all), ["two", "three", "one", "four"]);
        for limit in 0..5 {
            let query = Query { limit: Some(limit), ..Query::default() };
            assert_eq!(found(&*catalog, &query), all[..limit.min(4)]);
        }
        let mut seen = 0;
        catalog.visit(&Query::default(), &mut |_| { seen += 1; seen < 2 }).unwrap();
        assert_eq!(seen, 2);
    }

    fn filters_find_matching_entries(fresh: &Fresh) {
        let mut catalog = open(fresh);
        catalog.add(&four(), Existing::Keep).unwrap();
        catalog.tag(&[digest("one"), digest("two")], &tags(&["good"]), &tags(&[])).unwrap();
        let all = ["two", "three", "one", "four"];
        let cases: &[(&str, &[&str])] = &[
            ("metrics.rmse<0.3 and engine=FLATS", &["one"]),
            ("metrics.rmse<0.3", &["three", "one"]),
            ("metrics.outputs.rmse<=0.25", &["three", "one"]),
            ("metrics.rmse!=0.25", &["two", "three"]),
            ("metrics.rmse=\"0.25\"", &["four"]),
            ("metrics.rmse", &all),
            ("not metrics.rmse>0", &["three", "four"]),
            ("metrics.\"a/b\".0=7", &["three"]),
            ("params.seed=42", &["three"]),
            ("params.debug=true", &["one"]),
            ("params.debug=1", &["one"]),
            ("params.model~Neil", &["two"]),
            ("params.model~'100% _'", &["two"]),
            ("params.model='O''Neil 100% _ \"Größe\"'", &["two"]),
            ("params.model~tiny or params.model~Größe", &["two", "one"]),
            ("engine=FLATS", &["two", "one"]),
            ("engine!=FLATS", &["three"]),
            ("not engine=FLATS", &["three", "four"]),
            ("engine~LA", &["two", "one"]),
            ("engine", &["two", "three", "one"]),
            ("format=pack", &["four"]),
            ("outcome=accepted", &["three"]),
            ("id=one or id=four", &["one", "four"]),
            ("time>=2026-11-02", &["two", "three"]),
            ("time<2026-11-02", &["one"]),
            ("tag=good", &["two", "one"]),
            ("tag!=good", &["three", "four"]),
            ("tag", &["two", "one"]),
            ("signer=key1", &["two"]),
            ("signer=unsigned", &all),
            ("signer!=unsigned", &[]),
            ("place~/two", &["two"]),
            ("tag=good and (engine=SWEEP or metrics.rmse>0.4)", &["two"]),
            ("engine='FLATS'' OR 1=1 --'", &[]),
        ];
        for (filter, expected) in cases {
            assert_eq!(filtered(&*catalog, filter), *expected, "{filter}");
        }
        let digits = &digest("one").to_string()[..7];
        assert_eq!(filtered(&*catalog, &format!("digest={digits}")), ["one"]);
        assert_eq!(filtered(&*catalog, &format!("digest!={digits}")), ["two", "three", "four"]);
    }

    fn random_filters_agree_with_naive_evaluation(fresh: &Fresh) {
        let mut catalog = open(fresh);
        let mut dice = Dice(7);
        let mut entries = Vec::new();
        for at in 0..60 {
            let mut values = Vec::new();
            if dice.roll(3) > 0 {
                values.push(("metrics/outputs/x", match dice.roll(3) {
                    0 => number(1.0),
                    1 => number(dice.roll(5) as f64),
                    _ => text(dice.pick(&["a", "b", "bc", "C"])),
                }));
            }
            if dice.roll(3) > 0 {
                values.push(("params/y", match dice.roll(3) {
                    0 => Scalar::Flag(dice.roll(2) == 1),
                    1 => number(-0.5 * dice.roll(3) as f64),
                    _ => text(dice.pick(&["Ä", "50%", "ä"])),
                }));
            }
            let engine = dice.pick(&["E1", "E2", ""]);
            let time = dice.pick(&["", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"]);
            let mut entry = entry(&format!("r{at}"), engine, time, &values);
            if dice.roll(2) == 1 {
                entry.tags = tags(&[dice.pick(&["red", "blue", "r"])]);
            }
            entries.push(entry);
        }
        catalog.add(&entries, Existing::Keep).unwrap();
        let everything = found(&*catalog, &Query::default());
        assert_eq!(everything.len(), 60);
        for _ in 0..300 {
            let written = dice.filter(3);
            let filter = Filter::parse(&written).unwrap();
            let expected = everything.iter().filter(|entry| matches(&filter, entry)).cloned();
            assert_eq!(filtered(&*catalog, &written), ids(&expected.collect::<Vec<_>>()), "{written}");
        }
    }

    fn words_are_found_by_prefix(fresh: &Fresh) {
        let mut catalog = open(fresh);
        catalog.add(&four(), Existing::Keep).unwrap();
        let cases: &[(&str, &[&str])] = &[
            ("tiny", &["one"]),
            ("TINY mod", &["one"]),
            ("flats", &["two", "one"]),
            ("grö", &["two"]),
            ("42", &["three"]),
            ("rmse", &["two", "three", "one", "four"]),
            ("tiny sweep", &[]),
            ("iny", &[]),
            ("\"tiny\" ' : * & |", &["one"]),
        ];
        for (text, expected) in cases {
            assert_eq!(searched(&*catalog, text), *expected, "{text}");
        }
        catalog.tag(&[digest("three")], &tags(&["Keep me"]), &tags(&[])).unwrap();
        assert_eq!(searched(&*catalog, "keep"), ["three"]);
        catalog.tag(&[digest("three")], &tags(&["x"]), &tags(&["Keep me"])).unwrap();
        assert!(searched(&*catalog, "keep").is_empty());
        assert_eq!(searched(&*catalog, "sweep"), ["three"]);
        let query = Query {
            filter: Some(Filter::parse("metrics.rmse>0.4").unwrap()),
            words: vec!["flats".to_owned()],
            limit: Some(10),
        };
        assert_eq!(ids(&found(&*catalog, &query)), ["two"]);
    }

    fn replaced_entry_is_rewritten_and_keeps_its_tags(fresh: &Fresh) {
        let mut catalog = open(fresh);
        let old = entry("one", "OLD", "", &[("params/x", number(1.0)), ("params/z", text("gone"))]);
        catalog.add(&[old], Existing::Keep).unwrap();
        catalog.tag(&[digest("one")], &tags(&["kept"]), &tags(&[])).unwrap();
        let new = entry("one", "NEW", "2026-01-01T00:00:00Z", &[("params/x", number(2.0))]);
        catalog.add(slice::from_ref(&new), Existing::Keep).unwrap();
        assert_eq!(filtered(&*catalog, "engine=OLD and params.z"), ["one"]);
        catalog.add(slice::from_ref(&new), Existing::Replace).unwrap();
        let expected = Entry { tags: tags(&["kept"]), ..new };
        assert_eq!(found(&*catalog, &Query::default()), [expected]);
        assert!(filtered(&*catalog, "engine=OLD").is_empty());
        assert!(searched(&*catalog, "old").is_empty() && searched(&*catalog, "gone").is_empty());
        assert_eq!(searched(&*catalog, "kept new"), ["one"]);
    }

    fn retain_forgets_what_was_not_seen_again(fresh: &Fresh) {
        let mut catalog = open(fresh);
        catalog.add(&four(), Existing::Keep).unwrap();
        let seen = BTreeSet::from([
            (digest("one"), "one".to_owned()),
            (digest("two"), "b/two".to_owned()),
        ]);
        assert_eq!(catalog.retain(&seen).unwrap(), 2);
        assert_eq!(filtered(&*catalog, "id"), ["two", "one"]);
        assert!(filtered(&*catalog, "place~a/two").is_empty());
        assert!(searched(&*catalog, "sweep").is_empty());
        assert_eq!(catalog.retain(&seen).unwrap(), 0);
        assert_eq!(catalog.remove(&[digest("one"), digest("none")]).unwrap(), 1);
        assert_eq!(catalog.count().unwrap(), 1);
        assert_eq!(catalog.retain(&BTreeSet::new()).unwrap(), 1);
        assert_eq!(catalog.count().unwrap(), 0);
    }

    fn unknown_and_ambiguous_names_are_refused(fresh: &Fresh) {
        let mut catalog = open(fresh);
        let mut entries = four();
        let mut twin = *entries[0].digest.as_bytes();
        twin[31] ^= 1;
        entries[1].digest = Digest::from_bytes(twin);
        catalog.add(&entries, Existing::Keep).unwrap();
        let one = entries[0].digest.to_string();
        let named = |name: &str| resolve(catalog.as_reader(), name);
        assert_eq!(named(&one).unwrap(), [entries[0].digest]);
        assert!(matches!(named(&one[..20]), Err(CatalogError::Ambiguous { digests, .. })
            if digests.len() == 2));
        assert!(matches!(named("00000000"), Err(CatalogError::Unknown(_))));
        assert!(matches!(named("no'such"), Err(CatalogError::Unknown(_))));
        let three = digest("three").to_string();
        assert_eq!(named(&three[..4]).unwrap(), [digest("three")]);
        assert!(matches!(named(&three[..3]), Err(CatalogError::Unknown(_))));
        drop(catalog);
        let mut catalog = open(fresh);
        let pair = [entries[0].digest, entries[1].digest];
        assert_eq!(catalog.tag(&pair, &tags(&["pair"]), &tags(&[])).unwrap(), 2);
        assert_eq!(catalog.tag(&pair, &tags(&["pair"]), &tags(&["none"])).unwrap(), 0);
        assert_eq!(resolve(catalog.as_reader(), "pair").unwrap().len(), 2);
    }

    fn limited_query_returns_the_first_of_all_matches(fresh: &Fresh) {
        let mut catalog = open(fresh);
        // Common matches, rare ones, only among the oldest, and none.
        let entries: Vec<_> = (0..1500)
            .map(|at: usize| {
                let values = [
                    ("metrics/n", number(at as f64)),
                    ("metrics/seventh", number((at % 7) as f64)),
                    ("params/word", text(["tiny", "small", "large"][at % 3])),
                ];
                let time = format!("2026-01-01T{:02}:{:02}:00Z", at % 1200 / 60, at % 60);
                let engine = ["FLATS", "SWEEP"][usize::from(at.is_multiple_of(250))];
                let mut made = entry(&format!("r{at}"), engine, &time, &values);
                made.tags = match at % 5 {
                    0 => tags(&["kept"]),
                    _ => tags(&[]),
                };
                made
            })
            .collect();
        for share in entries.chunks(500) {
            catalog.add(share, Existing::Keep).unwrap();
        }
        for (filter, words) in [
            (Some("metrics.n>=0"), ""),
            (Some("metrics.seventh=3 and engine=FLATS"), ""),
            (Some("engine=SWEEP"), ""),
            (Some("time<2026-01-01T00:40"), ""),
            (Some("metrics.n<0"), ""),
            (Some("params.word~mal and not tag=kept"), ""),
            (Some("not (params.word=tiny or metrics.seventh)"), ""),
            (Some("signer=unsigned or tag"), ""),
            (None, "large"),
            (None, "large sweep"),
            (Some("metrics.n>1490"), "small"),
            (None, ""),
        ] {
            let query = |limit| Query {
                filter: filter.map(|text| Filter::parse(text).unwrap()),
                words: words_of(words).collect(),
                limit,
            };
            let all = found(&*catalog, &query(None));
            for limit in [0, 1, 3, 51, 400, 700, 5000] {
                let first = found(&*catalog, &query(Some(limit)));
                assert_eq!(first, all[..limit.min(all.len())], "{filter:?} {words} {limit}");
            }
        }
    }

    fn concurrent_adds_of_same_entries_lose_and_duplicate_nothing(fresh: &Fresh) {
        drop(open(fresh));
        let made = |at: usize| {
            let values = [("metrics/n", number(at as f64)), ("params/t", text("x"))];
            entry(&format!("r{at}"), "E", "2026-01-01T00:00:00Z", &values)
        };
        let added: u64 = thread::scope(|scope| {
            let adders: Vec<_> = (0..4)
                .map(|who| scope.spawn(move || {
                    let mut catalog = open(fresh);
                    let mut added = 0;
                    for batch in 0..6 {
                        let mut entries: Vec<_> = (batch * 50..batch * 50 + 80).map(made).collect();
                        if who % 2 == 1 {
                            entries.reverse();
                        }
                        added += catalog.add(&entries, Existing::Keep).unwrap().added;
                    }
                    added
                }))
                .collect();
            adders.into_iter().map(|adder| adder.join().unwrap()).sum()
        });
        let catalog = open(fresh);
        assert_eq!((added, catalog.count().unwrap()), (330, 330));
        let entries = found(&*catalog, &Query::default());
        let by_digest: BTreeMap<_, _> = entries.iter().map(|entry| (entry.digest, entry)).collect();
        for at in 0..330 {
            assert_eq!(*by_digest[&digest(&format!("r{at}"))], made(at));
        }
        assert_eq!(filtered(&*catalog, "metrics.n>=300").len(), 30);
    }
}

#[test]
fn catalogue_missing_on_server_is_reported_as_missing() {
    let Some(fresh) = Fresh::new(Kind::Postgres) else {
        return;
    };
    let missing = PostgresCatalog::open(&fresh.place).unwrap_err();
    assert!(matches!(missing, CatalogError::Missing(place) if !place.contains("c0rrect")));
    drop(open(&fresh));
    assert!(PostgresCatalog::open(&fresh.place).is_ok());
}
