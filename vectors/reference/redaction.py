"""Commitments and redacted copies (docs/redaction.md, docs/formats/redacted-bundle.md)."""

import hashlib
import hmac

from canonical import DIGEST, NoForm, NotJson, canonical, form, parse, quote, sha256
from folder import FILE, FOLDER
from shape import *

MARKER = "runseal.redacted"
LARGE, CHUNK = 1 << 20, 1 << 16
LEFT_OUT = {"run-bundle": ("SHA256SUMS.txt", "ARTIFACT_INDEX.json", "REDACTION.json", "REDACTION_SALT.json")}
HIDDEN = {"run-bundle": "model_io.bodies/", "job-bundle": "artifacts/"}  # copies give these files other names
IDS = {"run-bundle": [("RUN_META.json", "/run_id")], "pack": [("run.json", "/run_id")],
       "job-bundle": [("bundle.json", "/run_id"), ("bundle.json", "/job_id")]}
STAYS = {
    "run-bundle": {
        "RUN_META.json": ("/run_id", "/engine_code", "/engine_version", "/sealed_at", "/canonicalization", "/hash_algo",
                          "/core_orchestrator_version"),
        "RUN_OUTPUT.json": ("/engine/engine_code", "/engine/engine_version", "/semantics", "/declared", "/exit_status",
                            "/failed", "/signal", "/interrupted"),
        "ENGINE_MANIFEST.json": ("/engine_code", "/engine_version"),
    },
    "pack": {"run.json": ("/run_id", "/run_schema_version", "/kernel_version", "/kernel_result_kind", "/started_at",
                          "/completed_at", "/model_mode", "/policy/name", "/decision/accepted",
                          "/decision/validated_by_kernel")},
    "job-bundle": {"bundle.json": ("/bundle_version", "/run_id", "/job_id", "/message_id")},
}
COMMITMENT = {"redaction_version", "format", "hash_algo", "root", "values", "files"}
is_size = lambda value: is_number(value) and value.text.isdigit()


class Fault(ValueError):
    """A document or a file of a copy cannot be used."""


def derive(key, purpose, name=b""):
    """Purpose 0: the salt of a value; 1: the key of a member or file; 2: the key of an element."""
    return hmac.new(key, bytes([purpose]) + name, hashlib.sha256).digest()


def digest(kind, salt, *parts):
    return hashlib.sha256(bytes([kind]) + salt + b"".join(parts)).digest()


def commit_scalar(value, salt):
    return digest(0, salt, canonical(value, "jcs").encode())


def commit_object(members, salt):
    named = sorted((quote(name).encode(), commitment) for name, commitment in members.items())
    return digest(1, salt, *(len(name).to_bytes(8, "big") + name + commitment for name, commitment in named))


def commit_array(commitments, salt):
    return digest(2, salt, *commitments)


def commit_bytes(content, salt):
    return digest(3, salt, hashlib.sha256(content).digest())


def commit_large(size, whole, pieces, salt):
    return digest(4, salt, size.to_bytes(8, "big"), whole, pieces)


def commit_value(value, key):
    """The commitment of a value that is shown whole, and how many scalars and empty containers it has."""
    salt = derive(key, 0)
    if isinstance(value, dict) and value:
        below = {name: commit_value(value[name], derive(key, 1, quote(name).encode())) for name in value}
        return commit_object({name: found for name, (found, _) in below.items()}, salt), sum(n for _, n in below.values())
    if isinstance(value, list) and value:
        below = [commit_value(item, derive(key, 2, str(at).encode())) for at, item in enumerate(value)]
        return commit_array([found for found, _ in below], salt), sum(n for _, n in below)
    return commit_scalar(value, salt), 1


def file_root(leaves):
    """The root of the Merkle tree of RFC 6962."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + file_root(leaves[:split]) + file_root(leaves[split:])).digest()


def kind_fits(kind, path):
    if path.endswith(".json"):
        return kind == "json"
    return kind in ("bytes", "chunks") or kind == "jsonl" and path.endswith(".jsonl")


def read_commitment(value):
    """The format and the files of a commitment; raises Fault where it cannot be used."""
    right = is_object(value) and set(value) <= COMMITMENT and value.get("redaction_version") == "1.0.0"
    if not right or value.get("hash_algo") != "sha256" or text(value, "format") not in STAYS:
        raise Fault("not a commitment of version 1.0.0 for a known format")
    table = {"path": lambda path: is_text(path) and is_safe_path(path), "kind": is_text, "values": is_size,
             "commitment": is_digest}
    files = value.get("files")
    if not is_list(files) or any(misfits(file, table) or set(file) > set(table) for file in files):
        raise Fault("an entry is malformed")
    if not all(kind_fits(file["kind"], file["path"]) for file in files):
        raise Fault("a file is of a kind that its name does not allow")
    paths = [file["path"] for file in files]
    if paths != sorted(set(paths)):
        raise Fault("the files are not in order")
    leaves = [hashlib.sha256(b"\0" + canonical(file, "jcs").encode()).digest() for file in files]
    total = sum(int(file["values"].text) for file in files)
    if value.get("root") != file_root(leaves).hex() or not is_size(value.get("values")) or int(value["values"].text) != total:
        raise Fault("root or number of values are not those of the files")
    return value["format"], {file["path"]: file for file in files}


def is_sound(commitment, salt, wanted, files):
    """Whether a commitment and its salt cover these (path, size or None) of a bundle of the format `wanted`."""
    try:
        name, committed = read_commitment(commitment)
    except (Fault, NoForm):
        return False
    if name != wanted or not is_digest(salt):
        return False
    files = [(path, size) for path, size in files if path not in LEFT_OUT.get(wanted, ())]
    hides = lambda path: wanted in HIDDEN and path.startswith(HIDDEN[wanted])
    if {path for path, _ in files if not hides(path)} != {path for path in committed if not hides(path)}:
        return False
    for path, size in files:
        file = committed.get(path)
        if size is not None and not hides(path) and file["kind"] in ("bytes", "chunks"):
            pieces = 1 if size <= LARGE else -(-size // CHUNK)
            if (file["kind"] == "chunks") != (size > LARGE) or int(file["values"].text) != pieces:
                return False
    return sum(hides(path) for path, _ in files) == sum(map(hides, committed))


def member_is_sound(member, wanted, files):
    return is_object(member) and set(member) == {"commitment", "salt"} and is_sound(
        member["commitment"], member["salt"], wanted, files
    )


def read_redacted(value):
    if not is_object(value) or set(value) - {"redacted_version", "withheld", "openings"}:
        raise Fault("unknown members")
    if value.get("redacted_version") != "1.0.0" or not is_object(value.get("openings")) or not is_list(value.get("withheld")):
        raise Fault("not a list of what is withheld of version 1.0.0")
    table = {"path": is_text, "pointer": is_text, "reason": lambda reason: is_text(reason) and reason.strip()}
    if any(misfits(place, table, ("pointer",)) or set(place) - set(table) for place in value["withheld"]):
        raise Fault("an entry is malformed")
    places = [(place["path"], "pointer" in place, place.get("pointer", "")) for place in value["withheld"]]
    if places != sorted(set(places)):
        raise Fault("the places are not in order")
    for opening in value["openings"].values():
        check_opening(opening)
    return value


def check_opening(opening):
    """One of the six forms of an opening, or a Fault."""
    if opening is None:
        return
    if not is_object(opening):
        raise Fault("an opening is malformed")
    names = set(opening)
    hexes = {"key", "salt", "whole"} | ({"pieces"} if "pieces" in names else set())
    if names not in ({"key"}, {"key", "pieces"}, {"salt", "members"}, {"salt", "elements"},
                     {"salt", "whole", "pieces", "chunks"}) or not all(is_digest(opening[name]) for name in hexes & names):
        raise Fault("an opening is malformed")
    below = opening.get("members", opening.get("elements", []))
    if "members" in names and not is_object(below) or "elements" in names and not is_list(below):
        raise Fault("an opening is malformed")
    for part in below.values() if is_object(below) else below:
        check_opening(part)
    if "chunks" in names:
        parts = opening["chunks"] if is_list(opening["chunks"]) else [None]
        for part in parts:
            if not (is_object(part) and len(part) == 1 and set(part) <= {"key", "commitment"} and all(map(is_digest, part.values()))):
                raise Fault("an opening of a piece is malformed")


class Opened:
    """The commitment of a shown file by its opening, the places withheld in it, and how many values are seen."""

    def __init__(self):
        self.withheld, self.seen = [], 0

    def value(self, opening, value, place=""):
        if opening is None:
            self.withheld.append(place)
            if not (is_object(value) and set(value) == {MARKER} and is_digest(value[MARKER])):
                raise Fault("no marker where something is withheld")
            return bytes.fromhex(value[MARKER])
        if set(opening) == {"key"}:
            found, count = commit_value(value, bytes.fromhex(opening["key"]))
            self.seen += count
            return found
        if "members" in opening and is_object(value) and set(value) == set(opening["members"]):
            step = lambda name: f"{place}/{name.replace('~', '~0').replace('/', '~1')}"
            parts = {name: self.value(part, value[name], step(name)) for name, part in opening["members"].items()}
            return commit_object(parts, bytes.fromhex(opening["salt"]))
        if "elements" in opening and is_list(value) and len(value) == len(opening["elements"]):
            parts = [self.value(part, value[at], f"{place}/{at}") for at, part in enumerate(opening["elements"])]
            return commit_array(parts, bytes.fromhex(opening["salt"]))
        raise Fault("what is shown has another shape than what was sealed")

    def large(self, opening, content):
        pieces = [content[at:at + CHUNK] for at in range(0, len(content), CHUNK)]
        if set(opening) == {"key", "pieces"}:
            key = bytes.fromhex(opening["key"])
            of_whole, of_pieces = derive(key, 1, b'"whole"'), derive(key, 1, b'"pieces"')
            salts = [derive(derive(of_pieces, 2, str(at).encode()), 0) for at in range(len(pieces))]
            parts = commit_array(list(map(commit_bytes, pieces, salts)), derive(of_pieces, 0))
            self.seen = len(pieces)
            if parts.hex() != opening["pieces"]:
                raise Fault("its pieces are not those that were sealed")
            return commit_large(len(content), commit_bytes(content, derive(of_whole, 0)), parts, derive(key, 0))
        if "chunks" not in opening or len(opening["chunks"]) != len(pieces):
            raise Fault("another number of pieces")
        parts = []
        for at, (part, piece) in enumerate(zip(opening["chunks"], pieces)):
            if "key" in part:
                self.seen += 1
                parts.append(commit_bytes(piece, derive(bytes.fromhex(part["key"]), 0)))
                continue
            if any(piece):
                raise Fault("a piece is withheld, but its bytes are not zero")
            self.withheld.append(f"bytes={at * CHUNK}-{min(at * CHUNK + CHUNK, len(content)) - 1}")
            parts.append(bytes.fromhex(part["commitment"]))
        pieces_root = commit_array(parts, bytes.fromhex(opening["pieces"]))
        return commit_large(len(content), bytes.fromhex(opening["whole"]), pieces_root, bytes.fromhex(opening["salt"]))


def read_values(kind, data):
    """The value of a document, or the list of the lines of one, and whether it is stored as its JCS bytes."""
    if kind == "json":
        value = parse(data)
        return value, form(value, "jcs") == data.decode()
    if data and not data.endswith(b"\n"):
        raise NotJson("the last line has no LF")
    lines = [parse(line) for line in data.split(b"\n")[:-1]]
    return lines, "".join(f"{form(line, 'jcs')}\n" for line in lines) == data.decode()


def find(value, pointer):
    """The values on the way along a JSON Pointer, the last one at its end; None where it leads nowhere."""
    found = [value]
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not has(found[-1], name):
            return found, False
        found.append(found[-1][name])
    return found, True


def has_marker(value):
    if is_object(value):
        return MARKER in value or any(map(has_marker, value.values()))
    return is_list(value) and any(map(has_marker, value))


def verify(folder, level):
    """Rules RD1 to RD6. RD7, the rules of the sealed format on what is shown, is not run here."""
    findings, documents = Findings(level), {}
    for name, read in (("REDACTION.json", read_commitment), ("REDACTED.json", read_redacted)):
        try:
            value = parse(folder.read(name) or b"")
            documents[name] = read(value)
            findings.require(form(value, "jcs") == folder.read(name).decode(), "RD6", name)
        except (NotJson, Fault, NoForm):
            findings.add("RD1", name)
    if len(documents) < 2:
        return findings
    (wanted, committed), redacted = documents["REDACTION.json"], documents["REDACTED.json"]
    check_files(folder, committed, redacted, findings)
    found, values, unopened = set(), {}, set()
    for path in set(folder.files()) & set(committed):
        file, data = committed[path], folder.read(path)
        try:
            if file["kind"] in ("json", "jsonl"):
                values[path], is_canonical = read_values(file["kind"], data)
                findings.require(is_canonical, "RD6", path)
            check_shown(data, values.get(path), file, redacted["openings"], findings, found)
        except (Fault, NoForm, NotJson):
            findings.add("RD3", path)
            unopened.add(path)
    listed = {(place["path"], place["pointer"]) for place in redacted["withheld"] if "pointer" in place}
    for path, _ in found ^ listed:
        findings.require(path in unopened, "RD4", path)
    for place in redacted["withheld"]:
        findings.require("pointer" in place or place["path"] in committed, "RD4", place["path"])
    check_staying(wanted, committed, values, folder, findings)
    return findings


def check_files(folder, committed, redacted, findings):
    whole = {place["path"] for place in redacted["withheld"] if "pointer" not in place}
    for path in committed:
        findings.require(folder.is_file(path) != (path in whole), "RD2", path)
    for path, kind in folder.entries.items():
        if kind == FOLDER:
            findings.require(folder.files(path + "/"), "RD2", path + "/")
        elif path not in ("REDACTION.json", "REDACTED.json"):
            findings.require(kind == FILE and path in committed, "RD2", path)
    for path in redacted["openings"]:
        findings.require(folder.is_file(path) and path in committed, "RD2", path)


def check_shown(data, value, file, openings, findings, found):
    """Adds the withheld places to `found`; raises Fault where the opening does not fit."""
    path, kind, opened = file["path"], file["kind"], Opened()
    if path not in openings:
        raise Fault("it has no opening")
    opening = openings[path]
    if kind in ("json", "jsonl"):
        commitment = opened.value(opening, value)
    elif kind == "chunks":
        commitment = opened.large(opening or {}, data)
    elif opening is None or set(opening) != {"key"}:
        raise Fault("a file of bytes is shown whole or not at all")
    else:
        opened.seen, commitment = 1, commit_bytes(data, derive(bytes.fromhex(opening["key"]), 0))
    values, least = int(file["values"].text), opened.seen + len(opened.withheld)
    more = kind in ("json", "jsonl") and opened.withheld and values > least
    findings.require(commitment.hex() == file["commitment"] and (values == least or more), "RD3", path)
    found.update((path, place) for place in opened.withheld)


def check_staying(wanted, committed, values, folder, findings):
    """RD5. Of a file that is there and cannot be read, nothing is compared."""
    unread = lambda path: path in committed and folder.is_file(path) and path not in values
    for path, pointer in IDS[wanted]:
        is_there = path in values and find(values[path], pointer)[1]
        findings.require(is_there or unread(path), "RD5", path)
    for path, pointers in STAYS[wanted].items():
        if path in committed and path not in values:
            findings.require(unread(path), "RD5", path)
        elif path in committed:
            for pointer in pointers:
                way, is_there = find(values[path], pointer)
                hidden = any(is_object(value) and set(value) == {MARKER} for value in way) or is_there and has_marker(way[-1])
                findings.require(not hidden, "RD5", path)
