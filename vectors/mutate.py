#!/usr/bin/env python3
"""Makes mutants of the valid vectors, to compare two verifiers with: mutate.py FOLDER COUNT [SEED].

Each mutant lies in FOLDER/<number>/. Half of them have the hashes put right that a forger would put right, so that
they get past the first one. The same seed gives the same mutants. Instead of a count, `every` takes away each member of each
document in turn, and `mistyped` gives each a value of another type.
"""

import copy
import glob
import json
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "reference"))

from canonical import NoForm, NotJson, Number, canonical, canonical_hash, content_hash, derive_id, parse, sha256  # noqa: E402
import job_bundle  # noqa: E402
import receipt  # noqa: E402
import run_bundle  # noqa: E402

DOCUMENTS = ("context-bundle", "proposal", "patch", "evidence", "runner", "ledger", "receipt", "model-io")
FOLDERS = ("pack", "job-bundle", "run-bundle", "redacted-bundle")
DIALECTS = {"job-bundle": "job", "receipt": "job", "run-bundle": "jcs", "redacted-bundle": "jcs"}
VALUES = ("null", "true", "false", "0", "-1", "1.5", "5.0e1", "101", "9007199254740991", "9007199254740992", "9007199254740993", '""', '"x"', '"../x"', "[]", "{}",
          '[null]', '[5,"x"]', '{"x":1}', '"BUNDLE"', '"complete"', '"sha256:' + "0" * 64 + '"', '"2023-11-14T23:59:60Z"', '"\\ud800"')


def places(value, found=None):
    """Every container with each of its keys."""
    found = [] if found is None else found
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        places(value[key], found)
    return found


def mutate_text(rng, text):
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(5)
    if kind == 0 or not text:
        return text[:at] + rng.choice(["x", " ", "\n", "\x00", "/", "..", "\u00e9", "Z"]) + text[at:]
    at = min(at, len(text) - 1)
    other = rng.choice("0123456789abcdefx")
    return (text[:at] + text[at + 1:], text[:at] + other + text[at + 1:], text.upper(), text[:at])[kind - 1]


def mutate_value(rng, root):
    """A changed copy of a JSON value."""
    root = copy.deepcopy(root)
    for _ in range(rng.choice((1, 1, 1, 2))):
        found = places(root)
        if not found:
            return parse(rng.choice(VALUES).encode())
        holder, key = rng.choice(found)
        kind = rng.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            holder[key] = parse(rng.choice(VALUES).encode())
        elif kind == 2 and isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        elif kind == 3 and isinstance(holder, list):
            other = rng.randrange(len(holder))
            holder[key], holder[other] = holder[other], holder[key]
        elif kind == 4 and isinstance(holder, dict):
            holder[rng.choice(("zz", "extra", "custom", "required", "previous"))] = parse(rng.choice(VALUES).encode())
        elif kind == 5:
            other, name = rng.choice(found)
            if (isinstance(other, list) and name < len(other)) or (isinstance(other, dict) and name in other):
                holder[key] = copy.deepcopy(other[name])
        elif isinstance(holder[key], str):
            holder[key] = mutate_text(rng, holder[key])
        elif isinstance(holder[key], Number):
            holder[key] = Number(str(int(holder[key].value) + rng.choice((-1, 1, 10))))
        elif isinstance(holder[key], bool):
            holder[key] = not holder[key]
        else:
            holder[key] = parse(rng.choice(VALUES).encode())
    return root


def write(rng, value, dialect, is_exact):
    try:
        text = canonical(value, dialect)
    except NoForm:
        return None
    if not is_exact and rng.random() < 0.1:
        text = json.dumps(json.loads(text), indent=1)
    # A manifest ends with LF, and is then hashed without being parsed again.
    return (text + "\n" if dialect == "job" and not is_exact else text).encode("utf-8", "surrogatepass")


def put_right(name, value):
    """The ids and hashes of a document that cover the rest of it, computed again."""
    try:
        rest = {key: value[key] for key in value if key != "id"} if isinstance(value, dict) else None
        if name == "context-bundle" and "id" in value:
            value["id"] = derive_id("bundle_", rest) or value["id"]
        elif name == "proposal" and "id" in value:
            value["id"] = derive_id("prop_", rest) or value["id"]
        elif name == "receipt" and "receipt_hash" in value:
            value["receipt_hash"] = receipt.receipt_hash(value)
        elif name == "evidence" and isinstance(value.get("proposal"), dict):
            value["proposal_hash"] = "sha256:" + canonical_hash(value["proposal"])
    except (NoForm, TypeError, AttributeError, KeyError):
        pass
    return value


def mutate_bytes(rng, data):
    at = rng.randrange(len(data) + 1)
    return rng.choice((data[:at], data[:at] + rng.choice((b"x", b"\n", b"\xff", b"{")) + data[at:], data[:at] + data[at + 1:]))


def mutate_document(rng, name, data):
    if rng.random() < 0.05:
        return mutate_bytes(rng, data)
    dialect = DIALECTS.get(name, "kernel")
    if name == "ledger":
        lines = data.split(b"\n")
        at = rng.choice([at for at, line in enumerate(lines) if line.strip()] or [0])
        changed = write(rng, mutate_value(rng, parse(lines[at])), dialect, True)
        lines[at] = lines[at] if changed is None else changed
        if rng.random() < 0.2:
            lines.insert(at, lines[rng.randrange(len(lines))])
        return b"\n".join(lines)
    value = mutate_value(rng, parse(data))
    if rng.random() < 0.5:
        value = put_right(name, value)
    return write(rng, value, dialect, False) or data


def reseal(name, files):
    """Puts right the hashes of a folder in the way of whoever changed a file of it."""
    try:
        if name == "pack":
            run = parse(files["run.json"])
            if isinstance(run.get("files"), dict):
                run["files"] = {one: content_hash(data) for one, data in files.items() if one not in ("run.json", "meta.json")}
                if isinstance(run.get("bundle"), dict) and "bundle.json" in files:
                    run["bundle"]["sha256"] = "sha256:" + canonical_hash(parse(files["bundle.json"]))
                run.pop("self_hash", None)
                run["self_hash"] = "sha256:" + canonical_hash(run)
                files["run.json"] = canonical(run).encode()
        elif name == "job-bundle":
            manifest = parse(files["bundle.json"])
            for artifact in manifest["artifacts"]:
                if artifact["path"] in files:
                    artifact["sha256"] = sha256(files[artifact["path"]])
                    artifact["bytes"] = Number(str(len(files[artifact["path"]])))
            pairs = [(artifact["artifact_id"], artifact["sha256"]) for artifact in manifest["artifacts"]]
            manifest["hashes"]["root_hash"] = job_bundle.root_hash(pairs)
            manifest["plan_hash"] = job_bundle.plan_hash(manifest["run_id"], manifest["steps"])
            manifest["bundle_id"] = job_bundle.bundle_id(manifest)
            files["bundle.json"] = canonical(manifest, "job").encode() + b"\n"
        elif name == "run-bundle":
            reseal_run(files)
    except (NotJson, NoForm, KeyError, TypeError, AttributeError, ValueError):
        pass


def reseal_run(files):
    digest = lambda path: sha256(canonical(parse(files[path]), "jcs").encode() if path.endswith(".json") else files[path])
    output, meta = parse(files[run_bundle.OUTPUT]), parse(files[run_bundle.META])
    output["inputs_hash"] = digest(run_bundle.INPUT)
    output["outputs_hash"] = run_bundle.outputs_hash(output, parse(files[run_bundle.MANIFEST]))
    files[run_bundle.OUTPUT] = canonical(output, "jcs").encode()
    meta["contracts_hashes"] = {name: digest(name) for name in run_bundle.CONTRACTS}
    files[run_bundle.META] = canonical(meta, "jcs").encode()
    index = parse(files[run_bundle.INDEX])
    for entry in index["artifacts"]:
        if entry["relative_path"] in files:
            entry["sha256"] = digest(entry["relative_path"])
    files[run_bundle.INDEX] = canonical(index, "jcs").encode()
    lines = sorted(path for path in files if path != run_bundle.SUMS)
    files[run_bundle.SUMS] = "".join(f"{digest(path)}  {path}\n" for path in lines).encode()


def mutate_folder(rng, name, files):
    """Changes one file of a folder, or which files there are."""
    files, paths = dict(files), sorted(files)
    path = rng.choice([one for one in paths if not one.endswith("_SCHEMA.json")])
    kind = rng.randrange(14)
    if kind == 0:
        del files[path]
    elif kind == 12:
        files[path] = rng.choice((Link("nowhere"), Link(path.split("/")[-1]), Link("../" + paths[0]), FOLDER))
    elif kind == 13:
        files[rng.choice(("artifacts", "empty", "engine/empty", "z.txt", "upstream/e/r/x.csv"))] = rng.choice((Link("."), FOLDER))
    elif kind == 1:
        files[rng.choice(("extra.txt", "artifacts/extra.json", "engine/x", "a/b.json", "zz.json"))] = b"{}"
    elif kind == 2:
        files[path] = mutate_bytes(rng, files[path])
    else:
        documents = [one for one in paths if one.endswith((".json", ".jsonl")) and not one.endswith("_SCHEMA.json")]
        path = rng.choice(documents)
        of = {"bundle.json": "context-bundle", "ledger.jsonl": "ledger"}.get(path, "") if name == "pack" else ""
        changed = mutate_document(rng, of or DIALECTS.get(name) and name or "", files[path])
        files[path] = changed
    if rng.random() < 0.6:
        kept = {one: data for one, data in files.items() if isinstance(data, bytes)}
        others = {one: data for one, data in files.items() if one not in kept}
        reseal(name, kept)
        files = kept | others
    return files


class Link:
    """A symbolic link in place of a file."""

    def __init__(self, target):
        self.target = target


FOLDER = object()  # an empty folder in place of a file


def read_folder(root):
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root).replace(os.sep, "/")] = file.read()
    return found


def sources():
    """The valid units, by format: the name and content of a file, or the files of a folder."""
    found = []
    for name in DOCUMENTS + FOLDERS:
        units = []
        for case in sorted(glob.glob(os.path.join(HERE, name, "*"))):
            label = os.path.basename(case)
            if not label.startswith(("ok-", "outside-")):
                continue
            for path in sorted(glob.glob(os.path.join(case, "input*"))):
                if os.path.isdir(path) and not path.endswith(".bodies"):
                    units.append(read_folder(path))
                elif path.endswith((".json", ".jsonl")) and not os.path.isdir(os.path.join(case, "input.bodies")):
                    with open(path, "rb") as file:
                        units.append((os.path.basename(path), file.read()))
        found.append((name, units))
    return found


def documents(name, unit):
    """The JSON documents of a unit, by path."""
    files = {unit[0]: unit[1]} if isinstance(unit, tuple) else unit
    for path, data in sorted(files.items()):
        if path.endswith(".json") and not path.endswith("_SCHEMA.json"):
            yield path, data


def change_each(name, unit, is_deletion):
    """The files of the unit with each member of each document taken away, or given another type, in turn."""
    files = {unit[0]: unit[1]} if isinstance(unit, tuple) else unit
    for path, data in documents(name, unit):
        try:
            count = len(places(parse(data)))
        except NotJson:
            continue
        end = b"\n" if data.endswith(b"\n") else b""
        for at in range(count):
            value = parse(data)
            holder, key = places(value)[at]
            if is_deletion:
                del holder[key]
            else:
                holder[key] = Number("7") if not isinstance(holder[key], Number) else "7"
            for is_resealed in (False, True) if isinstance(unit, dict) or name in RESEALED else (False,):
                changed = put_right(name, value) if is_resealed and isinstance(unit, tuple) else value
                try:
                    dialect = DIALECTS.get(name, "kernel")
                    found = dict(files) | {path: canonical(changed, dialect).encode("utf-8", "surrogatepass") + end}
                except NoForm:
                    continue
                if is_resealed and isinstance(unit, dict):
                    reseal(name, found)
                yield found


RESEALED = ("context-bundle", "proposal", "receipt", "evidence")


def write_files(here, files):
    for path, data in files.items():
        place = os.path.join(here, path)
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if isinstance(data, Link):
                os.symlink(data.target, place)
            elif data is FOLDER:
                os.makedirs(place, exist_ok=True)
            else:
                with open(place, "wb") as file:
                    file.write(data)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            pass  # something else lies in its place


def in_turn(target, is_deletion):
    at = 0
    for name, units in sources():
        for unit in units:
            for files in change_each(name, unit, is_deletion):
                write_files(os.path.join(target, f"{at:06}"), files)
                at += 1


def main(target, count, seed):
    rng, known = random.Random(seed), sources()
    for at in range(count):
        name, units = known[at % len(known)]
        unit, here = rng.choice(units), os.path.join(target, f"{at:06}")
        if isinstance(unit, tuple):
            files = {unit[0]: mutate_document(rng, name, unit[1])}
        else:
            files = mutate_folder(rng, name, unit)
        write_files(here, files)


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if sys.argv[2] in ("every", "mistyped"):
        in_turn(sys.argv[1], sys.argv[2] == "every")
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
