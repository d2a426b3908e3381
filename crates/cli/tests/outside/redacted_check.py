"""An independent check of redacted copies, written from docs/redaction.md with no code of ours.

usage: redacted_check.py COPY
  computes the commitment of every file that is shown, from its values, the openings of REDACTED.json
  and the commitments in place of what is withheld, compares it with REDACTION.json, and the root over
  its entries (RFC 6962). Prints `holds` and how many values are withheld, of how many.
"""
import hashlib
import hmac
import json
import sys
from pathlib import Path

CHUNK = 65536


class Number(str):
    """A number as it is written: files are stored as JCS, so this is its JCS."""


def parse(data):
    def once(pairs):
        assert len(pairs) == len({name for name, _ in pairs}), "a name comes twice"
        return dict(pairs)
    return json.loads(data, parse_int=Number, parse_float=Number, object_pairs_hook=once)


def text(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, (dict, list)):
        assert not value
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value, ensure_ascii=False)


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def salt_of(key):
    return mac(key, b"\x00")


def member_key(key, name):
    return mac(key, b"\x01" + text(name).encode())


def element_key(key, at):
    return mac(key, b"\x02" + str(at).encode())


def commit_object(salt, parts):
    named = sorted((text(name).encode(), digest) for name, digest in parts)
    return sha(b"\x01", salt, *(len(name).to_bytes(8, "big") + name + digest for name, digest in named))


def commit_whole(value, key):
    """The commitment of a value that is shown whole, and how many values it has."""
    salt = salt_of(key)
    if isinstance(value, dict) and value:
        parts = [(name, commit_whole(below, member_key(key, name))) for name, below in value.items()]
        count = sum(part[1] for _, part in parts)
        return commit_object(salt, [(name, part[0]) for name, part in parts]), count
    if isinstance(value, list) and value:
        parts = [commit_whole(below, element_key(key, at)) for at, below in enumerate(value)]
        return sha(b"\x02", salt, *(part[0] for part in parts)), sum(part[1] for part in parts)
    return sha(b"\x00", salt, text(value).encode()), 1


def commit_shown(value, opening):
    if opening is None:
        assert list(value) == ["runseal.redacted"], "a withheld value has a marker"
        return bytes.fromhex(value["runseal.redacted"]), 0
    if set(opening) == {"key"}:
        return commit_whole(value, bytes.fromhex(opening["key"]))
    salt = bytes.fromhex(opening["salt"])
    if "members" in opening:
        assert set(value) == set(opening["members"])
        parts = [(name, commit_shown(value[name], below)) for name, below in opening["members"].items()]
        count = sum(part[1] for _, part in parts)
        return commit_object(salt, [(name, part[0]) for name, part in parts]), count
    assert len(value) == len(opening["elements"])
    parts = [commit_shown(below, how) for below, how in zip(value, opening["elements"])]
    return sha(b"\x02", salt, *(part[0] for part in parts)), sum(part[1] for part in parts)


def commit_bytes(data, salt):
    return sha(b"\x03", salt, hashlib.sha256(data).digest())


def commit_large(data, opening):
    pieces = [data[at:at + CHUNK] for at in range(0, len(data), CHUNK)]
    size = len(data).to_bytes(8, "big")
    if "key" in opening:
        key = bytes.fromhex(opening["key"])
        whole = commit_bytes(data, salt_of(member_key(key, "whole")))
        below = member_key(key, "pieces")
        parts = [commit_bytes(piece, salt_of(element_key(below, at))) for at, piece in enumerate(pieces)]
        assert sha(b"\x02", salt_of(below), *parts).hex() == opening["pieces"]
        return sha(b"\x04", salt_of(key), size, whole, bytes.fromhex(opening["pieces"])), len(pieces)
    seen, parts = 0, []
    assert len(pieces) == len(opening["chunks"])
    for piece, how in zip(pieces, opening["chunks"]):
        if "key" in how:
            parts.append(commit_bytes(piece, salt_of(bytes.fromhex(how["key"]))))
            seen += 1
        else:
            assert not any(piece), "zeros stand in place of what is withheld"
            parts.append(bytes.fromhex(how["commitment"]))
    below = sha(b"\x02", bytes.fromhex(opening["pieces"]), *parts)
    return sha(b"\x04", bytes.fromhex(opening["salt"]), size, bytes.fromhex(opening["whole"]), below), seen


def root_of(leaves):
    if not leaves:
        return sha(b"")
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return sha(b"\x01", root_of(leaves[:k]), root_of(leaves[k:]))


def main():
    copy = Path(sys.argv[1])
    redaction = parse((copy / "REDACTION.json").read_bytes())
    redacted = parse((copy / "REDACTED.json").read_bytes())
    leaves, all_values, seen_values, shown = [], 0, 0, set()
    for file in redaction["files"]:
        entry = ",".join(f"{text(name)}:{text(file[name])}" for name in sorted(file))
        leaves.append(sha(b"\x00", b"{" + entry.encode() + b"}"))
        all_values += int(file["values"])
        path = copy / file["path"]
        whole = [place for place in redacted["withheld"]
                 if place["path"] == file["path"] and "pointer" not in place]
        assert path.exists() != bool(whole), file["path"]
        if not path.exists():
            continue
        shown.add(file["path"])
        data, opening = path.read_bytes(), redacted["openings"][file["path"]]
        kind = file["kind"]
        if kind == "json":
            found, seen = commit_shown(parse(data), opening)
        elif kind == "jsonl":
            found, seen = commit_shown([parse(line) for line in data.splitlines()], opening)
        elif kind == "bytes":
            found, seen = commit_bytes(data, salt_of(bytes.fromhex(opening["key"]))), 1
        else:
            found, seen = commit_large(data, opening)
        assert found.hex() == file["commitment"], file["path"]
        seen_values += seen
    there = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    assert there == shown | {"REDACTION.json", "REDACTED.json"}, there ^ shown
    assert root_of(leaves).hex() == redaction["root"]
    assert int(redaction["values"]) == all_values
    print(f"holds: {all_values - seen_values} of {all_values}")


try:
    main()
except (AssertionError, KeyError, ValueError, TypeError, AttributeError) as error:
    sys.exit(f"broken: {error!r}")
