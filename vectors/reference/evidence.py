"""Evidence and ledgers (docs/formats/evidence.md, docs/formats/ledger.md)."""

import base64
import binascii

from canonical import NotJson, canonical_hash, content_hash, form, has_surrogate, lossy, parse, utf16
from shape import *

MEMBERS = {
    "proposal_id": is_text, "proposal_hash": is_text, "action_results": is_list, "test_results": is_list,
    "status": is_text,
}
ACTION_RESULT = {
    "action_id": is_filled, "path": is_text, "action": is_text,
    "status": one_of("success", "failure", "skipped", "timeout"),
    "sha256": or_null(is_hash), "exit_code": or_null(is_integer),
}
TEST_RESULT = {
    "test_id": is_filled, "passed": is_flag, "exit_code": or_null(is_integer),
    "stdout_sha256": or_null(is_hash), "stderr_sha256": or_null(is_hash),
}
OPTIONAL = ("sha256", "exit_code", "stdout_sha256", "stderr_sha256")
WORDS = {
    "create_file": "create", "modify_file": "modify", "delete_file": "delete", "execute_command": "execute",
    "validate": "validate", "test": "test",
}


def decode_base64(encoded):
    """The bytes that a text encodes in the one way there is: with padding, and no bits left over."""
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if base64.b64encode(decoded).decode() == encoded else None


def decode(entry):
    """The bytes of an entry of `contents`; None if they cannot be read."""
    if has(entry, "text"):
        content = text(entry, "text")
        return None if content is None or has_surrogate(content) else content.encode()
    encoded = text(entry, "base64")
    return None if encoded is None else decode_base64(encoded)


def is_required(value):
    return get(value, "required") is not False


def core(evidence):
    """What the evidence hash covers."""
    by = lambda *names: lambda result: [utf16(text(result, name) or "") for name in names]
    return {name: evidence[name] for name in ("proposal_id", "proposal_hash", "status")} | {
        "action_results": sorted(evidence["action_results"], key=by("path", "action_id")),
        "test_results": sorted(evidence["test_results"], key=by("test_id")),
    }


def derive_status(evidence):
    """The status that follows from the results; None if one of them lacks its part of it."""
    actions, tests = evidence["action_results"], evidence["test_results"]
    whole = all(text(one, "status") is not None and or_null(is_integer)(get(one, "exit_code")) for one in actions)
    if not whole or not all(is_flag(get(test, "passed")) for test in tests):
        return None
    fine = lambda result: result["status"] in ("success", "skipped") and number(result, "exit_code") in (None, 0)
    if all(map(fine, actions)) and all(test["passed"] for test in tests):
        return "complete"
    return "partial" if any(result["status"] == "success" for result in actions) else "failed"


def verify(evidence, level, proposal_hash=None):
    findings = Findings(level)
    if not is_object(evidence):
        findings.add("SCHEMA", "$")
        return findings
    wrong = misfits(evidence, MEMBERS)
    for name in wrong:
        findings.add("SCHEMA", f"$.{name}")
    if "proposal_hash" not in wrong:
        stated = evidence["proposal_hash"]
        findings.require(is_hash(stated) and proposal_hash in (None, stated), "EV1", "$.proposal_hash")
    for rule, name, members in (("EV2", "action_results", ACTION_RESULT), ("EV3", "test_results", TEST_RESULT)):
        seen, key = set(), next(iter(members))
        for at, result in enumerate(items(evidence, name)):
            for misfit in misfits(result, members, OPTIONAL):
                findings.add(rule, f"$.{name}[{at}].{misfit}")
            if text(result, key):
                findings.require(result[key] not in seen, rule, f"$.{name}[{at}].{key}")
                seen.add(result[key])
    if not {"action_results", "test_results"} & set(wrong):
        if "status" not in wrong:
            derived = derive_status(evidence)
            known = evidence["status"] in ("complete", "partial", "failed")
            findings.require(known and derived in (None, evidence["status"]), "EV4", "$.status")
        if not set(MEMBERS) - set(evidence):
            findings.require(form(core(evidence)) is not None, "EV5", "$")
    if findings.integrity and "contents" in evidence:
        check_contents(evidence["contents"], findings)
    if findings.integrity and "proposal" in evidence:
        check_proposal(evidence, findings)
    return findings


def check_contents(contents, findings):
    if not is_object(contents):
        findings.add("EV6", "$.contents")
        return
    for name, entry in contents.items():
        forms = [one for one in ("text", "base64", "omitted") if has(entry, one)]
        holds = is_hash(name) and len(forms) == 1 and is_count(get(entry, "size_bytes"))
        if holds and forms == ["omitted"]:
            holds = entry["omitted"] is True
        elif holds:
            held = decode(entry)
            holds = held is not None and content_hash(held) == name and len(held) == integer(entry, "size_bytes")
        findings.require(holds, "EV6", f"$.contents.{name}")


def check_proposal(evidence, findings):
    proposal = evidence["proposal"]
    if is_text(evidence.get("proposal_hash")):
        digest = canonical_hash(proposal)
        findings.require(digest is not None and "sha256:" + digest == evidence["proposal_hash"], "EV7", "$.proposal")
    for listed, name, key, fault in (
        ("actions", "action_results", "action_id", action_fault),
        ("acceptance_tests", "test_results", "test_id", test_fault),
    ):
        planned, done = get(proposal, listed), evidence.get(name)
        if not is_list(planned) or not is_list(done):
            continue
        wanted, found = [text(one, "id") for one in planned], [text(one, key) for one in done]
        if None in wanted or None in found:
            continue
        if wanted != found:
            findings.add("EV7", f"$.proposal.{listed}")
            continue
        for at, (plan, result) in enumerate(zip(planned, done)):
            member = fault(plan, result)
            findings.require(member is None, "EV7", f"$.{name}[{at}].{member}")


def action_fault(plan, result):
    """The first member of a result that is not as planned."""
    word = WORDS.get(text(plan, "type"))
    if word is None:
        return None
    done, path, target = text(result, "action"), text(result, "path"), text(plan, "target")
    for member, holds in (
        ("action", done in (None, word)),
        ("path", path is None or target is None or path == target),
        ("required", is_required(result) == is_required(plan)),
    ):
        if not holds:
            return member
    content = text(plan, "content") if word in ("create", "modify") else None
    if content is not None and text(result, "status") == "success" and or_null(is_text)(get(result, "sha256")):
        return None if text(result, "sha256") == content_hash(lossy(content).encode()) else "sha256"
    return None


def test_fault(plan, result):
    if is_required(result) != is_required(plan):
        return "required"
    kind, expected, actual = text(plan, "type"), text(plan, "expected"), text(result, "actual")
    code, passed = integer(result, "exit_code"), get(result, "passed") is True
    if not is_flag(get(result, "passed")) or expected is None or kind not in ("command_success", "content_match", "hash_match", "file_exists"):
        return None
    if actual is None:
        return "passed" if passed else None
    if kind == "command_success":
        if not or_null(is_number)(get(result, "exit_code")):
            return None
        if code is not None and str(code) != actual:
            return "actual"
        return "passed" if passed and (actual != expected or code is None) else None
    meets = {
        "content_match": actual == content_hash(lossy(expected).encode()),
        "hash_match": actual in (expected, "sha256:" + expected),
        "file_exists": actual == expected,
    }[kind]
    return None if meets == passed else "passed"


ENTRY = {
    "run_id": is_filled, "timestamp": is_filled, "intent_sha256": is_filled,
    "result_kind": one_of("BUNDLE", "CLARIFY", "REFUSE"), "accepted": is_flag,
    "mode": one_of("none", "record", "replay"), "policy": is_filled,
}


def ledger_lines(data):
    """(number, bytes, entry) of every line that is not blank; the entry is None if it is no JSON."""
    found = []
    for at, line in enumerate(data.split(b"\n"), 1):
        if line.strip(b" \t\r"):
            try:
                found.append((at, line, parse(line)))
            except NotJson:
                found.append((at, line, None))
    return found


def verify_ledger(data, level):
    findings, lines = Findings(level), ledger_lines(data)
    runs, latest, has_begun, before = set(), None, False, None
    chained = any(has(entry, "previous") for _, _, entry in lines)
    for at, line, entry in lines:
        place = f"line {at}"
        if findings.integrity and chained:
            if has(entry, "previous"):
                has_begun = True
                findings.require(entry["previous"] == before, "LD5", place)
            else:
                findings.require(not has_begun, "LD5", place)
        before = content_hash(line)
        if not is_object(entry):
            findings.add("LD1", place)
            continue
        findings.require(not misfits(entry, ENTRY) and "bundle_sha256" in entry, "LD1", place)
        if is_text(entry.get("timestamp")):
            time = parse_time(entry["timestamp"])
            findings.require(time is not None and (latest is None or time >= latest), "LD2", place)
            latest = latest if time is None else time
        if is_text(entry.get("run_id")):
            findings.require(entry["run_id"] not in runs, "LD3", place)
            runs.add(entry["run_id"])
        for name in ("intent_sha256", "bundle_sha256", "previous"):
            may_be_null = name != "intent_sha256" and entry.get(name) is None
            findings.require(name not in entry or may_be_null or is_hash(entry[name]), "LD4", place)
        kind = entry.get("result_kind")
        if findings.integrity and ENTRY["result_kind"](kind):
            findings.require(kind == "BUNDLE" or entry.get("accepted") is not True, "LD6", place)
            if "bundle_sha256" in entry:
                findings.require((entry["bundle_sha256"] is None) == (kind == "REFUSE"), "LD6", place)
    return findings
