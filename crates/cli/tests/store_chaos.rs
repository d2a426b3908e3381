//! Workers killed and stopped at random, a clock an hour off, a server that crashes, a network that
//! is cut: on every store, no step is lost and none is done twice.
//!
//! A few rounds by default; RUNSEAL_CHAOS_ROUNDS and RUNSEAL_CHAOS_STEPS ask for more.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::store_support::Job;
use runseal_testkit::postgres::Server;
use runseal_testkit::skip::skip_even_in_ci;
use rustix::process::{Pid, Signal, kill_process};

const WORKERS: usize = 8;
/// Seconds; workers are stopped for longer than that.
const LEASE: &str = "1.0";

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Another host: a network namespace with a cable to this one. Takes root.
struct Host {
    name: String,
    cable: String,
    here: String,
}

impl Host {
    fn new() -> Option<Self> {
        let id = std::process::id() % 60_000;
        let host = Self {
            name: format!("rs{id}"),
            cable: format!("rsh{id}"),
            here: format!("10.{}.{}.1", 64 + id / 256 % 64, id % 256),
        };
        let inner = format!("rsn{id}");
        let there = format!("{}.2/24", host.here.rsplit_once('.').unwrap().0);
        let here = format!("{}/24", host.here);
        let made = ip(&["netns", "add", &host.name])
            && ip(&[
                "link",
                "add",
                &host.cable,
                "type",
                "veth",
                "peer",
                "name",
                &inner,
            ])
            && ip(&["link", "set", &inner, "netns", &host.name])
            && ip(&["addr", "add", &here, "dev", &host.cable])
            && ip(&["link", "set", &host.cable, "up"])
            && ip(&["-n", &host.name, "addr", "add", &there, "dev", &inner])
            && ip(&["-n", &host.name, "link", "set", &inner, "up"]);
        if !made {
            skip_even_in_ci("no cut of the network: namespaces take root and iproute2");
        }
        made.then_some(host)
    }

    fn cut(&self, time: Duration) {
        assert!(ip(&["link", "set", &self.cable, "down"]));
        thread::sleep(time);
        assert!(ip(&["link", "set", &self.cable, "up"]));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.name]);
        ip(&["link", "del", &self.cable]);
    }
}

fn ip(arguments: &[&str]) -> bool {
    let ran = Command::new("ip")
        .args(arguments)
        .stderr(Stdio::null())
        .status();
    ran.is_ok_and(|status| status.success())
}

/// How a worker gets at the store, and what befalls it besides.
struct Bed<'j> {
    job: &'j Job,
    store: String,
    /// The same store, seen from the other host.
    far: Option<String>,
    host: Option<&'j Host>,
}

impl Bed<'_> {
    fn spawn(&self, number: usize, life: usize) -> Child {
        let name = format!("w{number}.{life}");
        let is_far = number % 2 == 1 && self.far.is_some();
        let store = match (&self.far, is_far) {
            (Some(far), true) => far,
            _ => &self.store,
        };
        let work = [
            "job",
            "work",
            "--lease",
            LEASE,
            "--worker-id",
            &name,
            "--store",
            store,
            "--root",
            ".",
        ];
        let plain = self.job.bench.command(&work);
        let mut words: Vec<std::ffi::OsString> = Vec::new();
        if let (true, Some(host)) = (is_far, self.host) {
            words.extend(["ip", "netns", "exec", &host.name].map(Into::into));
        }
        // One worker is an hour ahead and one an hour behind, where that can be done.
        if Path::new("/usr/bin/faketime").exists() && number < 2 {
            let off = ["+1h", "-1h"][number];
            words.extend(["faketime", "-f", off].map(Into::into));
        }
        words.push(plain.get_program().to_owned());
        words.extend(plain.get_args().map(ToOwned::to_owned));
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir(self.job.folder.path())
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // It may have ended meanwhile.
    let _ = kill_process(pid, signal);
}

/// Disturbs workers until everything is done; gives how often each disturbance struck.
fn disturb(bed: &Bed<'_>, server: Option<&Server>, random: &mut Random) -> [u32; 4] {
    let mut lives = [0; WORKERS];
    let mut workers: Vec<Child> = (0..WORKERS).map(|number| bed.spawn(number, 0)).collect();
    let mut stopped: Vec<(usize, Instant)> = Vec::new();
    let [mut kills, mut stops, mut crashes, mut cuts] = [0; 4];
    let begun = Instant::now();
    // Long enough for a machine that is busy with other things.
    let patience = Duration::from_secs(240) + Duration::from_millis(50) * bed.job.steps as u32;
    let mut is_done = false;
    while !is_done {
        assert!(begun.elapsed() < patience, "it never ends");
        thread::sleep(Duration::from_millis(30 + random.below(90)));
        let now = Instant::now();
        stopped.retain(|(number, until)| {
            let is_over = *until <= now;
            if is_over {
                signal(&workers[*number], Signal::CONT);
            }
            !is_over
        });
        let number = random.below(WORKERS as u64) as usize;
        match random.below(10) {
            0..5 => {
                signal(&workers[number], Signal::KILL);
                kills += 1;
            }
            5..8 => {
                let time = Duration::from_millis(300 + random.below(2200));
                signal(&workers[number], Signal::STOP);
                stopped.push((number, now + time));
                stops += 1;
            }
            8 if crashes < 2 => {
                if let Some(server) = server {
                    server.stop_immediately();
                    thread::sleep(Duration::from_millis(random.below(400)));
                    server.run();
                    crashes += 1;
                }
            }
            9 if cuts < 1 => {
                if let Some(host) = bed.host {
                    host.cut(Duration::from_secs(2));
                    cuts += 1;
                }
            }
            _ => {}
        }
        for (number, worker) in workers.iter_mut().enumerate() {
            match worker.try_wait().unwrap() {
                // Somebody found that nothing is open.
                Some(status) if status.success() => is_done = true,
                Some(_) => {
                    stopped.retain(|(other, _)| *other != number);
                    lives[number] += 1;
                    *worker = bed.spawn(number, lives[number]);
                }
                None => {}
            }
        }
    }
    for worker in &mut workers {
        signal(worker, Signal::CONT);
        if worker.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(100));
        }
        signal(worker, Signal::KILL);
        worker.wait().unwrap();
    }
    [kills, stops, crashes, cuts]
}

/// The manifest that undisturbed work gives.
fn undisturbed(job: &Job) -> (String, String) {
    let id = job.post("calm.db");
    let ran = job
        .bench
        .run(&["job", "work", "--store", "calm.db", "--root", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (job.build("calm.db", &id, "calm"), id)
}

fn rounds(kind: &str, job: &Job, mut round: impl FnMut(usize, &mut Random) -> ([u32; 4], String)) {
    let (expected, id) = undisturbed(job);
    let count = setting("RUNSEAL_CHAOS_ROUNDS", 1);
    let mut totals = [0; 4];
    for number in 0..count {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1) << 17);
        let begun = Instant::now();
        let (struck, store) = round(number, &mut random);
        job.assert_whole(&store);
        let built = job.build(&store, &id, &format!("out{number}"));
        assert!(built == expected, "round {number}: another bundle");
        std::fs::remove_dir_all(job.folder.path().join(format!("out{number}"))).unwrap();
        totals
            .iter_mut()
            .zip(struck)
            .for_each(|(total, one)| *total += one);
        let time = begun.elapsed().as_secs_f64();
        println!("{kind} round {number}: {:?} in {time:.1} s", struck);
    }
    let [kills, stops, crashes, cuts] = totals;
    let steps = job.steps;
    println!(
        "{kind}: {count} rounds of {steps} steps by {WORKERS} workers: {kills} kills, {stops} stops, \
         {crashes} crashes of the server, {cuts} cuts: 0 lost, 0 doubled"
    );
    assert!(kills > 0, "nobody was disturbed");
}

#[test]
fn file_under_chaos_loses_and_doubles_nothing() {
    let job = Job::new(setting("RUNSEAL_CHAOS_STEPS", 3000));
    rounds("sqlite", &job, |number, random| {
        let store = format!("chaos{number}.db");
        job.post(&store);
        let bed = Bed {
            job: &job,
            store: store.clone(),
            far: None,
            host: None,
        };
        (disturb(&bed, None, random), store)
    });
}

#[test]
fn server_under_chaos_loses_and_doubles_nothing() {
    let Some(server) = Server::start("0.0.0.0", "") else {
        return;
    };
    let job = Job::new(setting("RUNSEAL_CHAOS_STEPS", 3000));
    let host = Host::new();
    rounds("postgres", &job, |_, random| {
        let store = server.new_database().replace("0.0.0.0", "127.0.0.1");
        job.post(&store);
        let bed = Bed {
            job: &job,
            far: host
                .as_ref()
                .map(|host| store.replace("127.0.0.1", &host.here)),
            store: store.clone(),
            host: host.as_ref(),
        };
        (disturb(&bed, Some(&server), random), store)
    });
}
