"""Run bundles (docs/formats/run-bundle.md)."""

import os
import re

import json_schema
import model_io
from canonical import NoForm, NotJson, canonical, form, parse, sha256
from folder import FILE, FOLDER
from redaction import is_sound
from shape import *

CONTRACTS = ("ENGINE_MANIFEST.json", "INPUT_SCHEMA.json", "OUTPUT_SCHEMA.json", "COUPLING_RULES.json", "SEALING_SPEC.md")
MANIFEST, INPUT_SCHEMA, OUTPUT_SCHEMA, COUPLING, _ = CONTRACTS
INPUT, OUTPUT, META, ENVIRONMENT = "RUN_INPUT.json", "RUN_OUTPUT.json", "RUN_META.json", "RUN_ENVIRONMENT.json"
INDEX, SUMS, FROM_ENGINES = "ARTIFACT_INDEX.json", "SHA256SUMS.txt", "INPUT_ARTIFACT_INDEX.json"
REQUIRED = (*CONTRACTS, INPUT, OUTPUT, INDEX, SUMS, META)
READ_BY_RULES = {*CONTRACTS, INPUT, OUTPUT, INDEX, FROM_ENGINES, META}
ROLES = dict.fromkeys(CONTRACTS, "CONTRACT") | {
    INPUT: "INPUT", "RUN_CONTEXT_STRIPPED.json": "INPUT", "RUN_PARAMETERS.json": "INPUT", "stdin.bin": "INPUT",
    "model_io.json": "INPUT", OUTPUT: "OUTPUT", META: "META", ENVIRONMENT: "META", "REDACTION.json": "META",
    "REDACTION_SALT.json": "META", "REDACTED.json": "META", INDEX: "INDEX", SUMS: "INDEX", FROM_ENGINES: "INDEX",
}
FOLDER_ROLES = {
    "artifacts": "ARTIFACT", "upstream": "INPUT", "inputs": "INPUT", "model_io.bodies": "INPUT", "engine": "ENGINE",
    "logs": "LOG", "environment": "ENVIRONMENT",
}
TYPES = {
    "json": "application/json", "md": "text/markdown", "txt": "text/plain", "csv": "text/csv", "html": "text/html",
    "png": "image/png", "svg": "image/svg+xml",
}
PREFIX = "RUNSEAL_PARAM_"
ALWAYS_FORBIDDEN = set(
    "user_email user_id username phone oauth_subject device_id role roles permissions feature_flags admin account_status "
    "billing_tier subscription_status price_id invoice_id payment_state".split()
)
SEMANTICS = one_of("RAW_TRUTH", "CORRELATION_ONLY", "DETERMINISTIC_TRANSFORM")
META_MEMBERS = {
    "run_id": lambda value: is_text(value) and re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value),
    "engine_code": is_filled, "engine_version": is_filled, "core_orchestrator_version": is_filled,
    "sealed_at": lambda value: parse_time(value, None) is not None, "hash_algo": one_of("sha256"),
    "canonicalization": one_of("JCS_RFC8785"), "engine_executable_sha256": is_digest,
    "contracts_hashes": lambda value: is_object(value) and not misfits(value, dict.fromkeys(CONTRACTS, is_text)),
}
ENTRY = {"path": is_text, "sha256": is_digest, "bytes": is_count, "mode": one_of("644", "755"), "stored": is_text}
FOLDER_ENTRY = {"name": is_text, "bytes": is_count, "folder": is_flag, "executable": is_flag}
SHAPES = {  # of RUN_ENVIRONMENT.json: members, and those of them that are optional
    "": ({
        "environment_version": one_of("1.0.0"), "kernel": is_text, "architecture": is_text, "locale": is_text,
        "timezone": is_text, "variables": lambda value: is_object(value) and all(map(is_text, value.values())),
        "files": is_list, "sandbox": is_object, "observation": is_object, "folder": is_text, "program": is_text,
        "became": is_text, "listed": is_list, "present": is_list, "engine_files": is_list, "streams": is_object,
        "terminal": is_object,
        "links": is_list, "attributes": is_list, "packages": is_list, "git": is_object, "usage": is_object,
        "self_contained": is_flag,
    }, ("folder", "program", "became", "listed", "present", "engine_files", "streams", "terminal", "links", "attributes",
        "packages", "git", "usage", "self_contained")),
    "streams": ({"stdin": one_of("file", "null", "pipe", "terminal")}
                | dict.fromkeys(("stdout", "stderr"), one_of("pipe", "terminal")), ()),
    "terminal": ({"columns": is_count, "rows": is_count, "recording": is_object}, ("recording",)),
    "recording": (ENTRY, ("stored",)),
    "sandbox": ({"level": one_of("namespaces", "landlock", "none")}, ()),
    "observation": ({"level": one_of("observed", "declared"), "gaps": is_list, "randomness": is_texts, "threads": is_texts},
                    ("randomness", "threads")),
    "files": ({"path": is_text, "sha256": is_digest, "bytes": is_count, "executed": is_flag, "package": is_text,
               "version": is_text, "stored": is_filled}, ("executed", "package", "version", "stored")),
    "links": ({"path": is_filled, "target": is_filled}, ()),
    "attributes": ({"path": is_text, "mode": lambda value: is_text(value) and re.fullmatch("[0-7]{4}", value),
                    "modified": lambda value: is_text(value) and re.fullmatch(r"-?[0-9]+\.[0-9]{9}", value)
                    and -2**63 <= int(value.split(".")[0]) < 2**63}, ()),
    "packages": ({"kind": is_text, "name": is_text, "version": is_text, "path": is_text}, ("path",)),
    "git": ({"commit": is_text, "branch": is_text, "remote": is_text, "state": one_of("clean", "changed", "unknown")},
            ("commit", "branch", "remote")),
    "usage": ({"wall_ms": is_count, "cpu_ms": is_count, "memory_bytes": is_count}, ("wall_ms", "cpu_ms", "memory_bytes")),
    "engine_files": (ENTRY, ("stored",)),
    "present": ({"path" if name == "name" else name: fits for name, fits in FOLDER_ENTRY.items()},
                ("bytes", "folder", "executable")),
    "listed": ({"path": is_text, "entries": is_list}, ()),
}
LISTED = {"path": is_text, "sha256": is_digest, "bytes": is_count, "stored": is_text}
FILE_ENTRY = ENTRY | {"path": is_filled, "stored": is_filled}
is_entry = lambda value: is_object(value) and not misfits(value, FILE_ENTRY, ("stored",)) and set(value) <= set(FILE_ENTRY)
is_listed = lambda value: not misfits(value, LISTED, ("stored",))
is_stored = lambda value: is_entry(value) and "stored" in value
is_text_map = lambda value: is_object(value) and all(map(is_text, value.values()))
is_link = lambda value: is_object(value) and set(value) == {"path", "target"} and all(map(is_filled, value.values()))
is_rule = lambda value: is_object(value) and set(value) == {"files", "rule"} and all(map(is_filled, value.values()))
is_rules = lambda value: is_list(value) and all(map(is_rule, value))
between = lambda least, most: lambda value: is_integer(value) and least <= value.integer <= most
RECORDED_INPUT = {
    "argv": lambda value: is_texts(value) and len(value) > 0, "environment": is_text_map,
    "files": lambda value: is_list(value) and all(map(is_entry, value)),
    "inputs": lambda value: is_list(value) and all(map(is_entry, value)),
    "links": lambda value: is_list(value) and all(map(is_link, value)), "parameters": is_text_map,
    "stdin": or_null(is_entry), "model_io": is_entry, "keep": is_texts, "ignore": is_texts,
    "compare": is_rules, "fixed_time": between(-LARGEST, LARGEST),
}
RECORDED_OUTPUT = {
    "engine": lambda value: is_object(value) and len(value) == 2 and value.get("engine_code") == "RECORDED_COMMAND"
    and is_filled(value.get("engine_version")),
    "semantics": one_of("RAW_TRUTH"), "inputs_hash": is_digest, "outputs_hash": is_digest,
    "exit_status": or_null(between(0, 255)), "signal": or_null(between(1, 127)), "failed": is_flag,
    "stdout": is_stored, "stderr": is_stored, "outputs": lambda value: is_list(value) and all(map(is_stored, value)),
    "folders": is_texts, "deleted": is_texts, "not_kept": is_texts, "interrupted": between(1, 127),
    "links": lambda value: is_list(value) and all(map(is_link, value)),
}


def exact_of(path):
    """The JSON file whose exact bytes are at `exact/<path>.bytes`."""
    inner = path.removeprefix("exact/").removesuffix(".bytes")
    return inner if path == f"exact/{inner}.bytes" and inner.endswith(".json") else None


def place_of(stored):
    """The place in the bundle of a file whose exact bytes are at `stored`."""
    inner = stored.removeprefix("exact/").removesuffix(".raw")
    is_raw = stored == f"exact/{inner}.raw" and inner.endswith(".json")
    return exact_of(stored) or (inner if is_raw else stored)


def role_of(path):
    inner = path.removeprefix("exact/")
    return ROLES.get(path) or (FOLDER_ROLES.get(inner.split("/")[0]) if "/" in inner else None)


def changes_integer(value):
    """Whether a number is an integer that its JCS form, a double, spells as another one."""
    if isinstance(value, Number):
        if not re.fullmatch("-?[0-9]{16,}", value.text) or value.value in (float("inf"), float("-inf")):
            return False
        mantissa, _, exponent = form(value).lstrip("-").partition("e+")
        whole, _, fraction = mantissa.partition(".")
        return value.text.lstrip("-") != (whole + fraction + "0" * (int(exponent or 0) - len(fraction)))
    below = value.values() if is_object(value) else value if is_list(value) else ()
    return any(map(changes_integer, below))


class Bundle:
    """The documents and digests of a run bundle."""

    def __init__(self, folder):
        self.folder, self.values, self.digests, self.broken = folder, {}, {}, set()
        for path in folder.files():
            data = folder.read(path)
            if not path.endswith(".json"):
                self.digests[path] = sha256(data)
                continue
            try:
                value = parse(data)
                self.digests[path] = sha256(canonical(value, "jcs").encode())
                self.values[path] = value
            except (NotJson, NoForm):
                self.broken.add(path)
        manifest = self.values.get(MANIFEST)
        self.has_code = get(manifest, "engine_code") == "RECORDED_COMMAND"
        self.says_recorded = get(manifest, "execution", "recorded") is True
        self.says_declared = get(manifest, "execution", "declared") is True
        claims = (self.has_code, self.says_recorded, self.says_declared)
        self.is_recorded, self.is_declared = claims == (True, True, False), claims == (False, False, True)
        self.is_engine = not self.is_recorded and not self.is_declared

    def is_canonical(self, path):
        return self.folder.read(path) == canonical(self.values[path], "jcs").encode()

    def has_place_for(self, path):
        place, top = place_of(path), path.split("/")[0]
        if place != path:
            return place.split("/")[0] in ("engine", "inputs", "artifacts", "environment") and self.has_place_for(place)
        if path in ("RUN_PARAMETERS.json", FROM_ENGINES) or top == "upstream":
            return self.is_engine
        if path in ("stdin.bin", "model_io.json", "logs/stdout.txt", "logs/stderr.txt", "logs/terminal.cast") or top in ("inputs", "model_io.bodies"):
            return self.is_recorded
        return top not in ("logs", "exact") and role_of(path) is not None

    def is_listed_place(self, path):
        top = path.split("/")[0]
        return "/" in path and (top in ("engine", "inputs", "logs", "exact") or top in ("artifacts", "environment") and self.is_recorded) or (
            path == "stdin.bin" and self.is_recorded)


def verify(folder, level):
    findings, bundle = Findings(level), Bundle(folder)
    for name in REQUIRED:
        findings.require(folder.is_file(name), "RB1", name)
    sums = read_sums(bundle, findings)
    index = read_index(bundle, sums, findings)
    check_files(bundle, sums, index, findings)
    check_schemas(bundle, findings)
    check_hashes(bundle, findings)
    check_forbidden(bundle, findings)
    check_coupling(bundle, findings)
    check_meta(bundle, findings)
    if findings.integrity:
        for check in (check_lists, check_models, check_agreement, check_environment, check_recorded, check_rest):
            check(bundle, findings)
    if findings.form:
        lists_files = bundle.is_recorded or ENVIRONMENT in bundle.values
        for path in folder.files():
            named = lists_files or not bundle.is_listed_place(path)
            findings.require(named and bundle.has_place_for(path), "RB19", path)
            findings.require(path not in bundle.values or bundle.is_canonical(path), "RB12", path)
    return findings


def read_sums(bundle, findings):
    """The digest by path of SHA256SUMS.txt; None if there is none."""
    data, sums = bundle.folder.read(SUMS), {}
    if data is None:
        return None
    lines = data.split(b"\n")
    findings.require(lines[-1] == b"", "RB5", SUMS)
    paths = []
    for line in lines[:-1] if lines[-1] == b"" else lines:
        try:
            found = re.fullmatch("([0-9a-f]{64})  (.+)", line.decode(), re.DOTALL)
        except UnicodeDecodeError:
            found = None
        if found is None or any(map(is_control, found[2])):
            findings.add("RB5", SUMS)
            continue
        findings.require(found[2] not in sums, "RB5", SUMS)
        findings.require(is_safe_path(found[2]), "RB2", found[2])
        sums.setdefault(found[2], found[1])
        paths.append(found[2])
    findings.require(not findings.form or paths == sorted(paths), "RB12", SUMS)
    return sums


def read_index(bundle, sums, findings):
    """The digest (or None) by path of ARTIFACT_INDEX.json; None if there is none."""
    findings.require(INDEX not in bundle.broken, "RB11", INDEX)
    if INDEX not in bundle.values:
        return None
    root, index, paths = bundle.values[INDEX], {}, []
    entries = root if is_list(root) else get(root, "artifacts")
    findings.require(is_list(entries), "RB11", INDEX)
    for entry in entries if is_list(entries) else ():
        path = text(entry, "relative_path")
        table = dict.fromkeys(("artifact_name", "relative_path", "content_type", "role"), is_filled) | {"sha256": is_digest}
        right = not misfits(entry, table) and is_safe_path(path) and path not in index
        if right:
            ending = path.split("/")[-1].rpartition(".")
            right = entry["artifact_name"] == path.split("/")[-1] and entry["content_type"] == TYPES.get(
                ending[2] if ending[1] else "", "application/octet-stream")
            roles = {role_of(path)} if role_of(path) else {*ROLES.values(), *FOLDER_ROLES.values()}
            right = right and entry["role"] in roles
        findings.require(right, "RB11", INDEX)
        if path is not None:
            paths.append(path)
            if is_safe_path(path):
                index.setdefault(path, entry["sha256"] if is_digest(entry.get("sha256")) else None)
    for path in sums or ():
        findings.require(path in (INDEX, SUMS) or path in index, "RB11", path)
    findings.require(not findings.form or paths == sorted(paths), "RB12", INDEX)
    return index


def check_files(bundle, sums, index, findings):
    for path, kind in bundle.folder.entries.items():
        if kind == FILE:
            findings.require(is_safe_path(path) and (sums is None or path in sums or path == SUMS), "RB2", path)
        elif kind != FOLDER:
            findings.add("RB2", path)
        if findings.integrity and kind == FOLDER:
            findings.require(any(one.startswith(path + "/") for one in bundle.folder.entries), "RB20", path)
    for listed in (sums, {path: digest for path, digest in (index or {}).items() if digest}):
        for path, digest in (listed or {}).items():
            kind = bundle.folder.entries.get(path)
            if kind == FILE:
                findings.require(path in bundle.broken or bundle.digests[path] == digest, "RB5", path)
            elif kind in (FOLDER, None):
                findings.require(path in REQUIRED, "RB5", path)
    for path in bundle.broken - READ_BY_RULES:
        findings.add("RB5", path)


def check_schemas(bundle, findings):
    for rule, name, schema in (("RB3", INPUT, INPUT_SCHEMA), ("RB4", OUTPUT, OUTPUT_SCHEMA)):
        known = set(bundle.values) | bundle.broken
        if name not in known or schema not in known:
            continue
        for path in {name, schema} & bundle.broken:
            findings.add(rule, path)
        if {name, schema} <= set(bundle.values):
            try:
                json_schema.check(bundle.values[schema])
                root = bundle.values[schema]
                findings.require(json_schema.is_valid(bundle.values[name], root, root), rule, name)
            except json_schema.BadSchema:
                findings.add(rule, schema)
        if rule == "RB4" and name in bundle.values:
            output, root = bundle.values[name], bundle.values.get(schema)
            present = has(output, "inputs_hash") and has(output, "outputs_hash") and has(output, "semantics")
            engine = is_filled(get(output, "engine", "engine_code")) and is_filled(get(output, "engine", "engine_version"))
            findings.require(present and engine, rule, name)
            own = schema in bundle.broken or names_semantics(root)
            findings.require(own or not has(output, "semantics") or SEMANTICS(output["semantics"]), rule, name)


def names_semantics(schema):
    found = get(schema, "properties", "semantics")
    for _ in range(16):
        if is_list(get(found, "enum")) or has(found, "const"):
            return True
        reference = text(found, "$ref")
        if reference is None or not reference.startswith("#/"):
            return False
        found = json_schema.resolve(schema, reference)
    return False


def check_hashes(bundle, findings):
    output, hashes = bundle.values.get(OUTPUT), get(bundle.values.get(META), "contracts_hashes")
    for name in CONTRACTS:
        if text(hashes, name) is not None and name in bundle.digests:
            findings.require(hashes[name] == bundle.digests[name], "RB6", name)
    if not is_object(output):
        return
    if INPUT in bundle.values:
        findings.require(output.get("inputs_hash") == bundle.digests[INPUT], "RB7", OUTPUT)
    if MANIFEST in bundle.values:
        right = outputs_hash(output, bundle.values[MANIFEST])
        findings.require(right is not None and output.get("outputs_hash") == right, "RB7", OUTPUT)


def outputs_hash(output, manifest):
    """Over the output without the hash, or over its payload; None where that is not there."""
    if get(manifest, "sealing", "outputs_hash_scope") == "payload":
        return sha256(canonical(output["outputs"], "jcs").encode()) if "outputs" in output else None
    return sha256(canonical({name: output[name] for name in output if name != "outputs_hash"}, "jcs").encode())


def check_forbidden(bundle, findings):
    added = items(bundle.values.get(INPUT_SCHEMA), "properties", "context", "x_forbidden_fields")
    lower = lambda name: re.sub("[A-Z]", lambda letter: letter[0].lower(), name)
    keys = ALWAYS_FORBIDDEN | {lower(name) for name in added if is_text(name)}

    def has_key(value):
        if is_object(value):
            return any(lower(name) in keys or has_key(member) for name, member in value.items())
        return is_list(value) and any(map(has_key, value))

    findings.require(not has_key(get(bundle.values.get(INPUT), "context")), "RB8", INPUT)
    findings.require(not has_key(bundle.values.get(OUTPUT)), "RB8", OUTPUT)
    for path, value in bundle.values.items():
        if path.startswith("artifacts/") and not bundle.is_recorded:
            findings.require(not has_key(value), "RB8", path)


def allowed_engine(entry):
    """The code of an engine whose artifacts are taken; None if the entry is none."""
    if is_filled(entry):
        return entry
    return entry.get("engine_code") if get(entry, "via") == "CORE_ONLY" and is_filled(get(entry, "engine_code")) else None


def check_coupling(bundle, findings):
    for path in {COUPLING, FROM_ENGINES} & bundle.broken:
        findings.add("RB9", path)
    rules, allowed = bundle.values.get(COUPLING), None
    if COUPLING in bundle.values:
        right = (get(rules, "delivery_model") == "CORE_ONLY" and get(rules, "core_mediated_coupling") is True
                 and get(rules, "direct_engine_to_engine_calls") is False)
        entries = get(rules, "allowed_inputs_from_other_engines") if has(rules, "allowed_inputs_from_other_engines") else []
        right = right and is_list(entries) and all(map(allowed_engine, entries))
        findings.require(right, "RB9", COUPLING)
        allowed = {allowed_engine(entry) for entry in items(rules, "allowed_inputs_from_other_engines")}
    table = {"engine_code": is_text, "artifact_name": is_text, "sha256": is_digest}

    def read(entries):
        right = is_list(entries) and all(not misfits(entry, table) and len(entry) == 3 for entry in entries)
        return [tuple(entry[name] for name in table) for entry in entries] if right else None

    listed = [] if FROM_ENGINES not in bundle.broken else None
    if FROM_ENGINES in bundle.values:
        listed = read(get(bundle.values[FROM_ENGINES], "artifacts"))
        findings.require(listed is not None, "RB9", FROM_ENGINES)
        if listed is not None:
            findings.require(not findings.form or listed == sorted(listed), "RB12", FROM_ENGINES)
    for name in (INPUT, OUTPUT):
        if listed is not None and has(bundle.values.get(name), "input_artifact_index"):
            findings.require(read(bundle.values[name]["input_artifact_index"]) == listed, "RB9", name)
    for engine, _, _ in listed or ():
        findings.require(allowed is None or engine in allowed, "RB9", FROM_ENGINES)
    for path in bundle.folder.files("upstream/"):
        if path in bundle.digests and listed is not None:
            entry = (path.split("/")[1], path.split("/")[-1], bundle.digests[path])
            findings.require(entry in listed, "RB9", path)


def check_meta(bundle, findings):
    for path in {MANIFEST, META} & bundle.broken:
        findings.add("RB10", path)
    if META not in bundle.values:
        return
    meta, manifest = bundle.values[META], bundle.values.get(MANIFEST)
    claims = (bundle.has_code, bundle.says_recorded, bundle.says_declared)
    findings.require(claims[0] == claims[1] and claims != (True, True, True), "RB10", MANIFEST)
    findings.require(is_object(meta) and not misfits(meta, META_MEMBERS, ("engine_executable_sha256",)), "RB10", META)
    for name in ("engine_code", "engine_version"):
        stated = get(meta, name) if is_filled(get(meta, name)) else None
        of_output = text(bundle.values.get(OUTPUT), "engine", name)
        if MANIFEST in bundle.values:
            findings.require(is_filled(get(manifest, name)), "RB10", MANIFEST)
            if is_filled(get(manifest, name)) and stated is not None:
                findings.require(manifest[name] == stated, "RB10", MANIFEST)
        known = stated if stated is not None else text(manifest, name)
        if of_output is not None and known is not None:
            findings.require(of_output == known, "RB10", OUTPUT)


def lists_of(bundle):
    """(document, list, folder or place of its bytes, entries) for everything that a run lists."""
    found = [(ENVIRONMENT, "engine_files", "engine/", items(bundle.values.get(ENVIRONMENT), "engine_files"))]
    if bundle.is_recorded:
        given, left = bundle.values.get(INPUT), bundle.values.get(OUTPUT)
        sealed = [file for file in items(bundle.values.get(ENVIRONMENT), "files") if has(file, "stored")]
        found += [(ENVIRONMENT, "files", "environment/", sealed)]
        found += [(INPUT, "files", "engine/", items(given, "files")), (INPUT, "inputs", "inputs/", items(given, "inputs")),
                  (OUTPUT, "outputs", "artifacts/", items(left, "outputs"))]
        for document, root, name, place in ((ENVIRONMENT, get(bundle.values.get(ENVIRONMENT), "terminal"), "recording",
                                             "logs/terminal.cast"),
                                            (INPUT, given, "stdin", "stdin.bin"), (INPUT, given, "model_io", "model_io.json"),
                                            (OUTPUT, left, "stdout", "logs/stdout.txt"), (OUTPUT, left, "stderr", "logs/stderr.txt")):
            if get(root, name) is not None:
                found.append((document, name, place, [root[name]]))
    return found


def missing_lists(bundle):
    """The folders and files of lists that are required and missing, or mistyped: nothing is compared with those."""
    root = bundle.values.get(ENVIRONMENT)
    mistyped = has(root, "engine_files") and not is_list(root["engine_files"])
    found = ["engine/"] if ENVIRONMENT in bundle.broken or mistyped else []
    if bundle.is_recorded:
        if has(root, "terminal") and not is_object(root["terminal"]):
            found += ["logs/terminal.cast"]
        if not is_list(get(bundle.values.get(ENVIRONMENT), "files")):
            found += ["environment/"]
        given, left = bundle.values.get(INPUT), bundle.values.get(OUTPUT)
        for root, name, place in ((given, "files", "engine/"), (given, "inputs", "inputs/"), (left, "outputs", "artifacts/")):
            found += [] if is_list(get(root, name)) else [place]
        for root, name, place in ((given, "stdin", "stdin.bin"), (left, "stdout", "logs/stdout.txt"),
                                  (left, "stderr", "logs/stderr.txt")):
            found += [] if has(root, name) else [place]
    return found


def belongs(path, stored, home, others=()):
    """Whether a listed path is one of a file, and `stored` the place of its bytes."""
    if not home.endswith("/"):
        return stored == home
    place = None if stored is None else place_of(stored)
    if home == "environment/":
        return path.startswith("/") and is_safe_path(path[1:]) and (place == home + path[1:] or place in others)
    if home != "inputs/":
        return is_safe_path(path) and (stored is None or place == home + path)
    if any(part in ("", ".", "..") for part in path.removeprefix("/").split("/")):
        return False
    if stored is None or not place.startswith(home):
        return stored is None
    end = place.removeprefix(home)
    ends = [end] + ([end.split("/", 1)[1]] if re.fullmatch(r"\+?[0-9]+", end.split("/")[0]) and "/" in end else [])
    return any(path == one or path.endswith("/" + one) for one in ends)


def check_lists(bundle, findings):
    """RB13."""
    named, missing = set(), missing_lists(bundle)
    for document, name, home, listed in lists_of(bundle):
        has_place = lambda entry: document != OUTPUT or has(entry, "stored")  # RB18 asks for it there
        entries, seen = [entry for entry in listed if is_listed(entry) and has_place(entry)], set()
        missing += [] if entries == listed else [home]
        for entry in entries:
            path, stored = entry["path"], text(entry, "stored")
            # Of files outside the folder, those with the same bytes share one place.
            others = [home + other["path"][1:] for other in entries
                      if other["path"].startswith("/") and other["sha256"] == entry["sha256"]]
            open_place = home == "environment/" and entries != listed and stored is not None and place_of(stored).startswith(home)
            right = belongs(path, stored, home, [place_of(stored)] if open_place else others)
            findings.require(path not in seen and right, "RB13", document)
            seen.add(path)
            if stored is not None:
                named.add(stored)
                data = bundle.folder.read(stored)
                right = data is not None and stored not in bundle.broken and bundle.digests[stored] == entry["sha256"]
                if right and (stored not in bundle.values or bundle.is_canonical(stored)):
                    right = len(data) == entry["bytes"].integer
                findings.require(right, "RB13", stored)
    for path in bundle.folder.files():
        twin, exact = exact_of(path), f"exact/{path}.bytes"
        if not bundle.is_listed_place(path) or place_of(path).startswith(tuple(missing)):
            continue
        if path in named:
            findings.require(twin is None or bundle.folder.is_file(twin), "RB13", path)
        elif exact in named and path.endswith(".json"):
            data = bundle.folder.read(exact)
            try:
                right = data is None or bundle.digests.get(path) == sha256(canonical(parse(data), "jcs").encode())
            except (NotJson, NoForm):
                right = path not in bundle.digests
            findings.require(right, "RB13", path)
        else:
            findings.add("RB13", path)


class Bodies:
    """The large bodies of model_io.json."""

    def __init__(self, folder):
        self.folder = folder

    def read(self, name):
        return self.folder.read(f"model_io.bodies/{name}")


def check_models(bundle, findings):
    """RB14."""
    given, paths = bundle.values.get(INPUT), bundle.folder.files("model_io.bodies/")
    is_there = bundle.folder.is_file("model_io.json")
    if not bundle.is_recorded or not (has(given, "model_io") or is_there or paths):
        return
    recording = bundle.values.get("model_io.json")
    if "model_io.json" not in bundle.values:
        findings.add("RB14", "model_io.json")
        return
    findings.require(INPUT not in bundle.values or has(given, "model_io"), "RB14", "model_io.json")
    found = model_io.verify(recording, INTEGRITY, Bodies(bundle.folder)).found
    findings.require(not found, "RB14", "model_io.json")
    parts = [get(call, part) for call in items(recording, "interactions") for part in ("request", "response")]
    named = {f"model_io.bodies/{body[0]}" for body in map(model_io.body_file, parts) if body}
    for path in paths:
        findings.require(path in named, "RB14", path)


def check_agreement(bundle, findings):
    """RB15."""
    manifest, given, left = (bundle.values.get(name) for name in (MANIFEST, INPUT, OUTPUT))
    environment = bundle.values.get(ENVIRONMENT)
    require = lambda holds, path: findings.require(holds, "RB15", path)
    if bundle.is_recorded:
        if is_texts(get(given, "argv")) and MANIFEST in bundle.values:
            require(form(get(manifest, "execution", "command")) == form(given["argv"]), MANIFEST)
        if OUTPUT in bundle.values:
            check_ending(left, require)
        if is_object(get(given, "environment")) and is_object(get(given, "parameters")):
            named = {name[len(PREFIX):]: value for name, value in given["environment"].items() if name.startswith(PREFIX)}
            right = set(named) <= set(given["parameters"]) and all_had(given["parameters"], named)
            require(right, INPUT)
        if ENVIRONMENT in bundle.values:
            check_machine_of_command(given, environment, require)
    elif bundle.is_declared:
        check_declared(given, left, environment, bundle, require)
    paths = [text(file, "path") for file in items(environment, "files")]
    require(len([path for path in paths if path]) == len({path for path in paths if path}), ENVIRONMENT)
    stated = get(bundle.values.get(META), "engine_executable_sha256")
    if is_digest(stated) and environment is not None:
        possible = executable_hashes(bundle)
        require(possible is None or stated in possible, META)
    names = set(bundle.values) | bundle.broken
    if "REDACTION.json" not in bundle.broken and "REDACTION_SALT.json" not in bundle.broken:
        files = [(path, None if path.endswith(".json") or exact_of(path) else len(bundle.folder.read(path)))
                 for path in bundle.folder.files()]
        if "REDACTION.json" in names:
            salt = get(bundle.values.get("REDACTION_SALT.json"), "salt")
            require(is_sound(bundle.values["REDACTION.json"], salt, "run-bundle", files), "REDACTION.json")
        elif "REDACTION_SALT.json" in names:
            require(False, "REDACTION_SALT.json")


def all_had(given, had):
    """Whether each text that was given is there under its name; what is no text is not compared."""
    return all(name in had and (had[name] == value or not is_text(had[name])) for name, value in given.items() if is_text(value))


def check_ending(left, require):
    status, signal, interrupted = (get(left, name) for name in ("exit_status", "signal", "interrupted"))
    if not (has(left, "exit_status") and has(left, "signal") and all(map(or_null(is_integer), (status, signal, interrupted)))):
        return
    if (status is None) == (signal is None):
        require(False, OUTPUT)
    elif is_flag(get(left, "failed")):
        ended_well = status is not None and status.value == 0 and interrupted is None
        require(left["failed"] != ended_well, OUTPUT)


def check_machine_of_command(given, environment, require):
    had = get(environment, "variables")
    if is_object(had):
        require(not is_object(get(given, "environment")) or all_had(given["environment"], had), ENVIRONMENT)
        for member, variable in (("locale", "LC_ALL"), ("timezone", "TZ")):
            if text(environment, member) is not None and is_text(had.get(variable, "")):
                require(environment[member] == had.get(variable, ""), ENVIRONMENT)
    gaps = get(environment, "observation", "gaps")
    if is_list(gaps) and all(text(gap, "kind") is not None for gap in gaps):
        kinds = {gap["kind"] for gap in gaps}
        weaker = text(environment, "sandbox", "level") not in (None, "namespaces")
        require("never-seen" in kinds and (not weaker or "sandbox" in kinds), ENVIRONMENT)


def check_declared(given, left, environment, bundle, require):
    told = lambda files: {(file["path"], file["sha256"], file["bytes"].integer) for file in files}
    if OUTPUT in bundle.values:  # no other rule asks for these
        require(get(left, "declared") is True and get(left, "failed") is (get(left, "error") is not None), OUTPUT)
    require(text(environment, "observation", "level") in (None, "declared"), ENVIRONMENT)
    if INPUT in bundle.values:
        files, stored = whole_list(get(given, "files")), whole_list(get(environment, "engine_files"))
        require(files is not None and (stored is None or told(files) == told(stored)), INPUT)


def whole_list(found):
    """The list, if each of its entries is there."""
    return found if is_list(found) and all(map(is_listed, found)) else None


def executable_hashes(bundle):
    """The possible engine_executable_sha256; None if the bundle does not list every file that it may be over."""
    environment, given = bundle.values[ENVIRONMENT], bundle.values.get(INPUT)
    command = get(given, "argv") if bundle.is_recorded else get(bundle.values.get(MANIFEST), "execution", "command")
    lists = [get(given, "files"), get(given, "inputs")] if bundle.is_recorded else [
        environment["engine_files"] if has(environment, "engine_files") else []]
    if not is_texts(command) or any(whole_list(found) is None for found in lists):
        return None
    own = {file["path"]: file["sha256"] for found in lists for file in found}
    lines, on_path = set(), None
    for at, element in enumerate(command):
        path, is_bare = element.removeprefix("./"), at == 0 and "/" not in element
        if is_safe_path(path) and path in own and not (is_bare and bundle.is_recorded):
            lines.add(f"{own[path]}  {path}\n")
        elif is_bare:
            machine, program = get(environment, "files"), text(environment, "program") if has(environment, "program") else ""
            if not is_list(machine) or not all(is_digest(get(file, "sha256")) for file in machine):
                return None
            if get(environment, "observation", "level") != "observed" or program is None or program.startswith(("/tmp/", "/dev/", "/proc/")):
                return None
            on_path = {f"{digest}  {element}\n" for digest in [file["sha256"] for file in machine] + list(own.values())}
        elif bundle.is_recorded and is_safe_path(path) and not re.search(r"""^-|[\s"'`$&|;<>(){}*?]""", path):
            return None
    hash_of = lambda found: sha256("".join(sorted(found)).encode())
    return {hash_of(lines)} | {hash_of(lines | {line}) for line in on_path or ()}


def check_environment(bundle, findings):
    """RB16."""
    if ENVIRONMENT not in bundle.values:
        return
    root = bundle.values[ENVIRONMENT]
    holders = [("", root), ("sandbox", get(root, "sandbox")), ("observation", get(root, "observation"))]
    holders += [(name, root[name]) for name in ("streams", "terminal", "git", "usage") if is_object(get(root, name))]
    holders += [("recording", get(root, "terminal", "recording"))] if is_object(get(root, "terminal", "recording")) else []
    for name in ("files", "engine_files", "present", "listed", "links", "attributes", "packages"):
        holders += [(name, item) for item in items(root, name)]
    right = is_object(root)
    for name, holder in holders:
        members, optional = SHAPES[name]
        right = right and not misfits(holder, members, optional)
    right = right and not any(misfits(gap, {"kind": is_text, "detail": is_text}) for gap in items(root, "observation", "gaps"))
    for listed in items(root, "listed"):
        right = right and not any(misfits(one, FOLDER_ENTRY, ("bytes", "folder", "executable")) for one in items(listed, "entries"))
    findings.require(right, "RB16", ENVIRONMENT)


def check_recorded(bundle, findings):
    """RB18."""
    for name, members, optional in ((INPUT, RECORDED_INPUT, ("model_io", "keep", "ignore", "compare", "fixed_time")),
                                    (OUTPUT, RECORDED_OUTPUT, ("not_kept", "interrupted", "links"))):
        if bundle.is_recorded and name in bundle.values:
            value = bundle.values[name]
            right = is_object(value) and not misfits(value, members, optional) and set(value) <= set(members)
            findings.require(right, "RB18", name)


def check_rest(bundle, findings):
    for path, value in bundle.values.items():
        findings.require(bundle.is_canonical(path) or not changes_integer(value), "RB17", path)
    root = os.path.normpath(bundle.folder.root)
    run_id = get(bundle.values.get(META), "run_id")
    if os.path.basename(os.path.dirname(root)) == "RUN_BUNDLE" and is_filled(run_id):
        findings.require(os.path.basename(root) == run_id, "RB21", META)
