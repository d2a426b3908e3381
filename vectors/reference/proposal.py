"""Proposals and patch sets (docs/formats/proposal.md, docs/formats/patch.md)."""

import re

from canonical import canonical_hash, content_hash, derive_id, form, has_surrogate, lossy, utf16
from shape import *

ACTIONS = ("create_file", "modify_file", "delete_file", "execute_command", "validate", "test")
TESTS = ("hash_match", "command_success", "file_exists", "content_match")
ACTION = {"target": is_text, "required": is_flag, "description": is_text, "order": is_number}
TEST = {"id": is_filled, "name": is_text, "target": is_text, "expected": is_text, "required": is_flag}
LARGEST_PATCH = 52_428_800


def is_blank(value):
    return not (is_text(value) and value.strip(SPACE))


def label(item):
    """What a finding about an action or a test has as its path: its id, if it has one."""
    return text(item, "id") or None


def is_writable(content):
    return is_text(content) and "\0" not in content and not has_surrogate(content)


def action_id(action, collides=False):
    names = ("content", "target", "type", "order") if collides else ("content", "target", "type")
    return derive_id("act_", {name: action[name] for name in names if name in action})


def verify(proposal, level, bundle=None):
    """`bundle` is (id, content hash) of the bundle it was made from, if at hand."""
    findings = Findings(level)
    if not is_object(proposal):
        findings.add("SCHEMA")
        return findings
    form_of_id = re.fullmatch("prop_[0-9a-f]{16}", text(proposal, "id") or "")
    findings.require(form_of_id, "SCHEMA")
    findings.require(is_list(proposal.get("acceptance_tests")), "SCHEMA")
    findings.require(is_flag(proposal.get("requires_approval")), "SCHEMA")
    for name, members in (("actions", ACTION), ("acceptance_tests", TEST)):
        for item in items(proposal, name):
            findings.require(not misfits(item, members), "SCHEMA", label(item))
            findings.require(is_text(get(item, "expected_hash")) or not has(item, "expected_hash"), "SCHEMA", label(item))
    findings.require(not is_blank(proposal.get("schema_version")), "PR1")
    check_source(proposal, bundle, findings)
    findings.require(is_list(proposal.get("actions")), "PR3")
    findings.require(is_score(proposal.get("confidence")), "PR9")
    findings.require(not is_blank(proposal.get("summary")), "PR10")
    actions = [item for item in items(proposal, "actions") if is_object(item)]
    tests = [item for item in items(proposal, "acceptance_tests") if is_object(item)]
    for rule, found in (("PR4", actions), ("PR7", tests)):
        labels = [label(item) for item in found]
        for at, name in enumerate(labels):
            findings.require(name is None or name not in labels[:at], rule, name)
    for rule, found, known in (("PR5", actions, ACTIONS), ("PR8", tests, TESTS)):
        for item in found:
            findings.require(text(item, "type") in known, rule, label(item))
    check_order(actions, tests, findings)
    for action in actions:
        findings.require(re.fullmatch("act_[0-9a-f]{16}", text(action, "id") or ""), "PR6", label(action))
        wanted = {"create_file": True, "modify_file": True, "delete_file": False}.get(text(action, "type"))
        holds = is_writable(action["content"]) if "content" in action else True
        findings.require(holds and wanted in (None, "content" in action), "PR12", label(action))
    if findings.integrity:
        check_derived(proposal, form_of_id, actions, findings)
    return findings


def check_source(proposal, bundle, findings):
    name, stated = text(proposal, "source_bundle_id") or "", proposal.get("source_bundle_hash")
    spelled_out = re.sub("^bun_", "bundle_", name)
    if not re.fullmatch("bundle_[0-9a-f]{16}", spelled_out) or not is_hash(stated):
        findings.add("PR2")
    if bundle is not None:
        findings.require(bundle[0] in (name, spelled_out) and bundle[1] == stated, "PR2")


def check_order(actions, tests, findings):
    """The first misplaced action and the first misplaced test; ids are compared where both are texts."""
    before = None
    for action in (action for action in actions if is_number(action.get("order"))):
        name, order = text(action, "id"), action["order"].value
        if before is not None and (order < before[0] or order == before[0] and descends(before[1], name)):
            findings.add("PR11", label(action))
            break
        before = (order, name)
    for first, second in zip(tests, tests[1:]):
        if descends(text(first, "id"), text(second, "id")):
            findings.add("PR11", label(second))
            break


def descends(first, second):
    return first is not None and second is not None and utf16(second) < utf16(first)


def check_derived(proposal, form_of_id, actions, findings):
    if form_of_id:
        rest = {name: proposal[name] for name in proposal if name != "id"}
        findings.require(proposal["id"] == derive_id("prop_", rest), "SCHEMA")
    alike = [action_id(action) for action in actions]
    for action, plain in zip(actions, alike):
        is_there = all(text(action, name) is not None for name in ("target", "type"))
        is_there = is_there and ("content" not in action or is_text(action["content"]))
        if is_there and re.fullmatch("act_[0-9a-f]{16}", text(action, "id") or ""):
            expected = action_id(action, collides=plain is not None and alike.count(plain) > 1)
            findings.require(action["id"] == expected, "PR6", label(action))
        content, stated = text(action, "content"), text(action, "expected_hash")
        is_file = text(action, "type") in ("create_file", "modify_file")
        if is_file and content is not None and not has_surrogate(content) and stated is not None:
            actual = content_hash(content.encode())
            findings.require(stated in (actual, actual[7:]), "PR13", label(action))


def path_is_normalized(path):
    return not (
        path == "" or ".." in path or "\\" in path or any(is_control(c) and c not in "\t\n" for c in path)
        or path != path.strip(SPACE) or "." in path.split("/") or "" in path.removeprefix("/").split("/")
    )


def verify_patch(patch, level):
    findings = Findings(level)
    if not is_object(patch):
        findings.add("SCHEMA", "$")
        return findings
    for name in ("patch_schema_version", "source_proposal_id", "source_proposal_hash", "operations", "total_bytes"):
        findings.require(name in patch, "SCHEMA", f"$.{name}")
    findings.require(is_filled(patch.get("patch_schema_version")), "PS1", "$.patch_schema_version")
    if not is_list(patch.get("operations")):
        findings.add("SCHEMA", "$.operations")
        return findings
    seen, total, is_known = set(), 0, True
    for at, operation in enumerate(patch["operations"]):
        place, path, op = f"$.operations[{at}]", text(operation, "path"), text(operation, "op")
        if not is_object(operation):
            findings.add("SCHEMA", place)
            is_known = False
            continue
        findings.require(path is not None, "SCHEMA", f"{place}.path")
        findings.require(op in ("create", "modify", "delete"), "PS2", f"{place}.op")
        findings.require(op != "symlink", "PS9", f"{place}.op")
        if path is not None:
            findings.require(not path.startswith("/") and not has_drive(path), "PS3", f"{place}.path")
            findings.require(path_is_normalized(lossy(path)), "PS4", f"{place}.path")
            findings.require(lossy(path) not in seen, "PS5", f"{place}.path")
            seen.add(lossy(path))
        content = operation.get("content")
        holds = {"create": is_text(content), "modify": is_text(content), "delete": "content" not in operation}
        findings.require(holds.get(op, True) and (not is_text(content) or is_writable(content)), "PS6", f"{place}.content")
        is_known = is_known and (is_text(content) or "content" not in operation and op not in ("create", "modify"))
        if is_text(content):
            written = lossy(content).encode()
            total += len(written)
            if findings.integrity and "expected_hash" in operation:
                findings.require(operation["expected_hash"] == content_hash(written), "PS10", f"{place}.expected_hash")
            if findings.integrity and "size_bytes" in operation:
                findings.require(number(operation, "size_bytes") == len(written), "PS10", f"{place}.size_bytes")
    if "total_bytes" in patch:
        stated = number(patch, "total_bytes")
        right = stated is not None and stated <= LARGEST_PATCH and (stated == total or not is_known)
        findings.require(right, "PS7", "$.total_bytes")
    key = lambda operation: (
        None if text(operation, "path") is None else (number(operation, "order") or 0, utf16(operation["path"]))
    )
    for at in descents(patch["operations"], key):
        findings.add("PS8", f"$.operations[{at}]")
    return findings
