//! Thirty small programs in five languages, recorded and replayed: those that are deterministic
//! reproduce, the others say why not.

use std::path::Path;

use crate::record_support::Project;

/// What becomes of a program.
enum Fate {
    /// It does the same again.
    Same,
    /// It does not, and one of the reasons holds this.
    Varies(&'static str),
}
use Fate::{Same, Varies};
use runseal_testkit::skip::{need_isolation, skip};

/// A name, the program that runs it, its text, and what becomes of it.
type Row = (&'static str, &'static str, &'static str, Fate);

const CLOCK: &str = "looks like a time";
const RANDOM: &str = "random bytes";

const PROGRAMS: [Row; 30] = [
    // Shell.
    ("sh-sort", "sh", "sort data.txt > sorted.txt", Same),
    (
        "sh-pipeline",
        "sh",
        "tr a-z A-Z < data.txt | rev | head -n 2",
        Same,
    ),
    (
        "sh-here-document",
        "sh",
        "cat > note.txt <<END\nline\nEND\nwc -l note.txt",
        Same,
    ),
    (
        "sh-loop-over-files",
        "sh",
        "for f in *.txt; do echo $f; done; ls many | wc -l",
        Same,
    ),
    (
        "sh-rename-and-remove",
        "sh",
        "cp data.txt new.txt; mv new.txt newer.txt; rm other.txt",
        Same,
    ),
    ("sh-date", "sh", "date +%s%N", Varies(CLOCK)),
    (
        "sh-urandom",
        "sh",
        "head -c 8 /dev/urandom | od -An -tx1",
        Varies("random"),
    ),
    (
        "sh-process-start",
        "sh",
        "cut -d' ' -f22 /proc/self/stat",
        Varies("running kernel"),
    ),
    // Awk.
    (
        "awk-sum",
        "awk",
        "{ n += length($0) } END { print n }",
        Same,
    ),
    (
        "awk-columns",
        "awk",
        "{ print NR, $1 > \"numbered.txt\" }",
        Same,
    ),
    ("awk-sorted-words", "awk", "{ print | \"sort -r\" }", Same),
    (
        "awk-seeded",
        "awk",
        "BEGIN { srand(7); print rand() }",
        Same,
    ),
    (
        "awk-clock",
        "awk",
        "BEGIN { \"date +%T.%N\" | getline now; print now }",
        Varies(CLOCK),
    ),
    // Python.
    (
        "py-csv",
        "python3",
        "import csv\nprint(list(csv.reader(open('data.txt'))))",
        Same,
    ),
    (
        "py-json",
        "python3",
        "import json\njson.dump({'b':[1,2.5],'a':None}, open('o.json','w'), indent=1)",
        Same,
    ),
    (
        "py-module",
        "python3",
        "import module\nprint(module.double(21))",
        Same,
    ),
    (
        "py-set-order",
        "python3",
        // The seed of hashes is random, as in the shell; `--env PYTHONHASHSEED=0` fixes it.
        "print(set('the order of many strings in a set is not the same twice'.split()))",
        Varies(RANDOM),
    ),
    (
        "py-seeded",
        "python3",
        "import random\nrandom.seed(1)\nprint(random.random())",
        Same,
    ),
    (
        "py-sqlite",
        "python3",
        "import sqlite3\nc=sqlite3.connect('x.db')\nc.execute('create table t(a)')\nc.execute('insert into t values(1)')\nc.commit()",
        Same,
    ),
    (
        "py-zip",
        "python3",
        "import zlib\nopen('d.z','wb').write(zlib.compress(open('data.txt','rb').read()))",
        Same,
    ),
    (
        "py-random",
        "python3",
        "import random\nprint(random.random())",
        Varies(RANDOM),
    ),
    (
        "py-now",
        "python3",
        "import datetime\nprint(datetime.datetime.now())",
        Varies(CLOCK),
    ),
    (
        "py-network",
        "python3",
        "import socket, os\ntry:\n    socket.create_connection(('127.0.0.1', 9))\nexcept OSError:\n    print(os.urandom(4).hex())",
        // The network was refused both times and explains nothing.
        Varies(RANDOM),
    ),
    // Perl.
    (
        "pl-reverse",
        "perl",
        "open F, 'data.txt'; print reverse <F>;",
        Same,
    ),
    (
        "pl-regex",
        "perl",
        "open F, 'data.txt'; while (<F>) { print if /a/ }",
        Same,
    ),
    (
        "pl-write",
        "perl",
        "open F, '>', 'p.txt'; print F 6*7; close F;",
        Same,
    ),
    (
        "pl-time",
        "perl",
        "use Time::HiRes; printf \"%.0f\\n\", 1e6 * Time::HiRes::time();",
        Varies(CLOCK),
    ),
    // Node.
    (
        "js-read",
        "node",
        "console.log(require('fs').readFileSync('data.txt','utf8').length)",
        Same,
    ),
    (
        "js-write",
        "node",
        "require('fs').writeFileSync('j.json', JSON.stringify({z:1,a:[true]}))",
        Same,
    ),
    (
        "js-random",
        "node",
        "console.log(Math.random())",
        Varies(RANDOM),
    ),
];

#[test]
fn thirty_programs_reproduce_or_say_why_not() {
    if !need_isolation() {
        return;
    }
    let mut wrong = Vec::new();
    let mut ran = 0;
    for (name, program, text, fate) in &PROGRAMS {
        let places = ["/usr/local/bin", "/usr/bin", "/bin"];
        if !places
            .iter()
            .any(|place| Path::new(place).join(program).exists())
        {
            skip(&format!("{program} is missing"));
            continue;
        }
        ran += 1;
        if let Err(told) = try_program(name, program, text, fate) {
            wrong.push(format!("{name}: {told}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {ran}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{ran} of {} programs", PROGRAMS.len());
}

fn try_program(name: &str, program: &str, text: &str, fate: &Fate) -> Result<(), String> {
    let project = Project::new();
    project.write("data.txt", "alpha,1\nbeta,2\ngamma,3\n");
    project.write("other.txt", "other\n");
    project.write("module.py", "def double(x):\n    return 2 * x\n");
    project.write("many/a", "1");
    project.write("many/b", "2");
    project.write("program", text);
    let command: &[&str] = match program {
        "awk" => &["awk", "-f", "program", "data.txt"],
        other => &[other, "program"],
    };
    let recorded = project.run(&[&["record", "--run-id", name, "--"], command].concat());
    if recorded.code != Some(0) {
        return Err(format!("not recorded: {}", recorded.stderr));
    }
    let bundle = format!("RUN_BUNDLE/{name}");
    let replayed = project.run(&["replay", &bundle]);
    let told = &replayed.stdout;
    let holds = match fate {
        Same => replayed.code == Some(0) && told.contains("REPRODUCED\n"),
        Varies(reason) => {
            let why = told.lines().filter(|line| line.trim().starts_with("why: "));
            replayed.code == Some(1) && why.into_iter().any(|line| line.contains(reason))
        }
    };
    match holds {
        true => Ok(()),
        false => Err(format!("{told}{}", replayed.stderr)),
    }
}
