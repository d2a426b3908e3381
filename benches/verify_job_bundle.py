"""The ten checks of document 001 section 8, as a Python program would do them.

Only the benchmark uses it: it is what `runseal job verify` is compared with. It takes the folder
of a bundle, prints the verdict and exits like the document says. Check 2 is done by hand; with
`--jsonschema` before the folder it is done with a schema and the jsonschema package, as programs
of this field do it.
"""

import hashlib
import json
import os
import stat
import sys

FORBIDDEN = {"timestamp", "created_at", "updated_at", "cwd", "os", "locale"}
TOP = {
    "bundle_version": str, "bundle_id": str, "run_id": str, "job_id": str, "message_id": str,
    "plan_hash": str, "steps": list, "inputs": dict, "artifacts": list, "hashes": dict,
    "provenance": dict,
}
STEP = {"step_id": str, "ordinal": int, "op": str, "refs": dict, "constraints": dict,
        "expected_outputs": dict}
ARTIFACT = {"artifact_id": str, "kind": str, "ref": str, "slice": str, "path": str,
            "sha256": str, "bytes": int}
KEYS = {"READ_SYMBOL": "symbol_id", "READ_SECTION": "section_id"}
HEX = set("0123456789abcdef")


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def is_hex(text, length):
    return len(text) == length and set(text) <= HEX


def no_twice(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def check_types(value, schema, place, add):
    if not isinstance(value, dict):
        add(2, f"{place}: no object")
        return False
    good = True
    for key, kind in schema.items():
        if key not in value or not isinstance(value[key], kind) or isinstance(value[key], bool):
            add(2, f"{place}.{key}: missing or mistyped")
            good = False
    return good


def check_schema(manifest, add):
    if not check_types(manifest, TOP, "$", add):
        return False
    good = True
    version = manifest["bundle_version"].split(".")
    if len(version) != 3 or version[0] != "5" or not all(part.isdigit() for part in version):
        add(2, "$.bundle_version")
        good = False
    hashes = manifest["hashes"]
    if not is_hex(manifest["bundle_id"], 64) or not is_hex(manifest["plan_hash"], 64) \
            or not is_hex(str(hashes.get("root_hash")), 64):
        add(2, "a hash is no hash")
        good = False
    for name in ("symbols", "files", "slices"):
        listed = manifest["inputs"].get(name)
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            add(2, f"$.inputs.{name}")
            good = False
    for at, step in enumerate(manifest["steps"]):
        if not check_types(step, STEP, f"$.steps[{at}]", add):
            good = False
        elif step["op"] not in KEYS or not isinstance(step["refs"].get(KEYS[step["op"]]), str) \
                or not isinstance(step["constraints"].get("slice"), str):
            add(2, f"$.steps[{at}]")
            good = False
    for at, artifact in enumerate(manifest["artifacts"]):
        if not check_types(artifact, ARTIFACT, f"$.artifacts[{at}]", add):
            good = False
        elif not is_hex(artifact["artifact_id"], 16) or not is_hex(artifact["sha256"], 64) \
                or artifact["kind"] not in ("SYMBOL_SLICE", "SECTION_SLICE") \
                or artifact["bytes"] < 0:
            add(2, f"$.artifacts[{at}]")
            good = False
    return good


def schema_of():
    """The manifest of section 2 as a JSON Schema."""
    text = {"type": "string"}
    digest = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    texts = {"type": "array", "items": text}

    def whole(properties):
        return {"type": "object", "properties": properties, "required": list(properties)}

    step = whole({
        "step_id": text, "ordinal": {"type": "integer"},
        "op": {"enum": ["READ_SYMBOL", "READ_SECTION"]}, "refs": {"type": "object"},
        "constraints": whole({"slice": text}), "expected_outputs": {"type": "object"},
    })
    step["oneOf"] = [
        {"properties": {"op": {"const": op}, "refs": whole({key: text})}}
        for op, key in KEYS.items()
    ]
    artifact = whole({
        "artifact_id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "kind": {"enum": ["SYMBOL_SLICE", "SECTION_SLICE"]}, "ref": text, "slice": text,
        "path": text, "sha256": digest, "bytes": {"type": "integer", "minimum": 0},
    })
    return whole({
        "bundle_version": {"type": "string", "pattern": r"^5\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"},
        "bundle_id": digest, "run_id": text, "job_id": text, "message_id": text,
        "plan_hash": digest, "steps": {"type": "array", "items": step},
        "inputs": whole({"symbols": texts, "files": texts, "slices": texts}),
        "artifacts": {"type": "array", "items": artifact},
        "hashes": whole({"root_hash": digest}), "provenance": {"type": "object"},
    })


def check_by_schema(manifest, add):
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema_of())
    errors = list(validator.iter_errors(manifest))
    for error in errors:
        add(2, f"{error.json_path}: {error.message}")
    return not errors


def ascending(values):
    return all(a < b for a, b in zip(values, values[1:]))


def check_files(folder, artifacts, add):
    for artifact in artifacts:
        path = artifact["path"]
        if path != f"artifacts/{artifact['artifact_id']}.txt":
            add(10, path)
            continue
        whole = os.path.join(folder, path)
        try:
            if not stat.S_ISREG(os.lstat(whole).st_mode):
                add(4, f"{path}: no regular file")
                continue
            digest = hashlib.sha256()
            size = 0
            last = b""
            with open(whole, "rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
                    size += len(piece)
                    last = piece
                    if len(piece) < 1 << 20:
                        piece.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            add(4, f"{path}: {error}")
            continue
        if digest.hexdigest() != artifact["sha256"]:
            add(4, f"{path}: another hash")
        if size != artifact["bytes"]:
            add(5, f"{path}: another size")
        if not last.endswith(b"\n"):
            add(6, f"{path}: no newline")


def verify(folder, by_schema):
    faults = []

    def add(check, message):
        faults.append((check, message))

    try:
        with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as file:
            manifest = json.load(file, object_pairs_hook=no_twice)
    except (OSError, ValueError) as error:
        add(1, str(error))
        return faults
    if not (check_by_schema if by_schema else check_schema)(manifest, add):
        return faults
    steps, artifacts = manifest["steps"], manifest["artifacts"]
    if not ascending([(step["ordinal"], step["step_id"]) for step in steps]):
        add(3, "$.steps")
    if not ascending([artifact["artifact_id"] for artifact in artifacts]):
        add(3, "$.artifacts")
    for name in ("symbols", "files", "slices"):
        if not ascending(manifest["inputs"][name]):
            add(3, f"$.inputs.{name}")
    check_files(folder, artifacts, add)
    lines = [f"{a['artifact_id']}:{a['sha256']}"
             for a in sorted(artifacts, key=lambda a: a["artifact_id"])]
    root = hashlib.sha256(("\n".join(lines) + "\n").encode()).hexdigest()
    if root != manifest["hashes"]["root_hash"]:
        add(7, "$.hashes.root_hash")
    emptied = dict(manifest, bundle_id="", hashes=dict(manifest["hashes"], root_hash=""))
    if hashlib.sha256(canonical(emptied).encode()).hexdigest() != manifest["bundle_id"]:
        add(8, "$.bundle_id")
    read = {(step["refs"][KEYS[step["op"]]], step["constraints"]["slice"]) for step in steps}
    held = {(artifact["ref"], artifact["slice"]) for artifact in artifacts}
    if read != held or any(slice.strip().upper() in ("ALL", "") for _, slice in read | held):
        add(9, "steps and artifacts")
    for name in FORBIDDEN & manifest.keys():
        add(10, f"$.{name}")
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            if os.path.islink(os.path.join(parent, name)):
                add(10, os.path.join(parent, name))
    return faults


def main():
    faults = verify(sys.argv[-1], "--jsonschema" in sys.argv)
    for check, message in sorted(faults):
        print(check, message)
    if not faults:
        print("ok")
        return 0
    return 2 if min(faults)[0] <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
