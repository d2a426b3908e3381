//! Model calls of commands in the sandbox: a Unix socket that answers `POST {"prompt": …}` with
//! `{"response": …}`, from a recording or by running a command on the host, and that records the
//! exchange.
//!
//! Calls are answered one at a time, so that their order is the order of the recording. A prompt
//! that was not recorded fails the command; the error names the recorded prompt that was due.

use runseal_fs::private::PrivateFolder;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::ContentHash;
use runseal_core::formats::model_io::{MAX_INTERACTIONS, MAX_RESPONSE_BYTES, PROMPT_CONTENT};
use runseal_core::verify::one_line;

/// The longest request that is read, in bytes.
const LARGEST_REQUEST: usize = 16 << 20;
/// How often an idle server checks whether it should stop.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a command may keep a connection open without sending anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most characters of a recorded prompt that an error shows.
const SHOWN_OF_A_PROMPT: usize = 80;

/// One recorded call.
#[derive(Debug, Clone)]
pub(super) struct Interaction {
    prompt_hash: ContentHash,
    /// The prompt itself, if the recording contains it.
    prompt: Option<String>,
    response: String,
}

/// Where answers come from.
pub(super) enum Answers {
    /// A command on the host, run with `/bin/sh -c`, that reads the prompt and writes the answer.
    Command(String),
    /// A recording.
    Recording(Vec<Interaction>),
}

/// The model that the recording names.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) adapter_id: String,
    pub(super) model_id: String,
    pub(super) mode: &'static str,
}

/// Parses a valid recording.
pub(super) fn parse_recording(root: Node<'_>) -> Option<(Vec<Interaction>, Identity)> {
    let text = |node: Node<'_>, name: &str| Some(node.get(name)?.as_lossy_str()?.into_owned());
    let interactions = root.get("interactions")?.items().map(|node| {
        Some(Interaction {
            prompt_hash: ContentHash::parse(&text(node, "prompt_hash")?).ok()?,
            prompt: text(node, PROMPT_CONTENT),
            response: text(node, "response_content")?,
        })
    });
    let identity = Identity {
        adapter_id: text(root, "adapter_id")?,
        model_id: text(root, "model_id")?,
        mode: "replay",
    };
    Some((interactions.collect::<Option<_>>()?, identity))
}

#[derive(Default)]
struct State {
    said: Vec<Interaction>,
    used: Vec<bool>,
    fault: Option<String>,
}

/// A running server; stops when dropped.
pub(super) struct ModelServer {
    inside: PathBuf,
    _folder: PrivateFolder,
    state: Arc<Mutex<State>>,
    identity: Identity,
    is_over: Arc<AtomicBool>,
    worker: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts the server.
    pub(super) fn start(answers: Answers, identity: Identity) -> io::Result<Self> {
        let folder = PrivateFolder::create("model")?;
        // The command may run under another user id.
        let inside = folder.make_shared_inside()?;
        let socket = inside.join("socket");
        let listener = UnixListener::bind(&socket)?;
        runseal_fs::handles::set_mode(&socket, 0o666)?;
        listener.set_nonblocking(true)?;
        let state = Arc::new(Mutex::new(State::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, over) = (Arc::clone(&state), Arc::clone(&is_over));
        let worker = std::thread::Builder::new().spawn(move || {
            while !over.load(Ordering::Acquire) {
                match listener.accept() {
                    Ok((stream, _)) => serve(stream, &answers, &shared),
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
        })?;
        Ok(Self {
            inside,
            _folder: folder,
            state,
            identity,
            is_over,
            worker: Some(worker),
        })
    }

    /// The folder of the socket, to be mounted in the sandbox.
    pub(super) fn folder(&self) -> &Path {
        &self.inside
    }

    /// The first call that could not be answered.
    pub(super) fn fault(&self) -> Option<String> {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fault
            .clone()
    }

    /// Stops the server and returns model_io.json.
    pub(super) fn finish(mut self) -> Value {
        self.end();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let interactions = state.said.iter().enumerate().map(|(i, said)| {
            let hash = ContentHash::of(said.response.as_bytes());
            let mut interaction = Value::object([
                ("i", Value::from(i)),
                ("prompt_hash", Value::from(said.prompt_hash.to_string())),
                ("response_hash", Value::from(hash.to_string())),
                ("response_content", Value::from(said.response.as_str())),
            ]);
            if let Some(prompt) = &said.prompt {
                interaction.insert(PROMPT_CONTENT, prompt.as_str());
            }
            interaction
        });
        Value::object([
            ("model_io_schema_version", Value::from("1.0.0")),
            ("adapter_id", Value::from(self.identity.adapter_id.as_str())),
            ("model_id", Value::from(self.identity.model_id.as_str())),
            ("mode", Value::from(self.identity.mode)),
            ("interactions", Value::Array(interactions.collect())),
        ])
    }

    fn end(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Answers one call. Errors of the connection are for the command to notice.
fn serve(mut stream: UnixStream, answers: &Answers, state: &Mutex<State>) {
    let set_up = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_read_timeout(Some(PATIENCE)))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    if set_up.is_err() {
        return;
    }
    let answered = read_request(&mut stream).and_then(|body| {
        let prompt = parse_prompt(&body)?;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer(&prompt, answers, &mut state);
        if let Err(fault) = &answer {
            state.fault.get_or_insert_with(|| fault.clone());
        }
        answer
    });
    let (status, body) = match answered {
        Ok(response) => ("200 OK", Value::object([("response", response)])),
        Err(error) => (
            "422 Unprocessable Content",
            Value::object([("error", error)]),
        ),
    };
    let body = canonical_bytes(&body, Dialect::Kernel).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
}

fn parse_prompt(body: &[u8]) -> Result<String, String> {
    let document = parse_document(body, &ReadOptions::default())
        .map_err(|error| format!("MODEL_IO: the request is not JSON: {}", error.kind))?;
    let prompt = document.root().get("prompt").and_then(|node| node.as_str());
    prompt
        .map(|prompt| prompt.into_owned())
        .ok_or_else(|| "MODEL_IO: the request has no `prompt`, which is a text".to_owned())
}

fn answer(prompt: &str, answers: &Answers, state: &mut State) -> Result<String, String> {
    let prompt_hash = ContentHash::of(prompt.as_bytes());
    if state.said.len() >= MAX_INTERACTIONS {
        return Err("MODEL_IO: more calls than a recording holds".to_owned());
    }
    let response = match answers {
        Answers::Command(command) => ask_command(command, prompt)?,
        Answers::Recording(recorded) => replay(prompt_hash, recorded, &mut state.used)?,
    };
    state.said.push(Interaction {
        prompt_hash,
        prompt: Some(prompt.to_owned()),
        response: response.clone(),
    });
    Ok(response)
}

/// The first recorded answer to this prompt that has not been used yet.
fn replay(
    prompt_hash: ContentHash,
    recorded: &[Interaction],
    used: &mut Vec<bool>,
) -> Result<String, String> {
    used.resize(recorded.len(), false);
    let is_free = |at: usize| used.get(at) == Some(&false);
    let found = recorded
        .iter()
        .enumerate()
        .position(|(at, said)| is_free(at) && said.prompt_hash == prompt_hash);
    if let Some(at) = found
        && let Some(said) = recorded.get(at)
    {
        if let Some(flag) = used.get_mut(at) {
            *flag = true;
        }
        return Ok(said.response.clone());
    }
    let was_said = recorded.iter().any(|said| said.prompt_hash == prompt_hash);
    let problem = if was_said {
        "was asked more often than recorded"
    } else {
        "was not recorded"
    };
    let due = (0..recorded.len())
        .find(|at| is_free(*at))
        .or(recorded.len().checked_sub(1));
    let nearest = due.and_then(|at| Some((at, recorded.get(at)?)));
    let nearest = nearest.map_or("the recording is empty".to_owned(), |(at, said)| {
        let words = said.prompt.as_deref().map(|prompt| {
            let start: String = prompt.chars().take(SHOWN_OF_A_PROMPT).collect();
            format!(" that begins “{}”", one_line(&start))
        });
        format!(
            "the nearest recorded one is interaction {at} with prompt {}{}",
            said.prompt_hash,
            words.unwrap_or_default()
        )
    });
    Err(format!(
        "MODEL_IO_MISS: prompt {prompt_hash} {problem}; {nearest}"
    ))
}

/// Runs the command that the user named. It runs on the host with the user's own environment,
/// because that is where keys and the network are.
fn ask_command(command: &str, prompt: &str) -> Result<String, String> {
    let fail = |error: io::Error| format!("MODEL_IO: the model command failed: {}", error.kind());
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(fail)?;
    let feeder = child.stdin.take().map(|mut pipe| {
        let prompt = prompt.to_owned();
        std::thread::Builder::new().spawn(move || pipe.write_all(prompt.as_bytes()))
    });
    let feeder = feeder.transpose().map_err(|error| {
        let _ = child.kill();
        let _ = child.wait();
        fail(error)
    })?;
    let mut answer = Vec::new();
    if let Some(pipe) = child.stdout.take() {
        let most = MAX_RESPONSE_BYTES as u64 + 1;
        pipe.take(most).read_to_end(&mut answer).map_err(fail)?;
    }
    let status = child.wait().map_err(fail)?;
    if let Some(feeder) = feeder {
        // A command may answer without reading the whole prompt.
        let _ = feeder.join();
    }
    if !status.success() {
        return Err("MODEL_IO: the model command failed".to_owned());
    }
    if answer.len() > MAX_RESPONSE_BYTES {
        return Err("MODEL_IO: the answer is longer than a recording holds".to_owned());
    }
    String::from_utf8(answer).map_err(|_| "MODEL_IO: the answer is not UTF-8".to_owned())
}

/// Reads one HTTP request; returns its body.
fn read_request(stream: &mut UnixStream) -> Result<Vec<u8>, String> {
    let fail = |error: io::Error| format!("MODEL_IO: the request broke off: {}", error.kind());
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 8192];
    let head_end = loop {
        if let Some(at) = find(&bytes, b"\r\n\r\n") {
            break at + 4;
        }
        if bytes.len() > LARGEST_REQUEST {
            return Err("MODEL_IO: the request is too long".to_owned());
        }
        match stream.read(&mut buffer).map_err(fail)? {
            0 => return Err("MODEL_IO: the request broke off".to_owned()),
            count => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    };
    let head = String::from_utf8_lossy(bytes.get(..head_end).unwrap_or_default()).to_lowercase();
    if !head.starts_with("post ") {
        return Err("MODEL_IO: only POST is answered".to_owned());
    }
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    if header("expect").is_some() {
        stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .map_err(fail)?;
    }
    let length: usize = header("content-length")
        .and_then(|length| length.parse().ok())
        .filter(|length| *length <= LARGEST_REQUEST)
        .ok_or("MODEL_IO: the request has no usable Content-Length")?;
    let mut body = bytes.split_off(head_end);
    while body.len() < length {
        match stream.read(&mut buffer).map_err(fail)? {
            0 => return Err("MODEL_IO: the request broke off".to_owned()),
            count => body.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    }
    body.truncate(length);
    Ok(body)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(mode: &'static str) -> Identity {
        Identity {
            adapter_id: "a".to_owned(),
            model_id: "m".to_owned(),
            mode,
        }
    }

    fn ask(server: &ModelServer, prompt: &str) -> String {
        let mut stream = UnixStream::connect(server.folder().join("socket")).unwrap();
        let body = format!("{{\"prompt\":\"{prompt}\"}}");
        write!(
            stream,
            "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn recorded(prompt: &str, response: &str) -> Interaction {
        let prompt_hash = ContentHash::of(prompt.as_bytes());
        Interaction {
            prompt_hash,
            prompt: Some(prompt.to_owned()),
            response: response.to_owned(),
        }
    }

    #[test]
    fn model_server_records_what_the_command_answers() {
        let answers = Answers::Command("tr a-z A-Z".to_owned());
        let server = ModelServer::start(answers, identity("record")).unwrap();
        assert_eq!(ask(&server, "hello"), r#"{"response":"HELLO"}"#);
        assert_eq!(ask(&server, "world"), r#"{"response":"WORLD"}"#);
        let recording = server.finish();
        let bytes = canonical_bytes(&recording, Dialect::Kernel).unwrap();
        let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
        let (said, _) = parse_recording(document.root()).unwrap();
        let responses: Vec<&str> = said.iter().map(|said| said.response.as_str()).collect();
        assert_eq!(responses, ["HELLO", "WORLD"]);
        let prompts: Vec<_> = said
            .iter()
            .filter_map(|said| said.prompt.as_deref())
            .collect();
        assert_eq!(prompts, ["hello", "world"]);
    }

    #[test]
    fn model_server_replays_by_prompt_and_order() {
        let answers = Answers::Recording(vec![
            recorded("p", "first"),
            recorded("q", "other"),
            recorded("p", "second"),
        ]);
        let server = ModelServer::start(answers, identity("replay")).unwrap();
        assert_eq!(ask(&server, "q"), r#"{"response":"other"}"#);
        assert_eq!(ask(&server, "p"), r#"{"response":"first"}"#);
        assert_eq!(ask(&server, "p"), r#"{"response":"second"}"#);
        assert_eq!(server.fault(), None);
    }

    #[test]
    fn model_server_names_the_nearest_prompt_on_a_miss() {
        let answers = Answers::Recording(vec![recorded("p", "first"), recorded("q", "other")]);
        let server = ModelServer::start(answers, identity("replay")).unwrap();
        ask(&server, "p");
        let answer = ask(&server, "unheard");
        let due = ContentHash::of(b"q").to_string();
        assert!(
            answer.contains("MODEL_IO_MISS") && answer.contains(&due),
            "{answer}"
        );
        assert!(answer.contains("interaction 1"), "{answer}");
        assert!(answer.contains("begins “q”"), "{answer}");
        assert!(server.fault().unwrap().contains("was not recorded"));
    }
}
