"""Receipts and chains of them (docs/formats/receipt.md). Ed25519 signatures are not checked: RC5 looks at their form."""

import hashlib
import re

from canonical import NoForm, canonical, form, sha256
from job_bundle import is_short_id, is_size, is_whole, root_hash
from shape import *

OUTCOME = one_of("SUCCESS", "FAILURE")
ERROR = {"code": is_text, "message": is_text, "step_id": or_null(is_text)}
RESULT = {"content_hash": is_digest, "bytes": is_size}
RECEIPT = {
    "receipt_version": one_of("1.0.0"), "executor_version": one_of("1.0.0"), "outcome": OUTCOME, "run_id": is_text,
    "job_id": is_text, "bundle_id": is_digest, "plan_hash": is_digest, "root_hash": is_digest, "receipt_hash": is_digest,
    "error": or_null(is_object), "steps": is_list, "artifacts": is_list, "parent_receipt_hash": or_null(is_digest),
    "receipt_index": or_null(is_size), "attestation": or_null(is_object),
}
STEP = {
    "ordinal": is_whole, "step_id": is_text, "op": one_of("READ_SYMBOL", "READ_SECTION"), "outcome": OUTCOME,
    "result": or_null(is_object), "error": or_null(is_object),
}
ARTIFACT = {"artifact_id": is_short_id, "sha256": is_digest, "bytes": is_size}


def receipt_hash(receipt):
    hashed = {name: receipt[name] for name in receipt if name != "receipt_hash"} | {"attestation": None}
    return sha256(canonical(hashed, "job").encode() + b"\n")


def merkle_root(hashes):
    """Over the raw hashes; an odd last one is joined with itself."""
    level = [bytes.fromhex(digest) for digest in hashes]
    while len(level) > 1:
        level = [hashlib.sha256(level[at] + level[min(at + 1, len(level) - 1)]).digest() for at in range(0, len(level), 2)]
    return level[0].hex()


def verify(document, level):
    """A receipt, or a list of them: a chain."""
    findings = Findings(level)
    is_chain = is_list(document)
    receipts = document if is_chain else [document]
    findings.require(receipts, "RC1", "$")
    for at, receipt in enumerate(receipts):
        check_members(receipt, f"$[{at}]", findings)
        stated = get(receipt, "receipt_hash")
        if is_digest(stated) and form(receipt, "job") is not None:
            findings.require(stated == receipt_hash(receipt), "RC2", f"$[{at}].receipt_hash")
        attestation = get(receipt, "attestation")
        findings.require(attestation is None or has_form(attestation), "RC5", f"$[{at}].attestation")
        if findings.integrity and is_object(receipt):
            check_outcomes(receipt, f"$[{at}]", findings)
            check_artifacts(receipt, f"$[{at}]", findings)
    check_chain(receipts, is_chain, findings)
    return findings


def has_form(attestation):
    def is_hex(name, digits):
        return re.fullmatch(f"[0-9a-f]{{{digits}}}", text(attestation, name) or "") is not None

    named = all(not has(attestation, name) or is_text(attestation[name]) for name in ("validator_id", "build_id"))
    return text(attestation, "scheme") == "ed25519" and is_hex("public_key", 64) and is_hex("signature", 128) and named


def check_members(receipt, place, findings):
    def members(value, at, table):
        if is_object(value):
            for name in misfits(value, table):
                findings.add("RC1", f"{at}.{name}")
        else:
            findings.add("RC1", at)
        if is_object(get(value, "error")):
            members(value["error"], f"{at}.error", ERROR)
        if is_object(get(value, "result")) and "result" in table:
            members(value["result"], f"{at}.result", RESULT)

    members(receipt, place, RECEIPT)
    if is_object(receipt):
        findings.require(form(receipt, "job") is not None, "RC1", place)
    step_key = lambda step: (
        (int(step["ordinal"].text), step["step_id"])
        if is_whole(get(step, "ordinal")) and text(step, "step_id") is not None else None
    )
    artifact_key = lambda artifact: artifact["artifact_id"] if is_short_id(get(artifact, "artifact_id")) else None
    for name, table, key in (("steps", STEP, step_key), ("artifacts", ARTIFACT, artifact_key)):
        for at, element in enumerate(items(receipt, name)):
            members(element, f"{place}.{name}[{at}]", table)
        for at in descents(items(receipt, name), key, strict=True):
            findings.add("RC1", f"{place}.{name}[{at}]")


def check_chain(receipts, is_chain, findings):
    parent, counted = lambda receipt: get(receipt, "parent_receipt_hash"), lambda receipt: get(receipt, "receipt_index")
    has_parent = lambda receipt: has(receipt, "parent_receipt_hash") and or_null(is_digest)(parent(receipt))
    has_index = lambda receipt: has(receipt, "receipt_index") and or_null(is_whole)(counted(receipt))
    index = lambda receipt: None if counted(receipt) is None else int(counted(receipt).text)
    if not receipts:
        return
    first = receipts[0]
    if not is_chain:
        if has_parent(first) and parent(first) is None and has_index(first):
            findings.require(index(first) in (None, 0), "RC4", "$[0].receipt_index")
        return
    findings.require(not is_digest(parent(first)), "RC3", "$[0].parent_receipt_hash")
    for at, receipt in enumerate(receipts):
        before = get(receipts[at - 1], "receipt_hash") if at else None
        if is_digest(before) and has_parent(receipt):
            findings.require(parent(receipt) == before, "RC3", f"$[{at}].parent_receipt_hash")
        if has_index(first) and has_index(receipt):
            expected = None if index(first) is None else at
            findings.require(index(receipt) == expected, "RC4", f"$[{at}].receipt_index")


def check_outcomes(receipt, place, findings):
    given = lambda value, name: is_object(get(value, name))
    absent = lambda value, name: has(value, name) and value[name] is None
    outcomes = [get(step, "outcome") for step in items(receipt, "steps")]
    for at, step in enumerate(items(receipt, "steps")):
        below = f"{place}.steps[{at}]"
        if get(step, "outcome") == "SUCCESS":
            findings.require(not given(step, "error"), "RC8", f"{below}.error")
            findings.require(not absent(step, "result"), "RC8", f"{below}.result")
        elif get(step, "outcome") == "FAILURE":
            findings.require(not absent(step, "error"), "RC8", f"{below}.error")
            findings.require(not given(step, "result"), "RC8", f"{below}.result")
    if receipt.get("outcome") == "SUCCESS":
        findings.require(receipt.get("steps") != [], "RC8", f"{place}.steps")
        findings.require("FAILURE" not in outcomes, "RC8", f"{place}.outcome")
        findings.require(not given(receipt, "error"), "RC8", f"{place}.error")
    elif receipt.get("outcome") == "FAILURE" and is_list(receipt.get("steps")) and all(map(is_text, outcomes)):
        findings.require("FAILURE" in outcomes or not absent(receipt, "error"), "RC8", f"{place}.outcome")


def check_artifacts(receipt, place, findings):
    def content(value, name):
        return (value[name], int(value["bytes"].text)) if is_digest(get(value, name)) and is_size(get(value, "bytes")) else None

    steps, artifacts = receipt.get("steps"), receipt.get("artifacts")
    results = [content(get(step, "result"), "content_hash") for step in items(receipt, "steps")]
    kept = [content(artifact, "sha256") for artifact in items(receipt, "artifacts")]
    steps_are_whole = is_list(steps) and all(
        is_object(step) and "result" in step and (step["result"] is None or result) for step, result in zip(steps, results)
    )
    for at, found in enumerate(kept):
        if steps_are_whole and found:
            findings.require(found in results, "RC9", f"{place}.artifacts[{at}]")
    for at, found in enumerate(results):
        if is_list(artifacts) and None not in kept and found:
            findings.require(found in kept, "RC9", f"{place}.steps[{at}].result")
    pairs = [(get(artifact, "artifact_id"), get(artifact, "sha256")) for artifact in items(receipt, "artifacts")]
    if is_list(artifacts) and is_digest(receipt.get("root_hash")):
        if all(is_short_id(name) and is_digest(digest) for name, digest in pairs):
            findings.require(receipt["root_hash"] == root_hash(pairs), "RC9", f"{place}.root_hash")
