//! Runs in object storage beside the bare requests, in the same run and on the same server (SeaweedFS).
//!
//! `.ci/object-storage && cargo build --release -p runseal-cli && cargo bench -p runseal-benches --bench
//! object_storage [verify] [push]`. The bare requests are signed beforehand by boto3 and made over plain sockets: they hash
//! nothing and look at nothing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use runseal_benches::best;
use runseal_benches::data::{seal, write_large};
use runseal_benches::process::{binary, parts, peak_memory, succeed};
use runseal_testkit::object_storage::{Kind, Server};

/// Connections of the bare loop: as many as `verify` has on two cores.
const CONNECTIONS: usize = 16;
/// Files of the run that is verified.
const FILES: usize = 20_000;
/// Bytes of the run that is pushed.
const LARGE: u64 = 1 << 30;

fn main() {
    let Some(server) = Server::start(Kind::Weed) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    server.python("s.create_bucket(Bucket='bench')", &[]);
    let wants = parts();
    if wants("verify") {
        verify(&server, folder.path());
    }
    if wants("push") {
        push(&server, folder.path());
    }
}

fn runseal(server: &Server, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).envs(server.variables());
    command
}

fn verify(server: &Server, folder: &Path) {
    let artifacts = folder.join("small");
    for at in 0..FILES {
        let place = artifacts.join(format!("{:02}", at % 100));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(format!("{at}")), format!("{at:04096}")).unwrap();
    }
    let run = seal(folder, "many", Some(&artifacts));
    let address = "s3://bench/verify/many";
    succeed(&mut runseal(
        server,
        &["push", run.to_str().unwrap(), address],
    ));
    let script = "for p in s.get_paginator('list_objects_v2').paginate(Bucket='bench',Prefix='verify/sha256/'):\n \
                  for o in p.get('Contents',[]): print(s.generate_presigned_url('get_object',\
                  Params={'Bucket':'bench','Key':o['Key']},ExpiresIn=36000))";
    let urls = server.python(script, &[]);
    let urls: Vec<&str> = urls.lines().collect();
    let [bare, ours] = best(
        3,
        &mut [&mut || get_all(&urls), &mut || {
            succeed(&mut runseal(server, &["verify", address]))
        }],
    )[..] else {
        return;
    };
    let memory = peak_memory(&mut runseal(server, &["verify", address]));
    println!("verify of {} objects of 4 KB:", urls.len());
    println!("  bare parallel GET  {}", rate(urls.len(), bare));
    println!("  runseal verify     {}", rate(urls.len(), ours));
    println!(
        "  ratio              {:.2}",
        bare.as_secs_f64() / ours.as_secs_f64()
    );
    println!("  memory             {} KB", memory);
}

fn push(server: &Server, folder: &Path) {
    let artifacts = folder.join("large");
    write_large(&artifacts, LARGE);
    let run = seal(folder, "large-run", Some(&artifacts));
    let run = run.to_str().unwrap();
    let large = fs::read_dir(Path::new(run).join("artifacts")).unwrap();
    let files: Vec<_> = large.map(|entry| entry.unwrap().path()).collect();
    let number = AtomicUsize::new(0);
    let next = || number.fetch_add(1, Ordering::Relaxed);
    let [bare, ours] = best(
        3,
        &mut [
            &mut || {
                for file in &files {
                    let key = format!("bare/{}", next());
                    let script = "print(s.generate_presigned_url('put_object',\
                                  Params={'Bucket':'bench','Key':a[0]},ExpiresIn=36000))";
                    put_file(server.python(script, &[&key]).trim(), file);
                }
            },
            &mut || {
                // A prefix of its own, so that nothing is there yet.
                let address = format!("s3://bench/push-{}/run", next());
                succeed(&mut runseal(server, &["push", run, &address]));
            },
        ],
    )[..] else {
        return;
    };
    let address = format!("s3://bench/push-{}/run", next());
    let memory = peak_memory(&mut runseal(server, &["push", run, &address]));
    let megabytes = (LARGE >> 20) as f64;
    println!("push of {megabytes} MB:");
    println!(
        "  bare HTTP upload   {:.0} MB/s",
        megabytes / bare.as_secs_f64()
    );
    println!(
        "  runseal push       {:.0} MB/s",
        megabytes / ours.as_secs_f64()
    );
    println!(
        "  ratio              {:.2}",
        bare.as_secs_f64() / ours.as_secs_f64()
    );
    println!("  memory             {memory} KB");
}

fn rate(count: usize, time: Duration) -> String {
    format!("{:.0} files/s", count as f64 / time.as_secs_f64())
}

/// Host and target of a URL.
fn split(url: &str) -> (&str, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    (host, format!("/{target}"))
}

/// Gets every URL, on connections that stay open.
fn get_all(urls: &[&str]) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let (host, _) = split(urls[0]);
                let mut connection = BufReader::new(TcpStream::connect(host).unwrap());
                while let Some(url) = urls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (host, target) = split(url);
                    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
                    connection.get_mut().write_all(request.as_bytes()).unwrap();
                    let length = read_head(&mut connection);
                    let mut body = (&mut connection).take(length);
                    io::copy(&mut body, &mut io::sink()).unwrap();
                }
            });
        }
    });
}

/// Sends a file as it is.
fn put_file(url: &str, file: &Path) {
    let (host, target) = split(url);
    let mut connection = TcpStream::connect(host).unwrap();
    let mut file = File::open(file).unwrap();
    let length = file.metadata().unwrap().len();
    let head = format!("PUT {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = file.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        connection.write_all(&buffer[..count]).unwrap();
    }
    read_head(&mut BufReader::new(connection));
}

/// Reads the head of an answer, which must be a good one; gives the length of its body.
fn read_head(connection: &mut impl BufRead) -> u64 {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    let mut length = 0;
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            return length;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
}
