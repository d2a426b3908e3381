#!/usr/bin/env python3
"""Verifies what the pages in docs/formats describe: verify.py [--lenient | --strict] PATH..."""

import argparse
import json
import os
import sys

import context_bundle
import evidence
import job_bundle
import model_io
import pack
import proposal
import receipt
import redaction
import run_bundle
import run_record
from canonical import NotJson, parse
from folder import Folder, Unpacked
from shape import DOCUMENT, FORM, INTEGRITY

# The members that only documents of a format have: the format with most of them is meant.
DOCUMENTS = {
    "context-bundle": (("source_intent_hash", "root_node", "terminal_nodes", "unresolved_questions"), context_bundle.verify),
    "proposal": (("source_bundle_id", "source_bundle_hash", "actions", "acceptance_tests", "requires_approval"),
                 proposal.verify),
    "patch": (("patch_schema_version", "source_proposal_id", "source_proposal_hash", "operations", "total_bytes"),
              proposal.verify_patch),
    "model-io": (("model_io_schema_version", "adapter_id", "model_id", "interactions"), model_io.verify),
    "runner": (("runner_schema_version", "runner_id", "runner_version", "write_roots", "platform"),
               run_record.verify_runner),
    "evidence": (("proposal_id", "proposal_hash", "action_results", "test_results"), evidence.verify),
    "receipt": (("receipt_version", "receipt_hash", "executor_version", "parent_receipt_hash", "receipt_index"),
                receipt.verify),
}
FOLDERS = {
    "redacted-bundle": redaction.verify, "run-bundle": run_bundle.verify, "pack": pack.verify,
    "job-bundle": job_bundle.verify,
}
MANIFEST = ("bundle_version", "provenance", "hashes")
LEDGER = ("intent_sha256", "result_kind", "bundle_sha256")
NOT_RUN = ("BS2", "RD7")


def format_of_folder(folder):
    names = {path for path in folder.entries if "/" not in path}
    if "REDACTED.json" in names:
        return "redacted-bundle"
    if any(name.startswith("RUN_") for name in names) or names & {"ARTIFACT_INDEX.json", "INPUT_ARTIFACT_INDEX.json"} or (
            "ENGINE_MANIFEST.json" in names and names & {"SHA256SUMS.txt", "artifacts"}):
        return "run-bundle"
    telling = names & {"evidence.json", "patch.json", "policy.json", "runner.json"}
    if "run.json" in names or len(telling) > 1 or "bundle.json" in names and telling | names & {"meta.json"}:
        return "pack"
    if "bundle.json" in names and "artifacts" not in names:
        data = folder.read("bundle.json") or b""
        return "job-bundle" if any(f'"{name}"'.encode() in data for name in MANIFEST) else None
    return "job-bundle" if "artifacts" in names else None


def format_of_text(data):
    """The format of a document, by its members; of a text that is no JSON, by their spelling."""
    try:
        value = parse(data)
        subject = value[0] if isinstance(value, list) and value else value
        has = lambda name: isinstance(subject, dict) and name in subject
    except NotJson:
        has = lambda name: f'"{name}"'.encode() in data
    counts = {name: sum(map(has, members)) for name, (members, _) in DOCUMENTS.items()} | {"ledger": sum(map(has, LEDGER))}
    most = max(counts.values())
    best = [name for name, count in counts.items() if count == most]
    return best[0] if most and len(best) == 1 else None


def judge(path, level, wanted=None):
    """The format and the findings of a folder or a document; the findings are None if it is none of ours."""
    if os.path.isdir(path) or path.endswith((".tar", ".tar.gz", ".zip")):
        folder = Folder(path) if os.path.isdir(path) else Unpacked(path)
        wanted = wanted or format_of_folder(folder)
        if wanted == "pack":
            return wanted, pack.verify(folder, level, path).found
        return wanted, FOLDERS[wanted](folder, level).found if wanted else None
    with open(path, "rb") as file:
        data = file.read()
    wanted = wanted or format_of_text(data)
    if wanted == "ledger":
        return wanted, evidence.verify_ledger(data, level).found
    if wanted is None:
        return None, None
    try:
        value = parse(data)
    except NotJson:
        return wanted, {("JSON", None)}
    if wanted == "model-io":
        beside = os.path.splitext(path)[0] + ".bodies"
        return wanted, model_io.verify(value, level, Folder(beside) if os.path.isdir(beside) else None).found
    return wanted, DOCUMENTS[wanted][1](value, level).found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lenient", action="store_true", help="the document level alone")
    parser.add_argument("--strict", action="store_true", help="every level")
    parser.add_argument("--lines", action="store_true", help="paths come on standard input; an answer a line")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    options = parser.parse_args()
    level = FORM if options.strict else DOCUMENT if options.lenient else INTEGRITY
    paths, is_right = sys.stdin.read().splitlines() if options.lines else options.paths, True
    for path in paths:
        name, found = judge(path, level)
        answer = {"format": name, "ok": found is not None and not found, "path": path, "violations": [
            {"rule_id": rule} if place is None else {"rule_id": rule, "path": place}
            for rule, place in sorted(found or (), key=lambda one: (one[0], one[1] or ""))
        ]}
        is_right = is_right and answer["ok"]
        print(json.dumps(answer, sort_keys=True))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    sys.exit(main())
