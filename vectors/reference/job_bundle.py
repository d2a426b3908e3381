"""Job bundles (docs/formats/job-bundle.md)."""

import re

from canonical import NoForm, NotJson, canonical, form, has_surrogate, parse, sha256
from folder import FILE, FOLDER, LINK
from redaction import member_is_sound
from shape import *

KEYS = {"READ_SYMBOL": "symbol_id", "READ_SECTION": "section_id"}
KINDS = {"READ_SYMBOL": "SYMBOL_SLICE", "READ_SECTION": "SECTION_SLICE"}
is_whole = lambda value: is_number(value) and value.is_written_as_integer
is_size = lambda value: is_whole(value) and int(value.text) >= 0
is_short_id = lambda value: is_text(value) and re.fullmatch("[0-9a-f]{16}", value) is not None
MANIFEST = {
    "bundle_version": lambda value: is_text(value) and re.fullmatch(r"5\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)", value),
    "bundle_id": is_digest, "run_id": is_text, "job_id": is_text, "message_id": is_text, "plan_hash": is_digest,
    "steps": is_list, "inputs": is_object, "artifacts": is_list, "hashes": is_object, "provenance": is_object,
}
STEP = {
    "step_id": is_text, "ordinal": is_whole, "op": one_of(*KEYS), "refs": is_object, "constraints": is_object,
    "expected_outputs": is_object,
}
ARTIFACT = {
    "artifact_id": is_short_id, "kind": one_of(*KINDS.values()), "ref": is_text, "slice": is_text, "path": is_text,
    "sha256": is_digest, "bytes": is_size,
}
INPUTS = ("symbols", "files", "slices")
FORBIDDEN = ("timestamp", "created_at", "updated_at", "cwd", "os", "locale")
BLANK = " \t\n\r\v\f"


def artifact_id(ref, selection):
    return sha256(f"{ref}_{selection}".encode())[:16]


def root_hash(pairs):
    """Over (artifact_id, sha256), sorted; a single LF where there are none."""
    return sha256("".join(f"{name}:{digest}\n" for name, digest in sorted(pairs)).encode() or b"\n")


def bundle_id(manifest):
    emptied = manifest | {"bundle_id": "", "hashes": manifest["hashes"] | {"root_hash": ""}}
    return sha256(canonical(emptied, "job").encode())


def plan_hash(run_id, steps):
    """Over the steps sorted by (ordinal, step_id), each with its six members alone."""
    ordered = sorted(steps, key=lambda step: (int(step["ordinal"].text), step["step_id"]))
    plan = {"run_id": run_id, "steps": [{name: step[name] for name in STEP} for step in ordered]}
    return sha256(canonical(plan, "job").encode())


def is_slice(selection):
    found = re.fullmatch(r"(?:lines|chars)\[([0-9]+):([0-9]+)\]|(?:head|tail)\(([0-9]+)\)", selection.strip(BLANK))
    if found is None:
        return False
    return int(found[3]) > 0 if found[3] else int(found[1]) < int(found[2])


def step_ref(step):
    return text(step, "refs", KEYS.get(text(step, "op"), ""))


def pair(ref, selection):
    return None if ref is None or selection is None else (ref, selection)


def verify(folder, level):
    findings = Findings(level)
    for path, kind in folder.entries.items():
        if kind == LINK:
            findings.add("JB10", path)
    try:
        data = folder.read("bundle.json")
        manifest = parse(b"" if data is None else data)
    except NotJson:
        findings.add("JB1", "bundle.json")
        return findings
    check_members(manifest, findings)
    if not is_object(manifest):
        findings.require(not findings.form or data == form(manifest, "job").encode() + b"\n", "JB12", "bundle.json")
        if findings.form:
            check_unknown(folder, {}, findings)
        return findings
    check_order(manifest, findings)
    check_files(folder, manifest, findings)
    check_hashes(manifest, findings)
    check_reads(manifest, findings)
    for name in FORBIDDEN:
        findings.require(name not in manifest, "JB10", f"$.{name}")
    if findings.integrity:
        check_derived(manifest, findings)
        if has(manifest.get("provenance"), "redaction"):
            named = [(path, None) for path in folder.entries if re.fullmatch(r"artifacts/[0-9a-f]{16}\.txt", path)]
            sound = member_is_sound(manifest["provenance"]["redaction"], "job-bundle", named + [("bundle.json", None)])
            findings.require(sound, "JB14", "$.provenance.redaction")
    if findings.form:
        findings.require(data == (form(manifest, "job") or "").encode() + b"\n", "JB12", "bundle.json")
        check_unknown(folder, manifest, findings)
        for at, step in enumerate(items(manifest, "steps")):
            selection = text(step, "constraints", "slice")
            findings.require(selection is None or is_slice(selection), "JB15", f"$.steps[{at}].constraints.slice")
        for at, artifact in enumerate(items(manifest, "artifacts")):
            selection = text(artifact, "slice")
            findings.require(selection is None or is_slice(selection), "JB15", f"$.artifacts[{at}].slice")
    return findings


def check_members(manifest, findings):
    def members(value, place, table):
        if is_object(value):
            for name in misfits(value, table):
                findings.add("JB2", f"{place}.{name}")
        else:
            findings.add("JB2", place)

    members(manifest, "$", MANIFEST)
    for at, step in enumerate(items(manifest, "steps")):
        place, op = f"$.steps[{at}]", text(step, "op")
        members(step, place, STEP)
        if op in KEYS and is_object(step.get("refs")):
            members(step["refs"], f"{place}.refs", {KEYS[op]: is_text})
        if is_object(get(step, "constraints")):
            members(step["constraints"], f"{place}.constraints", {"slice": is_text})
    if is_object(get(manifest, "inputs")):
        members(manifest["inputs"], "$.inputs", dict.fromkeys(INPUTS, is_list))
    for name in INPUTS:
        for at, item in enumerate(items(manifest, "inputs", name)):
            findings.require(is_text(item), "JB2", f"$.inputs.{name}[{at}]")
    for at, artifact in enumerate(items(manifest, "artifacts")):
        members(artifact, f"$.artifacts[{at}]", ARTIFACT)
    if is_object(get(manifest, "hashes")):
        members(manifest["hashes"], "$.hashes", {"root_hash": is_digest})


def check_order(manifest, findings):
    def key_of_step(step):
        ordered = is_whole(get(step, "ordinal")) and text(step, "step_id") is not None
        return (int(step["ordinal"].text), step["step_id"]) if ordered else None

    itself = lambda item: item if is_text(item) else None
    orders = [("steps", items(manifest, "steps"), key_of_step)]
    orders.append(("artifacts", items(manifest, "artifacts"), lambda artifact: text(artifact, "artifact_id")))
    orders += [(f"inputs.{name}", items(manifest, "inputs", name), itself) for name in INPUTS]
    for name, elements, key in orders:
        for at in descents(elements, key, strict=True):
            findings.add("JB3", f"$.{name}[{at}]")


def check_files(folder, manifest, findings):
    for at, artifact in enumerate(items(manifest, "artifacts")):
        path, name = text(artifact, "path"), get(artifact, "artifact_id")
        if path is None or not is_short_id(name):
            continue
        if path != f"artifacts/{name}.txt":
            findings.add("JB10", f"$.artifacts[{at}].path")
            continue
        if LINK in (folder.entries.get("artifacts"), folder.entries.get(path)):
            continue  # JB10 alone
        content = folder.read(path)
        if content is None:
            findings.add("JB4", path)
            continue
        findings.require(not is_digest(artifact.get("sha256")) or artifact["sha256"] == sha256(content), "JB4", path)
        try:
            content.decode()
        except UnicodeDecodeError:
            findings.add("JB4", path)
        findings.require(not is_whole(artifact.get("bytes")) or int(artifact["bytes"].text) == len(content), "JB5", path)
        findings.require(content.endswith(b"\n") and not (findings.form and content.endswith(b"\n\n")), "JB6", path)


def check_hashes(manifest, findings):
    artifacts, root = manifest.get("artifacts"), get(manifest, "hashes", "root_hash")
    if is_list(artifacts) and is_digest(root):
        pairs = [(get(artifact, "artifact_id"), get(artifact, "sha256")) for artifact in artifacts]
        if all(is_short_id(name) and is_digest(digest) for name, digest in pairs):
            findings.require(root == root_hash(pairs), "JB7", "$.hashes.root_hash")
    if is_digest(manifest.get("bundle_id")) and is_digest(root):
        try:
            findings.require(manifest["bundle_id"] == bundle_id(manifest), "JB8", "$.bundle_id")
        except NoForm:
            findings.add("JB8", "$.bundle_id")


def read_pairs(manifest):
    """(ref, slice) of each step and of each artifact, or None: where the list or a part of an element is not there."""
    steps, artifacts = manifest.get("steps"), manifest.get("artifacts")
    of_steps = [pair(step_ref(step), text(step, "constraints", "slice")) for step in steps] if is_list(steps) else None
    of_artifacts = [pair(text(one, "ref"), text(one, "slice")) for one in artifacts] if is_list(artifacts) else None
    return of_steps, of_artifacts


def check_reads(manifest, findings):
    for listed, names in (("steps", ("constraints", "slice")), ("artifacts", ("slice",))):
        for at, element in enumerate(items(manifest, listed)):
            selection = text(element, *names)
            is_bounded = selection is None or selection.strip(BLANK).lower() not in ("", "all")
            findings.require(is_bounded, "JB9", f"$.{listed}[{at}].{'.'.join(names)}")
    of_steps, of_artifacts = read_pairs(manifest)
    for listed, here, there in (("artifacts", of_artifacts, of_steps), ("steps", of_steps, of_artifacts)):
        if here is not None and there is not None and None not in there:
            for at, read in enumerate(here):
                findings.require(read is None or read in there, "JB9", f"$.{listed}[{at}]")


def check_derived(manifest, findings):
    steps, (of_steps, of_artifacts) = manifest.get("steps"), read_pairs(manifest)
    if is_list(steps) and is_digest(manifest.get("plan_hash")) and is_text(manifest.get("run_id")):
        if not any(misfits(step, STEP) for step in steps):
            try:
                findings.require(manifest["plan_hash"] == plan_hash(manifest["run_id"], steps), "JB11", "$.plan_hash")
            except NoForm:
                findings.add("JB11", "$.plan_hash")
    for at, artifact in enumerate(items(manifest, "artifacts")):
        read = of_artifacts[at]
        if read is None:
            continue
        if is_text(artifact.get("artifact_id")):
            derived = not any(map(has_surrogate, read)) and artifact["artifact_id"] == artifact_id(*read)
            findings.require(derived, "JB14", f"$.artifacts[{at}].artifact_id")
        if ARTIFACT["kind"](artifact.get("kind")):
            ops = {text(step, "op") for step, found in zip(items(manifest, "steps"), of_steps or []) if found == read}
            findings.require({KINDS.get(op) for op in ops} <= {artifact["kind"]}, "JB14", f"$.artifacts[{at}].kind")
    if not is_list(steps):
        return
    refs, slices = [step_ref(step) for step in steps], [text(step, "constraints", "slice") for step in steps]
    known = None not in refs
    expected = {
        "symbols": {ref for ref in refs if ref.startswith("@")} if known else None,
        "files": {ref for ref in refs if not ref.startswith("@")} if known else None,
        "slices": set(slices) if None not in slices else None,
    }
    for name, wanted in expected.items():
        found = get(manifest, "inputs", name)
        if wanted is not None and is_texts(found):
            findings.require(found == sorted(wanted), "JB14", f"$.inputs.{name}")


def check_unknown(folder, manifest, findings):
    def unknown(value, place, known):
        for name in value if is_object(value) else ():
            findings.require(name in known, "JB13", f"{place}.{name}")

    unknown(manifest, "$", MANIFEST)
    unknown(manifest.get("inputs"), "$.inputs", INPUTS)
    unknown(manifest.get("hashes"), "$.hashes", ("root_hash",))
    for name, table in (("steps", STEP), ("artifacts", ARTIFACT)):
        for at, element in enumerate(items(manifest, name)):
            unknown(element, f"$.{name}[{at}]", table)
    provenance = manifest.get("provenance")
    findings.require(not is_object(provenance) or set(provenance) <= {"redaction"}, "JB13", "$.provenance")
    names = [text(artifact, "artifact_id") or "" for artifact in items(manifest, "artifacts")]
    lists_all = is_list(manifest.get("artifacts")) and all(re.fullmatch("[0-9a-f]{16}", name) for name in names)
    listed = {f"artifacts/{name}.txt" for name in names}
    for path, kind in folder.entries.items():
        is_artifact = re.fullmatch(r"artifacts/[0-9a-f]{16}\.txt", path)
        known = path == "artifacts" and kind == FOLDER or path == "bundle.json" and kind == FILE
        known = known or is_artifact and (path in listed or not lists_all) and kind not in (LINK, FOLDER)
        findings.require(known or path.startswith("bundle.json/"), "JB13", path)
