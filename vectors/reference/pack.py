"""Packs (docs/formats/pack.md)."""

import context_bundle
import evidence
import model_io
import proposal
from canonical import NotJson, canonical_hash, content_hash, derive_id, form, has_surrogate, parse, sha256
from folder import FILE, LINK
from redaction import member_is_sound
from run_record import LIMITS, POLICY, verify_policy, verify_run, verify_runner
from shape import *

NAMES = ("bundle.json", "evidence.json", "ledger.jsonl", "meta.json", "model_io.json", "patch.json", "policy.json",
         "run.json", "runner.json")
FORBIDDEN = {"CLARIFY": ("patch.json", "evidence.json"), "REFUSE": ("bundle.json", "patch.json", "evidence.json")}
EVIDENCE = {"proposal_id": is_text, "proposal_hash": is_hash, "action_results": is_list, "test_results": is_list,
            "status": is_text}
LINE = dict.fromkeys(("run_id", "timestamp", "intent_sha256", "result_kind", "mode", "policy"), is_text) | {"accepted": is_flag}
APPROVED = "accept: approved by the caller"
PRINTED = 64 << 20
FILE_OPS = ("create", "modify", "delete")


class Pack:
    """The documents of a pack."""

    def __init__(self, folder):
        self.folder, self.values, self.broken = folder, {}, set()
        for name in NAMES:
            data = folder.read(name)
            if data is not None and name != "ledger.jsonl":
                try:
                    self.values[name] = parse(data)
                except NotJson:
                    self.broken.add(name)
        self.ledger = evidence.ledger_lines(folder.read("ledger.jsonl") or b"")
        self.run = self.values.get("run.json")
        self.lists_files = has(self.run, "files") or has(self.run, "self_hash")

    def __getitem__(self, name):
        return self.values.get(name)


def verify(folder, level, path=""):
    findings, pack = Findings(level), Pack(folder)
    check_structure(pack, path, findings)
    for name in pack.broken:
        findings.add({"run.json": "PK3", "bundle.json": "PK4"}.get(name, "PK8"), name)
    if "run.json" in pack.values:
        verify_run(pack.run, findings)
    if "bundle.json" in pack.values:
        findings.require(not context_bundle.verify(pack["bundle.json"], level).found, "PK4", "bundle.json")
    stated = get(pack.run, "bundle", "sha256")
    if folder.is_file("bundle.json") and is_text(stated):
        digest = canonical_hash(pack["bundle.json"]) if "bundle.json" in pack.values else None
        findings.require(digest is not None and stated == "sha256:" + digest, "PK5", "bundle.json")
    check_optional(pack, level, findings)
    for _, _, entry in pack.ledger:
        findings.require(not misfits(entry, LINE), "PK9", "ledger.jsonl")
    if findings.integrity:
        if "policy.json" in pack.values:
            verify_policy(pack["policy.json"], findings)
        check_embedded(pack, folder, findings)
        if "run.json" in pack.values:
            check_cover(pack, folder, findings)
            check_agreement(pack, findings)
            if pack.lists_files or findings.form:
                check_repetitions(pack, folder, findings)
        if is_object(get(pack["evidence.json"], "contents")) and "run.json" in pack.values:
            check_included(pack, findings)
        if has(pack["evidence.json"], "proposal"):
            check_proposal(pack, level, findings)
    if findings.form and folder.is_file("run.json") and "run.json" in pack.values:
        stored = folder.read("run.json").removesuffix(b"\n")
        findings.require(stored == (form(pack.run) or "").encode("utf-8", "surrogatepass"), "RS7", "run.json")
    return findings


def check_structure(pack, path, findings):
    kind, entries = get(pack.run, "kernel_result_kind"), pack.folder.entries
    for name in ("run.json", "bundle.json"):
        if name == "run.json" or kind != "REFUSE":
            findings.require(entries.get(name) == FILE, "PK1", name)
    inner = path.removeprefix("./").removesuffix("/")
    segments = inner.removeprefix("/").split("/")
    is_plain = "//" not in path and (inner in ("", ".") or not {"", ".", ".."} & set(segments))
    findings.require(is_plain, "PK7", path)
    forbidden = FORBIDDEN.get(kind, ()) if is_text(kind) else ()
    for name, found in entries.items():
        if "/" in name:
            continue
        findings.require(name in NAMES and name not in forbidden, "PK2", name)
        findings.require("\\" not in name, "PK7", name)
        findings.require(found != LINK, "PK6", name)
        findings.require(found in (FILE, LINK), "PK12", name)


def check_optional(pack, level, findings):
    """PK8."""
    checks = {
        "patch.json": lambda value: not proposal.verify_patch(value, level).found and is_hash(get(value, "source_proposal_hash")),
        "evidence.json": lambda value: not misfits(value, EVIDENCE),
        "policy.json": lambda value: not misfits(value, POLICY) and (
            not is_object(get(pack.run, "policy")) or form(value) is not None and form(value) == form(pack.run["policy"])),
        "model_io.json": lambda value: not model_io.verify(value, level).found,
        "runner.json": lambda value: not verify_runner(value, level).found,
    }
    for name, holds in checks.items():
        findings.require(name not in pack.values or holds(pack[name]), "PK8", name)


def check_embedded(pack, folder, findings):
    """EV1-EV7 and LD1-LD4, at the file."""
    if "evidence.json" in pack.values:
        stated = get(pack["patch.json"], "source_proposal_hash")
        for rule, place in evidence.verify(pack["evidence.json"], FORM, stated if is_hash(stated) else None).found:
            part = {"$.action_results": "EV2", "$.test_results": "EV3"}
            findings.add(part.get(place, "EV1") if rule == "SCHEMA" else rule, "evidence.json")
    if folder.is_file("ledger.jsonl"):
        for rule, _ in evidence.verify_ledger(folder.read("ledger.jsonl"), DOCUMENT).found:
            findings.add(rule, "ledger.jsonl")


def check_cover(pack, folder, findings):
    """PK14."""
    names = [name for name in NAMES if folder.is_file(name) and name != "meta.json"]
    if has(pack.run, "redaction"):
        files = [(name, len(folder.read(name))) for name in names]
        findings.require(member_is_sound(pack.run["redaction"], "pack", files), "PK14", "run.json")
    if not pack.lists_files:
        return
    digest = canonical_hash({name: value for name, value in pack.run.items() if name != "self_hash"})
    findings.require(digest is not None and get(pack.run, "self_hash") == "sha256:" + digest, "PK14", "run.json")
    listed = get(pack.run, "files")
    findings.require(is_object(listed), "PK14", "run.json")
    for name, stated in listed.items() if is_object(listed) else ():
        if name in names and name != "run.json":
            findings.require(stated == content_hash(folder.read(name)), "PK14", name)
        else:
            findings.add("PK14", "run.json")
    for name in names if is_object(listed) else ():
        findings.require(name == "run.json" or name in listed, "PK14", name)


def same(one, other):
    return form(one) == form(other)


def check_agreement(pack, findings):
    """PK13. A comparison is made where both sides are there."""
    def require(holds, path):
        findings.require(holds, "PK13", path)

    def agree(one, other, path):
        require(one is None or other is None or same(one, other), path)

    run, bundle, patch, done = pack.run, pack["bundle.json"], pack["patch.json"], pack["evidence.json"]
    agree(text(run, "kernel_version"), text(bundle, "kernel_version"), "run.json")
    agree(text(run, "bundle", "bundle_id"), text(bundle, "id"), "run.json")
    asked, open_ones = get(run, "clarify_questions"), get(bundle, "unresolved_questions")
    if pack.lists_files and is_texts(asked) and is_list(open_ones):
        require(len(asked) == len(open_ones), "run.json")
    check_ledger(pack, run, require)
    for there, here in (("source_proposal_id", "proposal_id"), ("source_proposal_hash", "proposal_hash")):
        agree(text(patch, there), text(done, here), "evidence.json")
    if "evidence.json" in pack.values:
        check_decision(run, done, require)
        check_results(run, patch, done, require)
    if "runner.json" in pack.values:
        check_runner(run, pack["runner.json"], require)
    require("model_io.json" not in pack.values or get(run, "model_mode") != "none", "model_io.json")


def check_ledger(pack, run, require):
    if not pack.folder.is_file("ledger.jsonl") or text(run, "run_id") is None:
        return
    entries = [entry for _, _, entry in pack.ledger]
    found = [entry for entry in entries if text(entry, "run_id") == run["run_id"]]
    if not found:
        require(any(text(entry, "run_id") is None for entry in entries), "ledger.jsonl")
        return
    for name, names, fits in (("timestamp", ("completed_at",), is_text), ("intent_sha256", ("intent", "sha256"), is_text),
                              ("result_kind", ("kernel_result_kind",), is_text), ("accepted", ("decision", "accepted"), is_flag),
                              ("mode", ("model_mode",), is_text), ("policy", ("policy", "name"), is_text)):
        if fits(found[0].get(name)) and fits(get(run, *names)):
            require(found[0][name] == get(run, *names), "ledger.jsonl")
    stated, bundle = found[0].get("bundle_sha256"), get(run, "bundle")
    if "bundle_sha256" in found[0] and or_null(is_text)(stated) and has(run, "bundle"):
        if bundle is None or is_text(get(bundle, "sha256")):
            require(stated == get(bundle, "sha256"), "ledger.jsonl")


def check_decision(run, done, require):
    accepted, code = get(run, "decision", "accepted") is True, number(run, "execution", "exit_code")
    failures = skipped = unknown = False
    for name in ("action_results", "test_results"):
        for result in items(done, name):
            if not evidence.is_required(result):
                continue
            if name == "action_results":
                status = text(result, "status")
                skipped = skipped or status == "skipped"
                failed = status not in ("success", "skipped")
                failed = failed or text(result, "action") == "execute" and number(result, "exit_code") not in (None, 0)
                is_told = status is not None and or_null(is_number)(get(result, "exit_code"))
            else:
                failed, is_told = get(result, "passed") is False, is_flag(get(result, "passed"))
            if not is_told:
                unknown = True
                continue
            failures = failures or failed
            require(not failed or not accepted and code != 0, "evidence.json")
    if is_list(get(done, "action_results")) and is_list(get(done, "test_results")) and code is not None:
        require(code == 0 or failures or skipped or unknown, "run.json")


def check_results(run, patch, done, require):
    execution = get(run, "execution")
    operations = {one["path"]: one for one in items(patch, "operations") if text(one, "path") is not None}
    listed = items(execution, "outputs")
    outputs = {one["path"]: text(one, "sha256") for one in listed if text(one, "path") is not None}
    is_whole = is_list(get(execution, "outputs")) and all(
        text(one, "path") is not None and text(one, "sha256") is not None for one in listed)
    check_commands(execution, get(done, "proposal"), require)
    results = items(done, "action_results")
    ran = any(text(result, "action") in (None, "execute") for result in results)
    for result in results:
        path, action, stated = text(result, "path"), text(result, "action"), text(result, "sha256")
        if path is None or action is None:
            continue
        if action == "execute" and number(result, "exit_code") is not None and is_texts(get(execution, "cmd")):
            require(path in execution["cmd"], "evidence.json")
        if action in FILE_OPS and path in operations:
            check_operation(result, operations[path], require)
        if action in FILE_OPS and not ran and stated is not None and (is_whole or has(run, "execution") and execution is None):
            require(outputs.get(path) == stated, "evidence.json")


def check_commands(execution, planned, require):
    if not is_object(execution) or not is_list(get(planned, "actions")) or not is_list(get(planned, "acceptance_tests")):
        return
    commands = set()
    for name, kind in (("actions", "execute_command"), ("acceptance_tests", "command_success")):
        for one in planned[name]:
            if text(one, "type") is None or one["type"] == kind and text(one, "target") is None:
                return
            commands |= {one["target"]} if one["type"] == kind else set()
    for command in items(execution, "cmd"):
        require(not is_text(command) or command in commands, "run.json")


def check_operation(result, operation, require):
    op, content = text(operation, "op"), text(operation, "content")
    if op is None:
        return
    if op != result["action"]:
        require(False, "evidence.json")
        return
    content = None if content is None or has_surrogate(content) else content
    if content is not None and text(result, "sha256") is not None:
        require(result["sha256"] == content_hash(content.encode()), "evidence.json")
    kind = {"create": "create_file", "modify": "modify_file"}.get(op, "delete_file")
    require(kind != "delete_file" and content is None or id_is_derived(result, kind, content), "evidence.json")


def id_is_derived(result, kind, content=None):
    """Whether an action id, if it is of the derived form, is the one of this action."""
    name = text(result, "action_id")
    action = {"target": result["path"], "type": kind} | ({} if content is None else {"content": content})
    return name is None or not proposal.re.fullmatch("act_[0-9a-f]{16}", name) or name == derive_id("act_", action)


def check_runner(run, runner, require):
    code, ended, sandbox = get(run, "execution", "exit_code"), get(runner, "exit"), get(runner, "sandbox")
    if is_number(code) and is_number(get(ended, "code")):
        require(same(code, ended["code"]), "runner.json")
    killed = any(get(ended, name) is True for name in ("timeout_killed", "oom_killed"))
    require(not killed or number(ended, "code") != 0, "runner.json")
    is_open = get(sandbox, "network_blocked") is False and text(sandbox, "isolation_level") not in (None, "none")
    require(not is_open or get(run, "policy", "allow_network") is not False, "runner.json")
    allowed = get(run, "policy", "allowed_write_roots")
    for root in items(runner, "write_roots"):
        require(not is_texts(allowed) or not allowed or not is_text(root) or root in allowed, "runner.json")


def check_repetitions(pack, folder, findings):
    """PK15."""
    def require(holds, path):
        findings.require(holds, "PK15", path)

    run, done, runner, patch = pack.run, pack["evidence.json"], pack["runner.json"], pack["patch.json"]
    require(not folder.is_file("ledger.jsonl") or len(pack.ledger) == 1, "ledger.jsonl")
    if is_list(get(patch, "operations")) and is_list(get(done, "action_results")):
        wanted, found = file_steps(patch["operations"], "op"), file_steps(done["action_results"], "action")
        if wanted is not None and found is not None:
            require(wanted == found, "evidence.json")
    for name in ("started_at", "completed_at"):
        stated = text(run, name)
        for holder, path, asked in ((done, "evidence.json", pack.lists_files), (get(runner, "timing"), "runner.json", True)):
            if asked and path in pack.values and stated is not None:
                require(text(holder, name) is None and path == "runner.json" or text(holder, name) == stated, path)
    for name in LIMITS:
        here, there = get(runner, "limits", name), get(run, "policy", name)
        require(not is_number(here) or not is_number(there) or same(here, there), "runner.json")
    if not pack.lists_files:
        return
    for here, name in ((get(runner, "commands", "allowlist"), "allowed_commands"), (get(runner, "write_roots"), "allowed_write_roots")):
        there = get(run, "policy", name)
        require(not is_texts(here) or not is_texts(there) or sorted(here) == sorted(there), "runner.json")
    check_execution(run, done, require)
    decision = get(run, "decision")
    said = {word for word in ("accept:", "review:", "reject:") for reason in items(decision, "reasons")
            if is_text(reason) and reason.startswith(word)}
    if said and is_texts(get(decision, "reasons")) and is_flag(get(decision, "accepted")):
        require(decision["accepted"] == (said == {"accept:"}), "run.json")


def file_steps(steps, name):
    """The steps that create, modify or delete a file, sorted; None if one may be such a step of an unknown file."""
    found = []
    for step in steps:
        if text(step, name) is None or step[name] in FILE_OPS and text(step, "path") is None:
            return None
        if step[name] in FILE_OPS:
            found.append((step["path"], step[name]))
    return sorted(found)


def check_execution(run, done, require):
    execution = get(run, "execution")
    if not is_object(execution) or done is None:
        return
    results, tests = get(done, "action_results"), get(done, "test_results")
    if is_list(results) and is_list(tests) and is_list(execution.get("cmd")):
        codes = [get(one, "exit_code") for one in results + tests]
        if all(map(is_object, results + tests)) and all(map(or_null(is_number), codes)):
            require(len(execution["cmd"]) == sum(code is not None for code in codes), "run.json")
    for result in items(done, "action_results"):
        if text(result, "action") == "execute" and text(result, "path") is not None:
            require(id_is_derived(result, "execute_command"), "evidence.json")
    policy, digest, stated = text(run, "policy", "name"), text(done, "proposal_hash"), text(execution, "sandbox_id")
    if None not in (policy, digest, stated):
        require(stated == derive_id("sandbox_", {"policy": policy, "proposal_hash": digest}), "run.json")


def check_included(pack, findings):
    """PK16."""
    done, execution = pack["evidence.json"], get(pack.run, "execution")
    contents, named = done["contents"], set()
    patch = pack["patch.json"]
    is_known = patch is None or is_list(get(patch, "operations")) and all(map(content_is_known, patch["operations"]))
    outputs = get(execution, "outputs")
    is_executed = not has(pack.run, "execution") or execution is not None
    lists_all = all(is_list(get(done, name)) for name in ("action_results", "test_results")) and (
        not is_executed or is_list(outputs) and all(text(output, "sha256") is not None for output in outputs))
    hashes = ("stdout_sha256", "stderr_sha256")
    asked = lambda result: ("sha256",) if text(result, "action") in ("create", "modify") else hashes
    is_told = lambda result, names: all(or_null(is_text)(get(result, name)) for name in names)
    lists_all = lists_all and all(text(one, "action") is not None and is_told(one, asked(one)) for one in items(done, "action_results"))
    lists_all = lists_all and all(is_told(one, hashes) for one in items(done, "test_results"))
    written = {content_hash(one["content"].encode()) for one in items(pack["patch.json"], "operations")
               if text(one, "content") is not None and not has_surrogate(one["content"])}

    def ask(value, name, path):
        stated = text(value, name)
        if stated is not None:
            findings.require(has(contents, stated) or stated in written or not is_known, "PK16", path)
            named.add(stated)

    for result in items(done, "action_results"):
        for name in asked(result):
            ask(result, name, "evidence.json")
    for result in items(done, "test_results"):
        for name in hashes:
            ask(result, name, "evidence.json")
    for output in items(execution, "outputs"):
        ask(output, "sha256", "run.json")
    for name in contents:
        findings.require(name in named or not lists_all, "PK16", "evidence.json")
    if not all(is_list(get(done, name)) for name in ("action_results", "test_results")):
        return
    for name in hashes:
        if not all(is_told(one, (name,)) for one in items(done, "action_results") + items(done, "test_results")):
            continue
        parts = [evidence.decode(get(contents, one[name])) for one in items(done, "action_results") + items(done, "test_results")
                 if text(one, name) is not None]
        if text(execution, name) is not None and None not in parts and sum(map(len, parts)) <= PRINTED:
            findings.require(execution[name] == content_hash(b"".join(parts)), "PK16", "run.json")


def content_is_known(operation):
    """Whether an operation says what it writes, if anything."""
    if has(operation, "content"):
        return text(operation, "content") is not None and not has_surrogate(operation["content"])
    return text(operation, "op") == "delete"


def check_proposal(pack, level, findings):
    """PK17."""
    planned, bundle, run = pack["evidence.json"]["proposal"], pack["bundle.json"], pack.run
    digest, source = canonical_hash(bundle) if bundle is not None else None, None
    if text(bundle, "id") is not None and digest is not None:
        source = (bundle["id"], "sha256:" + digest)
    right = not proposal.verify(planned, level, source).found
    if is_text(get(planned, "id")) and is_text(pack["evidence.json"].get("proposal_id")):
        right = right and planned["id"] == pack["evidence.json"]["proposal_id"]
    findings.require(right, "PK17", "evidence.json")
    if is_list(get(planned, "actions")) and is_list(get(pack["patch.json"], "operations")):
        wanted = written_files(planned["actions"], "type", "target")
        found = written_files(pack["patch.json"]["operations"], "op", "path")
        findings.require(wanted is None or found is None or wanted == found, "PK17", "patch.json")
    reasons = get(run, "decision", "reasons")
    approved = not is_texts(reasons) or APPROVED in reasons
    if pack.lists_files and get(planned, "requires_approval") is True and get(run, "decision", "accepted") is True:
        findings.require(approved, "PK17", "run.json")


def written_files(steps, name, path):
    """(word, path, content) of each step with a file; None if one may be such a step of an unknown file."""
    words = {"create": "create", "modify": "modify", "delete": "delete"} | evidence.WORDS
    found = set()
    for step in steps:
        if text(step, name) is None:
            return None
        word = words.get(step[name])
        if word in FILE_OPS:
            if text(step, path) is None or has(step, "content") != is_text(get(step, "content")):
                return None
            if word != "delete" and not has(step, "content"):
                return None
            found.add((word, step[path], text(step, "content")))
    return found
