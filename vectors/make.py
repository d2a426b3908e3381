#!/usr/bin/env python3
"""Makes the cases of vectors/<format>/ from their valid ones.

    python3 vectors/make.py                    every case that is an edit of a valid one
    python3 vectors/make.py --bases RUNSEAL    the valid ones too, with that program

The expectations beside the inputs are written by the test that checks them:

    RUNSEAL_BLESS=1 cargo test -p runseal-cli --test main vectors::

A case is named after the rule it is about, and the test refuses an expectation without that rule.
Needs nothing beyond Python's standard library, and the program `zstd` for two archives.
"""

import argparse
import base64
import copy
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent


# Canonical text, hashes, ids. For the keys and numbers of the documents here, Python's own writer
# gives the canonical form.

def kernel(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def job(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sha(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def canonical_hash(value):
    return sha(kernel(value) + "\n")


def content_hash(text):
    return "sha256:" + sha(text)


def without(value, *names):
    return {key: member for key, member in value.items() if key not in names}


# Places

def place(format_name, case):
    folder = HERE / format_name / case
    for old in folder.glob("input*"):
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_text(format_name, case, text, suffix=".json"):
    (place(format_name, case) / f"input{suffix}").write_text(text)


def read_json(format_name, case, name="input.json"):
    return json.loads((HERE / format_name / case / name).read_text())


def edit_document(format_name, base, case, edit, finish=lambda value: None):
    """A case that is `base` with one edit; `finish` puts right what is derived."""
    value = read_json(format_name, base)
    edited = edit(value)
    # An edit that changes the value in place gives nothing, or a tuple of its steps.
    value = edited if isinstance(edited, (dict, list)) else value
    finish(value)
    write_text(format_name, case, kernel(value) + "\n")


def edit_text(format_name, base, case, old, new, suffix=".json"):
    text = (HERE / format_name / base / f"input{suffix}").read_text()
    if old not in text:
        sys.exit(f"{format_name}/{case}: `{old}` is not in the base")
    write_text(format_name, case, text.replace(old, new, 1), suffix)


def edit_folder(format_name, base, case, edit):
    target = place(format_name, case) / "input"
    shutil.copytree(HERE / format_name / base / "input", target, symlinks=True)
    edit(target)


def put(path, new):
    """An edit that sets the member at a path: put(["a", 0, "b"], 7)."""
    *way, last = path

    def edit(value):
        for key in way:
            value = value[key]
        value[last] = new

    return edit


def drop(*path):
    """An edit that takes the member at a path away: drop("a", 0, "b")."""
    *way, last = path

    def edit(value):
        for key in way:
            value = value[key]
        del value[last]

    return edit


# Context bundles

def bundle_id(bundle):
    bundle["id"] = "bundle_" + canonical_hash(without(bundle, "id"))[:16]


def output_ids(bundle):
    for output in bundle["outputs"]:
        part = {name: output[name] for name in ("content", "path", "type")}
        output["id"] = "out_" + canonical_hash(part)[:16]
    bundle["stats"]["total_outputs"] = len(bundle["outputs"])
    bundle_id(bundle)


def node_id(node):
    part = {name: node[name] for name in ("constraints", "goal", "parent_id")}
    node["id"] = "node_" + canonical_hash(part)[:16]


def node_ids(bundle):
    """For a tree of one node, which is its own leaf."""
    node = bundle["root_node"]
    node_id(node)
    bundle["terminal_nodes"] = [copy.deepcopy(node)]
    bundle_id(bundle)


def make_context_bundles():
    def case(name, edit, base="ok-complete", finish=bundle_id):
        edit_document("context-bundle", base, name, edit, finish)

    def second_output(path):
        def edit(bundle):
            other = copy.deepcopy(bundle["outputs"][0])
            other["path"] = path
            bundle["outputs"].append(other)
        return edit

    def reverse(*way):
        def edit(value):
            for key in way:
                value = value[key]
            value.reverse()
        return edit

    case("ok-two-outputs", second_output("context/z.md"), finish=output_ids)
    case("schema-goal-missing", drop("root_node", "goal"))
    case("schema-constraint-is-a-number", lambda b: b["root_node"]["constraints"].append(7))
    case("schema-stats-is-a-list", put(["stats"], []))
    case("schema-node-status-unknown", put(["root_node", "status"], "done"))
    case("schema-version-missing", drop("schema_version"))
    # What is not there silences what needs it: these have one finding each, or one more that does not need it.
    case("schema-node-questions-missing", drop("root_node", "unresolved_questions"), base="ok-questions")
    case("schema-question-id-missing", drop("unresolved_questions", 0, "id"), base="ok-questions")

    def by_id_in_part(bundle):
        """A child that is not given may ask the question that differs."""
        bundle["root_node"]["children"] = ["node_" + "0" * 16]
        bundle["unresolved_questions"][0]["information_gain"] = 1

    case("bs23-question-may-be-of-a-child-that-is-not-given", by_id_in_part, base="ok-questions")
    case("bs1-version-not-semver", put(["schema_version"], "0.1"))
    case("bs3-outputs-unsorted", second_output("a.md"), finish=output_ids)
    case("bs4-constraints-unsorted", reverse("root_node", "constraints"), finish=node_ids)
    case("bs5-questions-unsorted", reverse("unresolved_questions"), base="ok-questions")
    case("bs6-terminal-nodes-unsorted", reverse("terminal_nodes"), base="ok-branching")
    for name, path in [("climbs", "../x.md"), ("absolute", "/x.md"), ("backslash", "a\\x.md")]:
        case(f"bs7-path-{name}", put(["outputs", 0, "path"], path), finish=output_ids)
    edit_text("context-bundle", "ok-complete", "bs8-number-beyond-a-double",
              '"total_nodes":1', '"total_nodes":1e400')
    case("bs9-id-of-another-form", put(["terminal_nodes", 0, "id"], "node_ABCDEF0123456789"))
    case("bs9-intent-hash-with-prefix",
         lambda b: b.update(source_intent_hash="sha256:" + b["source_intent_hash"]))
    case("bs10-score-above-100", put(["outputs", 0, "confidence"], 101))
    case("bs10-score-with-fraction", put(["root_node", "density", "density_score"], 50.5))
    case("bs11-children-unsorted", reverse("root_node", "children"), base="ok-branching")
    case("bs12-path-has-a-dot-segment", put(["outputs", 0, "path"], "a/./x.md"), finish=output_ids)
    case("bs13-complete-with-a-question", put(["status"], "complete"), base="ok-questions")
    case("bs13-incomplete-without-one", put(["status"], "incomplete"))
    case("bs20-content-changed", lambda b: b["outputs"][0].update(content="Nothing."))
    case("bs20-count-wrong", put(["stats", "total_nodes"], 2))
    case("bs20-id-of-another-bundle", put(["id"], "bundle_0123456789abcdef"), finish=lambda b: None)
    case("bs21-leaf-missing", drop("terminal_nodes", 0), base="ok-branching")
    case("bs21-leaf-differs", put(["terminal_nodes", 0, "entropy", "unresolved_refs"], 9),
         base="ok-branching")
    case("bs21-leaf-twice", lambda b: (
        b["terminal_nodes"].insert(0, copy.deepcopy(b["terminal_nodes"][0])),
        b["stats"].update(terminal_nodes=len(b["terminal_nodes"]))), base="ok-branching")
    root = read_json("context-bundle", "ok-branching")["root_node"]
    case("bs22-parent-missing", put(["root_node", "children", 0, "parent_id"], None),
         base="ok-branching")
    case("bs22-node-twice", lambda b: b["root_node"]["children"].insert(
        0, copy.deepcopy(b["root_node"]["children"][0])), base="ok-branching")
    case("bs23-branch-id-of-another-answer", put(
        ["root_node", "splitting_question", "branches", 0, "branch_id"], "00000000"),
        base="ok-branching")

    def asking_still(bundle):
        question = copy.deepcopy(read_json("context-bundle", "ok-questions")["unresolved_questions"][0])
        for node in (bundle["root_node"], bundle["terminal_nodes"][0]):
            node["unresolved_questions"] = [question]

    def leaves(status):
        return of_both("status", status)

    def of_both(member, value):
        def edit(bundle):
            for node in (bundle["root_node"], bundle["terminal_nodes"][0]):
                node[member] = value
        return edit

    def constraints(change):
        def edit(bundle):
            for owner, name in [(bundle["root_node"], "constraints"),
                                (bundle["terminal_nodes"][0], "constraints")]:
                owner[name] = sorted(change(owner[name]))
        return edit

    def child_by_id(bundle):
        bundle["root_node"]["children"] = [child["id"] for child in bundle["root_node"]["children"]]
        bundle["terminal_nodes"][0]["parent_id"] = "node_0123456789abcdef"
        old = bundle["terminal_nodes"][0]["id"]
        node_id(bundle["terminal_nodes"][0])
        new = bundle["terminal_nodes"][0]["id"]
        bundle["root_node"]["children"] = sorted(
            new if child == old else child for child in bundle["root_node"]["children"])
        bundle["terminal_nodes"].sort(key=lambda node: node["id"])

    case("bs22-child-by-id-of-another-parent", child_by_id, base="ok-branching")
    case("bs24-node-asks-still", asking_still)
    def no_longer_asked(bundle):
        for node in (bundle["root_node"], bundle["terminal_nodes"][0]):
            node["unresolved_questions"].pop()

    case("bs24-question-of-no-node", no_longer_asked, base="ok-questions")
    case("bs24-question-missing", lambda b: (
        b["unresolved_questions"].pop(), b["stats"].update(unresolved_count=len(b["unresolved_questions"]))),
        base="ok-questions")
    case("bs24-question-twice", lambda b: (
        b["unresolved_questions"].append(copy.deepcopy(b["unresolved_questions"][-1])),
        b["stats"].update(unresolved_count=len(b["unresolved_questions"]))), base="ok-questions")
    case("bs24-question-differs", put(["unresolved_questions", 0, "options"], ["no", "yes"]), base="ok-questions")
    for status in ("blocked", "pending", "expanding"):
        case(f"bs25-leaf-{status}", leaves(status))
    case("bs26-goal-blank", of_both("goal", " "), finish=node_ids)
    case("bs26-goal-not-composed", of_both("goal", "Open the cafe\u0301"), finish=node_ids)
    case("bs26-constraint-twice", constraints(lambda texts: texts + texts[:1]), finish=node_ids)
    case("bs26-constraint-with-two-spaces", constraints(lambda texts: texts + ["Two  spaces"]), finish=node_ids)
    for name in ("outputs", "terminal_nodes", "unresolved_questions", "root_node", "stats"):
        case(f"schema-{name.replace('_', '-')}-missing", drop(name))
        case(f"schema-{name.replace('_', '-')}-null", put([name], None))
    case("schema-children-missing", drop("root_node", "children"), base="ok-branching")
    case("schema-terminal-node-null", lambda b: b["terminal_nodes"].append(None))
    case("outside-children-as-ids", put(
        ["root_node", "children"], [child["id"] for child in root["children"]]), base="ok-branching")
    bundle = read_json("context-bundle", "ok-complete")
    for output in bundle["outputs"]:
        output["content_hash"] = output["content_hash"].removeprefix("sha256:")
    bundle_id(bundle)
    write_text("context-bundle", "outside-bare-content-hash", kernel(bundle) + "\n")
    bundle = read_json("context-bundle", "ok-complete")
    write_text("context-bundle", "outside-laid-out", json.dumps(bundle, indent=2) + "\n")
    edit_text("context-bundle", "ok-complete", "json-key-twice", '{"id":', '{"id":"","id":')


# Proposals

def proposal_id(proposal):
    proposal["id"] = "prop_" + canonical_hash(without(proposal, "id"))[:16]


def with_commands(proposal):
    """An agent's proposal: a file, a command that uses it, and its removal."""
    parts = [
        {"type": "create_file", "target": "ready.sh", "content": "echo ready\n"},
        {"type": "execute_command", "target": "sh ready.sh"},
        {"type": "delete_file", "target": "ready.sh"},
        {"type": "validate", "target": "absent:ready.sh"},
    ]
    for part in parts:
        action = {**part, "id": "act_" + canonical_hash(part)[:16], "required": True,
                  "description": f"{part['type']} {part['target']}", "order": len(proposal["actions"])}
        if "content" in part:
            action["expected_hash"] = content_hash(part["content"])
        proposal["actions"].append(action)
    proposal["acceptance_tests"].append({
        "id": "test_ready", "name": "it runs", "type": "command_success", "target": "sh -c true",
        "expected": "0", "required": False})
    proposal["acceptance_tests"].sort(key=lambda test: test["id"])


def make_proposals():
    edit_document("proposal", "ok-generated", "ok-commands", with_commands, proposal_id)

    def case(name, edit, finish=proposal_id):
        edit_document("proposal", "ok-commands", name, edit, finish)

    def action(kind):
        actions = read_json("proposal", "ok-commands")["actions"]
        return next(at for at, found in enumerate(actions) if found["type"] == kind)

    def swap(name):
        def edit(value):
            value[name][0], value[name][1] = value[name][1], value[name][0]
        return edit

    create, delete = action("create_file"), action("delete_file")
    case("schema-id-missing", drop("id"), finish=lambda p: None)
    case("schema-target-is-a-number", put(["actions", 0, "target"], 1))
    case("schema-approval-is-a-text", put(["requires_approval"], "no"))
    case("schema-id-of-another-proposal", put(["id"], "prop_0123456789abcdef"),
         finish=lambda p: None)
    case("pr1-version-blank", put(["schema_version"], " "))
    case("pr2-bundle-id-of-another-form", put(["source_bundle_id"], "bundle_1"))
    case("pr2-bundle-hash-bare", lambda p: p.update(
        source_bundle_hash=p["source_bundle_hash"].removeprefix("sha256:")))
    case("pr3-actions-is-an-object", put(["actions"], {}))
    case("pr4-action-twice", lambda p: p["actions"].insert(1, copy.deepcopy(p["actions"][0])))
    case("pr5-type-unknown", put(["actions", 0, "type"], "rename_file"))
    case("pr6-id-of-another-form", put(["actions", 0, "id"], "act_1"))
    case("pr6-content-changed", put(["actions", create, "content"], "Nothing.\n"))
    case("pr7-test-twice", lambda p: p["acceptance_tests"].insert(
        1, copy.deepcopy(p["acceptance_tests"][0])))
    case("pr8-type-unknown", put(["acceptance_tests", 0, "type"], "looks_right"))
    case("pr9-confidence-with-fraction", put(["confidence"], 0.5))
    case("pr9-confidence-missing", drop("confidence"))
    case("pr10-summary-blank", put(["summary"], "\n"))
    case("pr11-actions-unsorted", swap("actions"))
    case("pr11-tests-unsorted", swap("acceptance_tests"))
    case("pr12-create-without-content", drop("actions", create, "content"))
    case("pr12-delete-with-content", put(["actions", delete, "content"], ""))
    case("pr13-hash-of-another-content", put(["actions", create, "expected_hash"], content_hash("other")))
    case("ok-expected-hash-bare", lambda p: p["actions"][create].update(
        expected_hash=sha(p["actions"][create]["content"])))
    case("pr12-content-with-nul", put(["actions", create, "content"], "a\0b"))
    case("outside-bun-prefix", lambda p: p.update(
        source_bundle_id=p["source_bundle_id"].replace("bundle_", "bun_")))
    edit_text("proposal", "ok-commands", "json-text-after", "}\n", "}{}\n")


# The records of a pack

def make_patches():
    def total(patch):
        contents = (operation.get("content", "") for operation in patch["operations"])
        patch["total_bytes"] = sum(len(content.encode()) for content in contents)

    def case(name, edit, finish=lambda p: None):
        edit_document("patch", "ok-executed", name, edit, finish)

    def path(text):
        return put(["operations", 0, "path"], text)

    operations = read_json("patch", "ok-executed")["operations"]
    delete = next(at for at, found in enumerate(operations) if found["op"] == "delete")

    def nothing(patch):
        patch["operations"], patch["total_bytes"] = [], 0

    case("ok-empty", nothing)
    case("schema-total-missing", drop("total_bytes"))
    case("schema-operations-is-null", put(["operations"], None))
    case("schema-path-is-a-number", path(1))
    case("ps1-version-missing", drop("patch_schema_version"))
    case("ps1-version-empty", put(["patch_schema_version"], ""))
    case("ps2-op-unknown", put(["operations", 0, "op"], "rename"))
    case("ps3-path-absolute", path("/etc/passwd"))
    case("ps3-path-has-a-drive", path("C:x"))
    case("ps4-path-climbs", path("a/../x"))
    case("ps4-path-backslash", path("a\\x"))
    case("ps4-path-has-a-dot-segment", path("a/./x"))
    case("ps4-path-ends-with-space", path("a "))
    case("ps5-path-twice", lambda p: p["operations"].insert(1, copy.deepcopy(p["operations"][0])),
         finish=total)
    case("ps6-create-without-content", drop("operations", 0, "content"), finish=total)
    case("ps6-create-without-content-and-a-total", drop("operations", 0, "content"))
    case("ps6-content-is-a-number", put(["operations", 0, "content"], 7))
    case("ps6-delete-with-content", put(["operations", delete, "content"], ""))
    case("ps7-total-wrong", put(["total_bytes"], 1))
    case("ps7-total-is-a-text", put(["total_bytes"], "1"))
    case("ps8-unsorted", lambda p: p["operations"].reverse())
    case("ps9-symlink", put(["operations", 0, "op"], "symlink"))
    case("ps10-expected-hash-of-another-content",
         put(["operations", 0, "expected_hash"], content_hash("")))
    case("ps10-size-wrong", put(["operations", 0, "size_bytes"], 1))
    case("outside-member-unknown", put(["comment"], "made by hand"))


def hashes_alone(evidence):
    """Evidence as it is without the contents that our harness adds; most cases need no more."""
    return without(evidence, "contents", "proposal")


def make_evidence():
    def case(name, edit, base="ok-complete"):
        edit_document("evidence", base, name, edit)

    case("ok-complete", hashes_alone, base="ok-contents")

    def partial(evidence):
        evidence["test_results"][0]["passed"] = False
        evidence["status"] = "partial"

    def failed(evidence):
        for result in evidence["action_results"]:
            result.update(status="failure", exit_code=1)
        evidence["status"] = "failed"

    case("ok-partial", partial)
    case("ok-failed", failed)
    case("schema-status-missing", drop("status"))
    case("schema-results-is-an-object", put(["action_results"], {}))
    case("ev1-proposal-hash-bare", lambda e: e.update(
        proposal_hash=e["proposal_hash"].removeprefix("sha256:")))
    case("ev2-status-unknown", put(["action_results", 0, "status"], "ok"))
    case("ev2-action-twice", put(["action_results", 1, "action_id"],
                                 read_json("evidence", "ok-complete")["action_results"][0]["action_id"]))
    case("ev2-hash-is-a-number", put(["action_results", 0, "sha256"], 1))
    case("ev2-path-missing", drop("action_results", 0, "path"))
    case("ev3-passed-is-a-text", put(["test_results", 0, "passed"], "yes"))
    case("ev2-status-missing", drop("action_results", 0, "status"))
    case("ev2-exit-code-is-a-text", put(["action_results", 0, "exit_code"], "1"))
    case("ev2-action-missing", drop("action_results", 0, "action"), base="ok-contents")
    case("ev2-written-hash-is-a-number", put(["action_results", 0, "sha256"], 1), base="ok-contents")
    case("ev3-passed-missing", drop("test_results", 0, "passed"))
    case("schema-proposal-hash-missing", drop("proposal_hash"), base="ok-contents")
    case("ev3-id-empty", put(["test_results", 0, "test_id"], ""))
    case("ev3-exit-code-with-fraction", put(["test_results", 0, "exit_code"], 0.5))
    case("ev4-complete-with-a-failure", put(["action_results", 0, "status"], "failure"))
    case("ev4-complete-with-a-failed-test", put(["test_results", 0, "passed"], False))
    case("ev4-failed-with-a-success", put(["status"], "failed"))
    case("ev4-status-unknown", put(["status"], "fine"))

    def first(evidence):
        """A content that is text and not empty."""
        return next(entry for entry in evidence["contents"].values() if entry.get("text"))

    case("ev6-content-changed", lambda e: first(e).update(text=first(e)["text"] + "!"), base="ok-contents")
    case("ev6-size-2-53", lambda e: first(e).update(size_bytes=2**53), base="ok-contents")
    case("ev6-size-wrong", lambda e: first(e).update(size_bytes=1), base="ok-contents")
    case("ev6-in-two-forms", lambda e: first(e).update(base64=""), base="ok-contents")
    case("ev6-base64-malformed", lambda e: (first(e).update(base64="?"), first(e).pop("text")), base="ok-contents")
    case("ev6-name-is-no-hash", lambda e: e["contents"].update(readme={"size_bytes": 0, "text": ""}), base="ok-contents")
    case("ev6-contents-is-a-list", put(["contents"], []), base="ok-contents")
    case("ev7-proposal-changed", put(["proposal", "summary"], "Something else"), base="ok-contents")
    case("ev7-passed-and-nothing-found", put(["test_results", 0, "actual"], None), base="ok-contents")
    case("ok-exit-code-beyond-2-53", lambda e: (
        e["action_results"][0].update(exit_code=2**53, status="failure"), e.update(status="partial")))
    evidence = read_json("evidence", "ok-complete")
    evidence["action_results"][0]["weight"] = 0
    write_text("evidence", "ev5-number-beyond-a-double",
               kernel(evidence).replace('"weight":0', '"weight":1e400') + "\n")


def make_ledgers():
    text = (HERE / "ledger/ok-three-runs/input.jsonl").read_text()
    lines = text.splitlines()

    def write(name, lines, end="\n"):
        write_text("ledger", name, "\n".join(lines) + end, ".jsonl")

    def case(name, at, **members):
        entry = json.loads(lines[at])
        for key, value in members.items():
            if value is ...:
                del entry[key]
            else:
                entry[key] = value
        write(name, lines[:at] + [kernel(entry)] + lines[at + 1:])

    def chained(lines):
        """The lines with the hash of the one before in each."""
        made = []
        for line in lines:
            previous = content_hash(made[-1]) if made else None
            made.append(kernel({**json.loads(line), "previous": previous}))
        return made

    case("ld6-clarify-accepted", 1, accepted=True)
    case("ld6-refuse-accepted", 2, accepted=True)
    case("ld6-bundle-without-hash", 0, bundle_sha256=None)
    case("ld6-refuse-with-hash", 2, bundle_sha256=json.loads(lines[0])["bundle_sha256"])
    chain = chained(lines)
    write("ok-chain", chain)
    write("ok-chain-begins-later", [kernel(without(json.loads(lines[0]), "previous")), kernel(
        {**json.loads(lines[1]), "previous": content_hash(
            kernel(without(json.loads(lines[0]), "previous")))})])
    write("ld5-line-changed", [chain[0].replace("true", "false", 1), *chain[1:]])
    write("ld5-line-dropped", [chain[0], chain[2]])
    write("ld5-hash-missing", [*chain[:2], kernel(without(json.loads(chain[2]), "previous"))])
    first = json.loads(lines[0])
    write("ok-one-run", lines[:1])
    write("ok-blank-line", [lines[0], " \t"])
    for name in ("run_id", "policy", "bundle_sha256"):
        case(f"ld1-{name.replace('_', '-')}-missing", 0, **{name: ...})
    case("ld1-accepted-is-a-text", 0, accepted="true")
    case("ld1-kind-unknown", 0, result_kind="DONE")
    case("ld1-mode-unknown", 0, mode="live")
    write("ld1-line-is-a-list", lines + ["[]"])
    write("ld1-line-torn", lines + [lines[0][:40]], end="")
    case("ld2-time-goes-back", 2, timestamp="2001-01-01T00:00:00.000Z")
    case("ld2-time-is-none", 0, timestamp="yesterday")
    case("ld3-run-twice", 2, run_id=first["run_id"])
    case("ld4-intent-hash-bare", 0, intent_sha256=first["intent_sha256"].removeprefix("sha256:"))
    case("ld4-bundle-hash-upper-case", 0,
         bundle_sha256="sha256:" + first["bundle_sha256"].removeprefix("sha256:").upper())
    case("ld4-intent-hash-null", 0, intent_sha256=None)


def make_model_recordings():
    def interaction(at, text):
        return {"i": at, "prompt_hash": content_hash(f"prompt {at}"),
                "response_hash": content_hash(text), "response_content": text}

    recording = {
        "model_io_schema_version": "1.0.0", "adapter_id": "shell", "model_id": "example-1",
        "mode": "record",
        "interactions": [interaction(0, "Yes.\n"), interaction(1, "Grüße"), interaction(2, "")],
    }
    write_text("model-io", "ok-record", kernel(recording) + "\n")
    more = copy.deepcopy(recording)
    more.update(mode="replay", created_at_utc="2026-01-02T03:04:05Z", stats={"calls": 3})
    more["interactions"][0]["latency_ms"] = 12.5
    write_text("model-io", "ok-replay", kernel(more) + "\n")
    write_text("model-io", "ok-no-call", kernel({**recording, "interactions": []}) + "\n")

    def case(name, edit):
        edit_document("model-io", "ok-record", name, edit)

    case("schema-interactions-missing", drop("interactions"))
    case("schema-interactions-is-an-object", put(["interactions"], {}))
    case("mi1-version-of-two-numbers", put(["model_io_schema_version"], "1.0"))
    case("mi1-version-missing", drop("model_io_schema_version"))
    case("mi2-adapter-empty", put(["adapter_id"], ""))
    case("mi2-model-is-a-number", put(["model_id"], 1))
    case("mi3-mode-unknown", put(["mode"], "live"))
    case("mi5-number-missing", drop("interactions", 1, "i"))
    case("mi5-number-skipped", put(["interactions", 2, "i"], 3))
    case("mi6-prompt-hash-bare", put(["interactions", 0, "prompt_hash"], sha("prompt 0")))
    case("ok-prompt-held", put(["interactions", 0, "prompt_content"], "prompt 0"))
    case("mi12-prompt-of-another-hash", put(["interactions", 0, "prompt_content"], "prompt 1"))
    case("mi12-prompt-is-a-number", put(["interactions", 0, "prompt_content"], 0))
    case("mi7-response-changed", put(["interactions", 0, "response_content"], "No.\n"))
    case("mi7-response-hash-malformed", put(["interactions", 0, "response_hash"], "sha256:00"))
    case("mi7-response-is-null", put(["interactions", 0, "response_content"], None))
    case("mi8-call-twice", lambda r: r["interactions"].insert(1, copy.deepcopy(r["interactions"][0])))
    case("mi9-unsorted", lambda r: r["interactions"].reverse())
    make_proxy_recordings()


def make_proxy_recordings():
    """What the proxy adds for people to read, and large bodies as files."""
    def prompt_hash(request, body, volatile=()):
        form = {"method": request["method"], "path": request["path"]}
        if "query" in request:
            form["query"] = request["query"]
        if body is not None:
            form["body"] = without(body, *volatile)
        return content_hash(kernel(form))

    def exchange(at, request, body, content, **response):
        return {"i": at, "prompt_hash": prompt_hash(request, body, ["seed"]), "request": request,
                "response_hash": content_hash(content), "response_content": content,
                "response": {"status": 200, "end": "complete",
                             "headers": [["content-type", "text/event-stream"]], **response}}

    chat = {"model": "example-1", "seed": 7, "messages": [{"role": "user", "content": "Grüße"}]}
    asked = {"method": "POST", "path": "/v1/chat/completions", "body": chat,
             "headers": [["content-type", "application/json"]]}
    listed = {"method": "GET", "path": "/v1/models", "query": "limit=2"}
    stream = 'data: {"choices":[{"delta":{"content":"Hé"}}]}\n\ndata: [DONE]\n\n'
    cut = len(stream.encode()) - 14
    binary = "AAEC/w=="
    recording = {
        "model_io_schema_version": "1.1.0", "adapter_id": "http-proxy", "model_id": "example-1",
        "mode": "record", "capture": {"gaps": [], "redacted": {}, "volatile": ["/seed"]},
        "interactions": [exchange(0, asked, chat, stream, chunks=[cut, 14]),
                         exchange(1, listed, None, binary, chunks=[4], encoding="base64")],
    }
    write_text("model-io", "ok-proxy", kernel(recording) + "\n")

    def case(name, edit):
        edit_document("model-io", "ok-proxy", name, edit)

    first = ["interactions", 0]
    said = [*first, "request", "body", "messages", 0, "content"]
    case("ok-proxy-volatile-member-differs", put([*first, "request", "body", "seed"], 8))
    case("mi13-request-says-something-else", put(said, "Good bye"))
    case("mi13-request-to-another-path", put([*first, "request", "path"], "/v1/responses"))
    case("mi13-request-with-another-query", put(["interactions", 1, "request", "query"], "limit=3"))
    case("mi6-prompt-hash-missing", drop(*first, "prompt_hash"))
    case("mi13-request-missing", drop(*first, "request"))
    case("mi14-response-missing", drop(*first, "response"))
    case("mi13-request-without-a-method", drop(*first, "request", "method"))
    case("mi13-member-no-longer-volatile", put(["capture", "volatile"], []))
    case("mi13-volatile-is-no-pointer", put(["capture", "volatile"], ["seed"]))
    case("mi13-volatile-covers-what-is-asked", put(["capture", "volatile"], ["/messages"]))
    case("mi14-chunks-do-not-add-up", put([*first, "response", "chunks"], [cut, 13]))
    case("mi14-chunk-is-negative", put([*first, "response", "chunks"], [cut + 15, -1]))
    case("mi14-encoding-unknown", put(["interactions", 1, "response", "encoding"], "hex"))
    case("mi14-not-base64", put([*first, "response", "encoding"], "base64"))

    core = {member: recording[member] for member in
            ("model_io_schema_version", "adapter_id", "model_id", "mode")}
    core["interactions"] = [{member: one[member] for member in
                             ("i", "prompt_hash", "response_hash", "response_content")}
                            for one in recording["interactions"]]
    fork = {"at": 1, "parent_model_io_hash": "sha256:" + "a" * 64, "parent_sha256": "b" * 64}
    bound = {**fork, "model_io_hash": "sha256:" + sha(kernel(core).encode())}
    fork["hash"] = "sha256:" + sha(kernel(bound).encode())
    write_text("model-io", "ok-proxy-fork", kernel({**recording, "fork": fork}) + "\n")

    def fork_case(name, edit):
        edit_document("model-io", "ok-proxy-fork", name, edit)

    fork_case("ok-proxy-fork-not-bound", drop("fork", "hash"))
    fork_case("mi17-parent-is-another", put(["fork", "parent_sha256"], "c" * 64))
    fork_case("mi17-parent-hash-is-bare", put(["fork", "parent_model_io_hash"], "a" * 64))
    fork_case("mi17-fork-beyond-the-end", put(["fork", "at"], 3))
    fork_case("mi17-fork-is-a-text", put(["fork"], "parent.json"))
    fork_case("mi17-fork-of-other-calls", put(["model_id"], "example-9"))

    read = copy.deepcopy(recording)
    read["model_id"] = "example-2"
    read["interactions"][0]["reading"] = {"api": "openai.chat", "text": "Hé"}
    read["interactions"][1]["reading"] = {"api": "models"}
    answer = kernel({"id": "m", "type": "message", "role": "assistant", "model": "example-2",
                     "content": [{"type": "text", "text": "Look."},
                                 {"type": "tool_use", "id": "t1", "name": "ls", "input": {"at": "."}}],
                     "stop_reason": "tool_use", "usage": {"input_tokens": 12, "output_tokens": 3}})
    message = {"model": "example-2", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
    to_anthropic = {"method": "POST", "path": "/v1/messages", "body": message}
    third = exchange(2, to_anthropic, message, answer, chunks=[len(answer.encode())])
    third["response"]["headers"] = [["Content-Type", "application/json"]]
    third.update(tokens_input=12, tokens_output=3, reading={
        "api": "anthropic.messages", "model": "example-2", "text": "Look.", "finish_reason": "tool_use",
        "tool_calls": [{"id": "t1", "name": "ls", "arguments": '{"at":"."}'}],
        "usage": {"input_tokens": 12, "output_tokens": 3}})
    read["interactions"].append(third)
    write_text("model-io", "ok-proxy-read", kernel(read) + "\n")

    def read_case(name, edit):
        edit_document("model-io", "ok-proxy-read", name, edit)

    read_case("mi14-model-of-another-answer", put(["model_id"], "example-1"))

    last = ["interactions", 2]
    read_case("mi16-text-is-another", put([*first, "reading", "text"], "Ha"))
    read_case("mi16-text-left-out", drop(*first, "reading", "text"))
    read_case("mi16-error-made-up", put([*first, "reading", "error"], "overloaded"))
    read_case("mi16-api-is-another", put(["interactions", 1, "reading", "api"], "http"))
    read_case("mi16-tool-call-with-other-arguments",
              put([*last, "reading", "tool_calls", 0, "arguments"], '{"at":"/"}'))
    read_case("mi16-model-is-another", lambda r: (put([*last, "reading", "model"], "example-3")(r), r.update(model_id="example-3")))
    read_case("mi16-tokens-fewer", put([*last, "tokens_output"], 1))
    read_case("mi16-usage-fewer", put([*last, "reading", "usage", "input_tokens"], 1))
    read_case("mi16-reading-is-a-text", put([*last, "reading"], "Look."))
    read_case("ok-proxy-not-read", drop(*last, "reading"))

    large = {"model": "example-1", "messages": [{"role": "user", "content": "long " * 20}]}
    bodies = {sha(data): data for data in [kernel(large).encode(), bytes(range(200))]}
    names = list(bodies)

    def body_file(name):
        return {"path": f"input.bodies/{name}", "sha256": name, "bytes": len(bodies[name])}

    held = {"method": "POST", "path": "/v1/chat/completions", "body_file": body_file(names[0])}
    with_files = {**recording, "interactions": [
        exchange(0, held, large, f"sha256:{names[1]}", chunks=[200], body_file=body_file(names[1]))]}

    def with_bodies(name, edit=lambda recording: None, **changed):
        value = copy.deepcopy(with_files)
        edit(value)
        write_text("model-io", name, kernel(value) + "\n")
        folder = HERE / "model-io" / name / "input.bodies"
        folder.mkdir()
        for at, (digest, data) in enumerate(bodies.items()):
            data = changed.get(["request", "response"][at], data)
            if data is not None:
                (folder / digest).write_bytes(data)

    with_bodies("ok-proxy-large-bodies")
    with_bodies("mi15-body-changed", response=bytes(200))
    with_bodies("mi15-body-missing", response=None)
    with_bodies("mi15-size-differs", put([*first, "request", "body_file", "bytes"], 1))
    with_bodies("mi15-request-changed", request=kernel(chat).encode())
    with_bodies("ok-proxy-large-bodies-read", put([*first, "reading"], {"api": "openai.chat"}))
    with_bodies("mi16-large-response-says-something-else",
                put([*first, "reading"], {"api": "openai.chat", "text": "Hé"}))
    with_bodies("mi13-large-request-of-another-hash", put([*first, "prompt_hash"], content_hash("x")))
    with_bodies("mi14-body-is-another-file",
                put([*first, "response", "body_file"], body_file(names[0])))
    # In a pack no file may lie beside a recording, so it holds them itself.
    held_bodies = {**with_files, "bodies": {
        names[0]: {"text": bodies[names[0]].decode()},
        names[1]: {"base64": base64.b64encode(bodies[names[1]]).decode()}}}
    write_text("model-io", "ok-proxy-bodies-held", kernel(held_bodies) + "\n")

    def held_case(name, edit):
        edit_document("model-io", "ok-proxy-bodies-held", name, edit)

    held_case("mi15-held-body-changed", put(["bodies", names[1], "base64"], "AAEC"))
    held_case("mi15-held-body-missing", drop("bodies", names[1]))
    held_case("mi15-held-body-that-nobody-names", put(["bodies", sha("x")], {"text": "x"}))
    held_case("mi15-held-body-is-a-number", put(["bodies", names[1]], 1))
    held_case("mi13-held-request-changed", put(["bodies", names[0], "text"], "{}"))
    # A path of the document is never followed.
    with_bodies("ok-proxy-path-is-not-followed",
                put([*first, "response", "body_file", "path"], "../../../etc/passwd"))


def make_runners():
    def case(name, edit):
        edit_document("runner", "ok-executed", name, edit)

    def phases(runner):
        start = runner["timing"]["started_at"]
        runner["timing"]["phases"] = [{"name": "run", "started_at": start, "duration_ms": 0}]
        runner["warnings"] = ["a", "b"]
        runner["ephemeral"] = {"pid": 7}

    case("ok-phases", phases)
    case("schema-exit-missing", drop("exit"))
    case("schema-write-root-is-a-number", put(["write_roots"], [1]))
    case("schema-warnings-unsorted", put(["warnings"], ["b", "a"]))
    case("schema-phase-without-name", put(["timing", "phases"],
         [{"started_at": "2026-01-02T03:04:05Z", "duration_ms": 1}]))
    case("rn1-version-unknown", put(["runner_schema_version"], "2.0.0"))
    case("rn2-id-of-another-form", put(["runner_id"], "runner_1"))
    case("rn3-os-unknown", put(["platform", "os"], "plan9"))
    case("rn3-node-version-without-v", put(["platform", "node_version"], "20.0.0"))
    case("rn4-isolation-none-in-a-process", put(["sandbox", "isolation_level"], "none"))
    case("rn4-backend-missing", lambda r: (put(["sandbox", "isolation_level"], "none")(r), drop("sandbox", "backend")(r)))
    case("rn4-network-is-a-text", put(["sandbox", "network_blocked"], "yes"))
    case("rn5-timeout-below-bound", put(["limits", "timeout_ms"], 999))
    case("rn5-memory-zero", put(["limits", "max_memory_bytes"], 0))
    case("rn6-allowlist-unsorted", put(["commands", "allowlist"], ["npm", "node"]))
    case("rn6-command-in-both", put(["commands", "blocklist"], ["node"]))
    case("rn7-root-climbs", put(["write_roots"], ["../out"]))
    case("rn8-secret-passed-on", put(["context", "env_allowlist"], ["AWS_SECRET_ACCESS_KEY"]))
    case("rn8-working-dir-of-the-host", put(["context", "working_dir"], "/home/me"))
    case("rn9-ends-before-it-starts", put(["timing", "completed_at"], "2001-01-01T00:00:00.000Z"))
    case("rn9-duration-wrong", put(["timing", "duration_ms"], 5000))
    case("rn10-code-above-255", put(["exit", "code"], 256))
    case("rn10-signal-lower-case", put(["exit", "signal"], "sigkill"))
    runner = read_json("runner", "ok-executed")
    runner["ephemeral"] = {"load": 0}
    write_text("runner", "rn12-number-beyond-a-double",
               kernel(runner).replace('"load":0', '"load":1e400') + "\n")


# Packs

def rewrite(path, edit, write=kernel):
    value = json.loads(path.read_text())
    edited = edit(value)
    path.write_text(write(edited if isinstance(edited, (dict, list)) else value) + "\n")


def seal_pack(folder):
    """Puts the hashes in run.json right, where it has them, as a forger would."""
    path = folder / "run.json"
    run = json.loads(path.read_text())
    if "files" in run:
        run["files"] = {name: content_hash((folder / name).read_bytes())
                        for name in run["files"] if (folder / name).is_file()}
    if "self_hash" in run:
        run["self_hash"] = "sha256:" + canonical_hash(without(run, "self_hash"))
    path.write_text(kernel(run) + "\n")


def make_packs():
    def case(name, edit, base="ok-executed", seal=True):
        def whole(folder):
            edit(folder)
            if seal:
                seal_pack(folder)
        edit_folder("pack", base, name, whole)

    def member(file, edit):
        return lambda folder: rewrite(folder / file, edit)

    def bundle_of_another(folder):
        rewrite(folder / "bundle.json", lambda b: (put(["outputs", 0, "confidence"], 1)(b), bundle_id(b))[1])

    def link(folder):
        (folder / "policy.json").unlink()
        (folder / "policy.json").symlink_to("/etc/hostname")

    def folder_inside(folder):
        (folder / "notes").mkdir()
        (folder / "notes/todo.txt").write_text("nothing\n")

    def minimal(folder):
        for path in folder.iterdir():
            if path.name not in ("run.json", "bundle.json"):
                path.unlink()
        run = without(json.loads((folder / "run.json").read_text()), "files", "self_hash")
        (folder / "run.json").write_text(json.dumps(run, indent=2))

    case("pl2-name-missing", lambda f: rewrite(f / "policy.json", drop("name")))
    case("pk3-policy-is-a-text", lambda f: rewrite(f / "run.json", put(["policy"], "default")))
    case("pk3-version-with-a-leading-zero", lambda f: rewrite(f / "run.json", put(["run_schema_version"], "1.00.0")))
    case("rs3-execution-missing", lambda f: rewrite(f / "run.json", drop("execution")))
    case("rs3-outputs-twice", lambda f: rewrite(f / "run.json", lambda r: r["execution"].update(
        outputs=r["execution"]["outputs"][:1] * 2,
        total_output_bytes=2 * r["execution"]["outputs"][0]["size_bytes"])))
    case("ok-executed", member("evidence.json", hashes_alone), base="ok-contents")
    case("outside-minimal", minimal, base="ok-clarify", seal=False)
    case("pk1-bundle-missing", lambda f: (f / "bundle.json").unlink())
    case("pk1-run-missing", lambda f: (f / "run.json").unlink(), seal=False)
    case("pk2-file-unknown", lambda f: (f / "notes.txt").write_text("x\n"))
    case("pk2-evidence-of-a-question", lambda f: shutil.copy(
        HERE / "pack/ok-executed/input/evidence.json", f), base="ok-clarify")
    case("pk3-run-id-missing", member("run.json", drop("run_id")))
    for name, way, value in [
            ("version-9-9", ["run_schema_version"], "9.9"), ("run-id-null", ["run_id"], None),
            ("decision-text", ["decision"], "x"), ("policy-list", ["policy"], []),
            ("intent-null", ["intent"], None), ("time-number", ["started_at"], 5),
            ("accepted-text", ["decision", "accepted"], "true"), ("reasons-text", ["decision", "reasons"], "x"),
            ("bundle-id-null", ["bundle", "bundle_id"], None)]:
        case(f"pk3-{name}", member("run.json", put(way, value)))
    for name in ("proposal_id", "proposal_hash", "action_results", "test_results", "status"):
        case(f"pk8-evidence-{name.replace('_', '-')}-text" if name.endswith("results") else
             f"pk8-evidence-{name.replace('_', '-')}-null",
             member("evidence.json", put([name], "x" if name.endswith("results") else None)))
    case("pk9-line-of-nulls", member("ledger.jsonl", lambda line: line.update(dict.fromkeys(line))))

    def outside(edit):
        """A pack that lists no files, with one more file or other content."""
        def change(folder):
            edit(folder)
            run = without(json.loads((folder / "run.json").read_text()), "files", "self_hash")
            (folder / "run.json").write_text(kernel(run) + "\n")
        return change

    case("pk13-ledger-empty", outside(lambda f: (f / "ledger.jsonl").write_text("")), seal=False)
    case("rs6-intent-path-climbs-by-backslash", member("run.json", put(["intent", "path"], "a\\..\\..\\b")))
    case("rs3-reason-of-another-refusal", member("run.json", put(["decision", "reason"], "other")), base="ok-refuse")
    case("pk8-patch-operations-missing", member("patch.json", drop("operations")), base="ok-contents")
    case("pk3-execution-outputs-missing", member("run.json", lambda r: (
        r["execution"].pop("outputs"), r.pop("run_id"))), base="ok-contents")
    case("pk3-outcome-unknown", member("run.json", put(["kernel_result_kind"], "DONE")))
    case("pk3-bundle-of-a-refusal", member("run.json", put(["bundle"], {"bundle_id": "b", "sha256": "s"})),
         base="ok-refuse")
    case("pk3-intent-path-absolute", member("run.json", put(["intent", "path"], "/home/me/intent.json")))
    case("pk4-bundle-invalid", member("bundle.json", put(["outputs", 0, "path"], "../x.md")))
    case("pk5-bundle-of-another-run", bundle_of_another)

    def goal_of_another(folder):
        bundle_of_another(folder)
        bundle = json.loads((folder / "bundle.json").read_text())
        reference = {"bundle_id": bundle["id"], "sha256": "sha256:" + canonical_hash(bundle)}
        rewrite(folder / "run.json", put(["bundle"], reference))
        rewrite(folder / "ledger.jsonl", put(["bundle_sha256"], reference["sha256"]))

    case("pk17-proposal-of-another-bundle", goal_of_another, base="ok-contents")
    case("pk6-link", link, seal=False)
    case("pk8-patch-climbs", member("patch.json", put(["operations", 0, "path"], "../x")))
    case("pk8-proposal-hash-malformed", member("evidence.json", put(["proposal_hash"], "none")))
    case("pk8-policy-not-the-runs", member("policy.json", put(["timeout_ms"], 30000)))
    case("pk8-meta-is-no-json", lambda f: (f / "meta.json").write_text("{"))
    case("pk9-line-without-timestamp", member("ledger.jsonl", drop("timestamp")))
    case("pk12-folder", folder_inside)
    case("pk13-ledger-of-another-run", member("ledger.jsonl", put(["run_id"], "run_0000000000000000")))
    case("pk13-evidence-of-another-proposal", member(
        "evidence.json", put(["proposal_id"], "prop_0123456789abcdef")))
    case("pk14-reasons-changed", member("run.json", put(["decision", "reasons"], ["fine"])), seal=False)
    case("pk14-file-changed", lambda f: (f / "bundle.json").write_text(
        (f / "bundle.json").read_text() + "\n"), seal=False)
    case("pk14-commitment-of-a-word", member("run.json", put(["redaction"], {"commitment": "x"})), base="ok-refuse")
    case("pk14-file-not-listed", lambda f: (
        rewrite(f / "run.json", drop("files", "policy.json")), seal_pack(f)), seal=False)
    case("pk15-runner-of-another-time", member("runner.json", lambda r: r["timing"].update(
        started_at="2001-01-01T00:00:00.000Z", completed_at="2001-01-01T00:00:00.000Z")))
    case("rs1-version-unknown", member("run.json", put(["run_schema_version"], "2.0.0")))
    case("rs3-sizes-do-not-add-up", member("run.json", put(["execution", "total_output_bytes"], 1)))
    case("rs3-questions-of-a-bundle", member("run.json", put(["clarify_questions"], ["Why?"])))
    case("rs5-policy-not-the-profile", lambda f: [
        rewrite(f / "policy.json", put(["timeout_ms"], 45000)),
        rewrite(f / "run.json", put(["policy", "timeout_ms"], 45000)),
        rewrite(f / "runner.json", put(["limits", "timeout_ms"], 45000))])
    custom = {"custom": True, "allowed_commands": ["node", "python3"], "allowed_model_modes": ["none"],
              "allowed_models": []}

    def with_policy(changes):
        def edit(folder):
            rewrite(folder / "policy.json", lambda p: p.update(changes))
            rewrite(folder / "run.json", lambda r: r["policy"].update(changes))
            rewrite(folder / "runner.json", lambda r: r["commands"].update(
                allowlist=sorted(changes.get("allowed_commands", ["node", "npm", "npx"]))))
        return edit

    case("ok-custom-policy", with_policy(custom))
    case("rs5-custom-policy-not-resolved", with_policy(without(custom, "allowed_models")))
    case("rs5-custom-policy-with-another-member", with_policy({**custom, "allow_all": True}))
    case("rs5-profile-as-custom", with_policy({"custom": True}))

    def printed(evidence):
        """A content that is text and not empty."""
        return next(hash for hash, entry in evidence["contents"].items() if entry.get("text"))

    case("pk16-content-missing", member("evidence.json", lambda e: (
        e["contents"].pop(printed(e)),)), base="ok-contents")
    case("pk16-content-of-nothing", member("evidence.json", lambda e: e["contents"].update(
        {content_hash("planted"): {"size_bytes": 7, "text": "planted"}})), base="ok-contents")
    case("pk16-printed-something-else", member("run.json", put(
        ["execution", "stdout_sha256"], content_hash("something else"))), base="ok-contents")
    case("ev6-content-changed", member("evidence.json", lambda e: e["contents"][printed(e)].update(
        text="other")), base="ok-contents")
    case("ev7-proposal-changed", member("evidence.json", put(["proposal", "summary"], "Something else")),
         base="ok-contents")
    case("rs6-intent-path-climbs", member("run.json", put(["intent", "path"], "../intent.json")))
    case("rs7-run-laid-out", lambda f: (seal_pack(f), (f / "run.json").write_text(
        json.dumps(json.loads((f / "run.json").read_text()), indent=1))), seal=False)
    case("rs8-failure-accepted", member("run.json", put(["execution", "exit_code"], 1)))
    case("ev4-failed-action-beside-complete", member(
        "evidence.json", put(["action_results", 0, "status"], "failure")))
    case("pl3-bound-broken", lambda f: [
        rewrite(f / "policy.json", put(["max_output_files"], 0)),
        rewrite(f / "run.json", put(["policy", "max_output_files"], 0))])
    case("ld4-intent-hash-malformed", member("ledger.jsonl", put(["intent_sha256"], "sha256:0")))


# Job bundles

def seal_manifest(manifest):
    """Puts root hash and bundle id right."""
    lines = "".join(f"{a['artifact_id']}:{a['sha256']}\n" for a in manifest["artifacts"])
    manifest["hashes"]["root_hash"] = sha(lines or "\n")
    blank = copy.deepcopy(manifest)
    blank["bundle_id"] = blank["hashes"]["root_hash"] = ""
    manifest["bundle_id"] = sha(job(blank))


def make_job_bundles():
    def case(name, edit, seal=True, base="ok-handbook"):
        def whole(folder):
            path = folder / "bundle.json"
            manifest = json.loads(path.read_text())
            edit(manifest, folder)
            if seal:
                seal_manifest(manifest)
            path.write_text(job(manifest) + "\n")
        edit_folder("job-bundle", base, name, whole)

    def member(edit):
        return lambda manifest, folder: edit(manifest)

    def artifact(manifest, folder, at=0):
        return folder / manifest["artifacts"][at]["path"]

    def refill(text):
        """Another content, with hash and size put right."""
        def edit(manifest, folder):
            artifact(manifest, folder).write_bytes(text)
            manifest["artifacts"][0].update(sha256=sha(text), bytes=len(text))
        return edit

    def unread(manifest, folder):
        manifest["steps"].pop()

    def link(manifest, folder):
        (folder / "artifacts/more.txt").symlink_to("/etc/hostname")

    def plan(manifest):
        fields = ("constraints", "expected_outputs", "op", "ordinal", "refs", "step_id")
        steps = [{name: step[name] for name in fields} for step in manifest["steps"]]
        manifest["plan_hash"] = sha(job({"run_id": manifest["run_id"], "steps": steps}))

    def all_of_it(manifest, folder):
        old = manifest["steps"][0]["constraints"]["slice"]
        ref = manifest["steps"][0]["refs"]["section_id"]
        manifest["steps"][0]["constraints"]["slice"] = "ALL"
        for entry in manifest["artifacts"]:
            if entry["slice"] == old and entry["ref"] == ref:
                entry["slice"] = "ALL"
        plan(manifest)

    def raw(name, old, new):
        def edit(folder):
            path = folder / "bundle.json"
            text = path.read_text()
            if old not in text:
                sys.exit(f"job-bundle/{name}: `{old}` is not in the base")
            path.write_text(text.replace(old, new, 1))
        edit_folder("job-bundle", "ok-handbook", name, edit)

    raw("jb1-key-twice", '{"artifacts":', '{"artifacts":[],"artifacts":')
    edit_folder("job-bundle", "ok-handbook", "jb1-no-manifest", lambda f: (f / "bundle.json").unlink())
    case("jb2-root-hash-is-a-text", member(put(["hashes", "root_hash"], "x")), seal=False)
    case("jb2-bundle-id-is-a-number", member(put(["bundle_id"], 7)), seal=False)
    case("jb2-bundle-id-is-a-text", member(put(["bundle_id"], "x")), seal=False)
    case("jb2-artifact-id-missing", member(drop("artifacts", 0, "artifact_id")), seal=False)
    case("jb2-message-missing", member(drop("message_id")))
    case("jb2-op-unknown", member(put(["steps", 0, "op"], "READ_ALL")))
    case("jb2-version-of-another-protocol", member(put(["bundle_version"], "4.0.0")))
    case("jb3-artifacts-unsorted", member(lambda m: m["artifacts"].reverse()))
    case("jb3-steps-unsorted", member(lambda m: m["steps"].reverse()))
    case("jb4-artifact-changed", lambda m, f: artifact(m, f).write_bytes(
        artifact(m, f).read_bytes().replace(b"a", b"b", 1)))
    case("jb4-artifact-missing", lambda m, f: artifact(m, f).unlink())
    case("jb4-line-ends-changed", lambda m, f: artifact(m, f).write_bytes(
        artifact(m, f).read_bytes().replace(b"\n", b"\r\n")))
    case("jb5-size-wrong", member(put(["artifacts", 0, "bytes"], 1)))
    case("jb6-no-final-newline", refill(b"no newline"))
    case("jb6-two-final-newlines", refill(b"two newlines\n\n"))
    case("jb7-root-hash-wrong", member(lambda m: (seal_manifest(m), m["hashes"].update(root_hash=sha("")))),
         seal=False)
    case("jb8-bundle-id-wrong", member(put(["bundle_id"], sha(""))), seal=False)
    case("jb9-slice-all", all_of_it)
    case("jb9-artifact-of-no-step", unread)
    case("jb10-timestamp", member(put(["timestamp"], "2026-01-02T03:04:05Z")))
    case("jb10-path-climbs", member(put(["artifacts", 0, "path"], "artifacts/../../x.txt")))
    case("jb10-link", link)
    case("jb11-plan-hash-wrong", member(put(["plan_hash"], sha(""))))
    edit_folder("job-bundle", "ok-handbook", "jb12-laid-out", lambda f: (f / "bundle.json").write_text(
        json.dumps(json.loads((f / "bundle.json").read_text()), indent=1) + "\n"))
    case("jb13-file-unknown", lambda m, f: (f / "notes.txt").write_text("x\n"))
    case("jb13-provenance-not-empty", member(put(["provenance", "host"], "me")))
    case("jb14-kind-of-the-other-op", member(put(["artifacts", 0, "kind"], "SYMBOL_SLICE")))
    for name in ("steps", "artifacts", "inputs", "hashes"):
        def take(manifest, folder, name=name):
            manifest.pop(name)
        case(f"jb2-{name}-missing", take, seal=False)
        case(f"jb2-{name}-null", member(put([name], None)), seal=False)
    case("jb2-slice-missing", member(drop("steps", 0, "constraints", "slice")), seal=False)

    def both_ops(manifest, folder):
        # Another step reads the same as a symbol.
        step = copy.deepcopy(manifest["steps"][-1])
        ref = step["refs"]["section_id"]
        step.update(op="READ_SYMBOL", ordinal=step["ordinal"] + 1, refs={"symbol_id": ref}, step_id="step_symbol")
        manifest["steps"].append(step)
        plan(manifest)

    case("jb14-kind-of-one-of-two-ops", both_ops)
    case("jb14-commitment-of-nothing", member(put(["provenance"], {"redaction": {}})))
    case("jb14-inputs-incomplete", member(lambda m: m["inputs"]["slices"].pop()))


# Receipts

def receipt_hash(receipt):
    receipt["receipt_hash"] = sha(job({**without(receipt, "receipt_hash"), "attestation": None}) + "\n")


def make_receipts():
    def write(name, value, arguments=None, **files):
        folder = place("receipt", name)
        (folder / "input.json").write_text(job(value) + "\n")
        for file, content in files.items():
            (folder / f"{file}.json").write_text(json.dumps(content, indent=2) + "\n")
        if arguments:
            (folder / "arguments.json").write_text(json.dumps(arguments) + "\n")

    plain = read_json("receipt", "ok-unsigned")
    signed = read_json("receipt", "ok-signed")
    chain = read_json("receipt", "ok-chain")

    def case(name, edit, base=plain, hashed=True):
        value = copy.deepcopy(base)
        edit(value)
        if hashed:
            receipt_hash(value)
        write(name, value)

    key = signed["attestation"]["public_key"]
    entry = {"validator_id": "val-1", "public_key": key, "schemes": ["ed25519"],
             "scope": ["RECEIPT", "MERKLE"], "enabled": True}

    def policy(**changes):
        return {"policy_version": "1.0.0", "allow": [{**entry, **changes}]}

    trusting = ["--trust", "trust.json", "--strict-trust"]
    naming = ["--trust", "trust.json", "--strict-identity"]
    write("ok-trusted", signed, trusting, trust=policy())
    case("rc1-outcome-unknown", put(["outcome"], "MAYBE"))
    case("rc1-root-hash-missing", drop("root_hash"))
    case("rc1-steps-unsorted", lambda r: r["steps"].reverse())
    case("rc1-bytes-negative", put(["artifacts", 0, "bytes"], -1))
    case("rc1-index-missing", drop("receipt_index"))
    write("rc1-list-empty", [])
    case("rc2-outcome-changed", put(["outcome"], "FAILURE"), hashed=False)
    case("rc2-hash-of-another", put(["receipt_hash"], sha("")), hashed=False)
    write("rc3-first-missing", chain[1:])
    write("rc3-order-reversed", chain[::-1])

    def reindex(chain):
        chain = copy.deepcopy(chain)
        chain[1]["receipt_index"] = 5
        receipt_hash(chain[1])
        return chain

    write("rc4-index-skips", reindex(chain))
    case("rc5-content-changed-after-signing", put(["run_id"], "another"), base=signed)
    case("rc5-key-upper-case", lambda r: r["attestation"].update(
        public_key=r["attestation"]["public_key"].upper()), base=signed)
    case("rc5-scheme-unknown", put(["attestation", "scheme"], "rsa"), base=signed)
    merkle = json.loads((HERE / "receipt/ok-merkle/merkle.json").read_text())
    write("rc6-root-of-another-chain", plain, ["--merkle", "merkle.json"], merkle=merkle)
    write("rc6-signature-changed", chain, ["--merkle", "merkle.json"],
          merkle={**merkle, "signature": merkle["signature"][::-1]})
    write("rc7-unsigned", plain, trusting, trust=policy())
    write("rc7-key-unknown", signed, trusting, trust=policy(public_key="11" * 32))
    write("rc7-key-disabled", signed, trusting, trust=policy(enabled=False))
    write("rc7-key-for-merkle-only", signed, trusting, trust=policy(scope=["MERKLE"]))
    write("rc7-validator-not-named", signed, naming, trust=policy())

    def fail(step):
        step.update(outcome="FAILURE", result=None,
                    error={"code": "X", "message": "no such section", "step_id": None})

    case("rc8-success-with-a-failed-step", lambda r: fail(r["steps"][0]))
    case("rc8-success-with-an-error", put(
        ["error"], {"code": "X", "message": "stopped", "step_id": None}))
    case("rc8-failure-without-a-reason", put(["outcome"], "FAILURE"))
    case("rc8-step-without-a-result", put(["steps", 0, "result"], None))
    case("rc1-steps-missing", drop("steps"))
    case("rc1-result-missing", drop("steps", 0, "result"))
    case("rc1-error-is-a-text", put(["error"], "no such section"))
    case("rc1-outcome-of-a-step-missing", lambda r: (drop("steps", 0, "outcome")(r), put(["outcome"], "FAILURE")(r)))
    for member in ("parent_receipt_hash", "receipt_index"):
        value = copy.deepcopy(chain)
        del value[-1][member]
        receipt_hash(value[-1])
        write(f"rc1-{member.replace('_', '-')}-of-the-last-missing", value)
    case("rc9-root-of-nothing", put(["root_hash"], "0" * 64))
    case("rc9-artifact-of-no-step", put(["artifacts", 0, "sha256"], sha("another")))
    case("rc9-size-of-another", lambda r: r["steps"][0]["result"].update(bytes=1))


def make_trust_policies():
    key = read_json("receipt", "ok-signed")["attestation"]["public_key"]
    entry = {"validator_id": "val-1", "public_key": key, "build_id": "git:0123abc",
             "schemes": ["ed25519"], "scope": ["RECEIPT"], "enabled": True}
    write_text("trust-policy", "ok-one-key", json.dumps({"policy_version": "1.0.0", "allow": [entry]}))
    write_text("trust-policy", "ok-nobody", json.dumps({"policy_version": "1.0.0", "allow": []}))

    def case(name, edit):
        value = {"policy_version": "1.0.0", "allow": [copy.deepcopy(entry)]}
        edit(value)
        write_text("trust-policy", name, json.dumps(value) + "\n")

    def of_entry(name, value):
        return put(["allow", 0, name], value)

    case("bad-version", put(["policy_version"], "2.0.0"))
    case("bad-allow-is-an-object", put(["allow"], {}))
    case("bad-member-unknown", put(["deny"], []))
    case("bad-entry-member-unknown", of_entry("expires", "never"))
    case("bad-enabled-missing", drop("allow", 0, "enabled"))
    case("bad-scope-empty", of_entry("scope", []))
    case("bad-scope-unknown", of_entry("scope", ["ALL"]))
    case("bad-scheme-missing", of_entry("schemes", ["rsa"]))
    case("bad-key-short", of_entry("public_key", "00"))
    case("bad-build-id", of_entry("build_id", "svn:1"))
    case("bad-validator-empty", of_entry("validator_id", ""))
    case("bad-key-twice", lambda p: p["allow"].append({**entry, "validator_id": "val-2"}))
    case("bad-validator-twice", lambda p: p["allow"].append({**entry, "public_key": "22" * 32}))


# Run bundles

def seal_run(folder, meta=False):
    """Puts sums and index right, and with `meta` the hashes of the contracts."""
    path = folder / "RUN_META.json"
    if meta and path.is_file():
        value = json.loads(path.read_text())
        for name in value["contracts_hashes"]:
            value["contracts_hashes"][name] = sha((folder / name).read_bytes())
        path.write_text(kernel(value))
    index_path = folder / "ARTIFACT_INDEX.json"
    index = json.loads(index_path.read_text())
    for entry in index["artifacts"]:
        file = folder / entry["relative_path"]
        if file.is_file() and not file.is_symlink():
            entry["sha256"] = sha(file.read_bytes())
    index_path.write_text(kernel(index))
    lines = []
    for line in (folder / "SHA256SUMS.txt").read_text().splitlines():
        digest, name = line.split("  ", 1)
        file = folder / name
        if file.is_file() and not file.is_symlink():
            digest = sha(file.read_bytes())
        lines.append(f"{digest}  {name}\n")
    (folder / "SHA256SUMS.txt").write_text("".join(lines))


def seal_hashes(folder):
    """Puts inputs_hash and outputs_hash right."""
    path = folder / "RUN_OUTPUT.json"
    output = json.loads(path.read_text())
    output["inputs_hash"] = sha((folder / "RUN_INPUT.json").read_bytes())
    manifest = json.loads((folder / "ENGINE_MANIFEST.json").read_text())
    payload = manifest.get("sealing", {}).get("outputs_hash_scope") == "payload"
    hashed = output["outputs"] if payload else without(output, "outputs_hash")
    output["outputs_hash"] = sha(kernel(hashed))
    path.write_text(kernel(output))


def make_run_bundles():
    def case(name, edit, base="ok-sealed", hashes=True, seal=True, meta=True):
        def whole(folder):
            edit(folder)
            if hashes:
                seal_hashes(folder)
            if seal:
                seal_run(folder, meta)
        edit_folder("run-bundle", base, name, whole)

    def member(file, edit):
        def change(folder):
            path = folder / file
            value = json.loads(path.read_text())
            edit(value)
            path.write_text(kernel(value))
        return change

    def sums(edit):
        def change(folder):
            path = folder / "SHA256SUMS.txt"
            path.write_text("".join(edit(path.read_text().splitlines(keepends=True))))
        return change

    def index(edit):
        return member("ARTIFACT_INDEX.json", lambda value: edit(value["artifacts"]))

    def link(name):
        def change(folder):
            path = folder / name
            if path.exists():
                path.unlink()
            path.symlink_to("/etc/hostname")
        return change

    def laid_out(folder):
        path = folder / "RUN_INPUT.json"
        path.write_text(json.dumps(json.loads(path.read_text()), indent=1))

    def recorded_code(folder):
        for name, way in [("ENGINE_MANIFEST.json", []), ("RUN_META.json", []), ("RUN_OUTPUT.json", ["engine"])]:
            member(name, put([*way, "engine_code"], "RECORDED_COMMAND"))(folder)

    plain = {"hashes": False, "seal": False}
    artifact = "artifacts/sweep.csv"
    case("rb1-output-missing", lambda f: (f / "RUN_OUTPUT.json").unlink(), **plain)
    case("rb1-sums-missing", lambda f: (f / "SHA256SUMS.txt").unlink(), **plain)
    case("rb1-link-for-the-input", link("RUN_INPUT.json"), **plain)
    case("rb2-file-unlisted", lambda f: (f / "notes.txt").write_text("x\n"))
    case("rb2-link", link("more"))
    case("rb3-input-against-schema", member("RUN_INPUT.json", put(["inputs", "steps"], "many")))
    case("rb3-schema-refers-outside", member("INPUT_SCHEMA.json", put(["$ref"], "https://example.com/s.json")))
    case("rb4-output-against-schema", member("RUN_OUTPUT.json", put(["outputs", "samples"], 0.5)))
    case("rb4-engine-missing", member("RUN_OUTPUT.json", drop("engine")))
    case("rb5-artifact-changed", lambda f: (f / artifact).write_text("frequency\n"), **plain)
    case("rb5-line-upper-case", sums(lambda lines: [lines[0].upper(), *lines[1:]]), **plain)
    case("rb5-line-twice", sums(lambda lines: lines + lines[-1:]), **plain)
    case("rb5-artifact-missing", lambda f: shutil.rmtree(f / "artifacts"), **plain)
    case("rb6-contract-changed", lambda f: (f / "SEALING_SPEC.md").write_text("Anything goes.\n"),
         hashes=False, meta=False)
    case("rb7-inputs-hash-of-another-input", member("RUN_OUTPUT.json", put(["inputs_hash"], sha(""))),
         hashes=False)
    case("rb7-outputs-hash-null", member("RUN_OUTPUT.json", put(["outputs_hash"], None)), hashes=False)
    case("rb8-user-in-context", member("RUN_INPUT.json", put(["context", "User_ID"], 7)))
    case("rb8-role-in-output", member("RUN_OUTPUT.json", put(["outputs", "role"], "admin")))
    case("rb9-direct-calls", member("COUPLING_RULES.json", put(["direct_engine_to_engine_calls"], True)))
    case("rb9-engine-not-allowed", member("COUPLING_RULES.json", put(
        ["allowed_inputs_from_other_engines"], [])), base="ok-upstream")
    case("rb9-lists-differ", member("INPUT_ARTIFACT_INDEX.json", lambda v: v["artifacts"].pop()),
         base="ok-upstream")
    case("rb9-allowed-is-nobody", member("COUPLING_RULES.json", put(
        ["allowed_inputs_from_other_engines"], ["RESONANCE_SWEEP", None, 5, {"engine_code": "X", "via": "DIRECT"}])))
    case("rb10-version-of-another-engine", member("RUN_META.json", put(["engine_version"], "9.9.9")))
    case("rb10-second-60-at-noon", member("RUN_META.json", put(["sealed_at"], "2026-01-02T12:00:60Z")))
    case("ok-leap-second", member("RUN_META.json", put(["sealed_at"], "2016-12-31T23:59:60Z")))
    case("rb10-sealed-at-no-time", member("RUN_META.json", put(["sealed_at"], "2026-01-02 03:04:05")))
    case("rb10-contract-not-named", member("RUN_META.json", drop("contracts_hashes", "SEALING_SPEC.md")))
    case("rb11-role-unknown", index(put([0, "role"], "SECRET")))
    case("rb11-entry-missing", index(drop(-1)))
    case("rb10-code-of-recorded-commands", recorded_code)
    case("rb11-role-of-another-path", index(put([-1, "role"], "LOG")))
    case("rb11-name-of-another", index(put([-1, "artifact_name"], "results.csv")))
    case("rb11-type-of-another", index(put([-1, "content_type"], "text/plain")))
    case("rb12-laid-out", laid_out, **plain)
    case("rb12-sums-unsorted", sums(lambda lines: lines[::-1]), **plain)
    recorded = {"base": "ok-recorded"}
    case("rb13-script-replaced", lambda f: (f / "engine/analyse.py").write_text("print(3)\n"), **recorded)
    case("rb13-value-of-another", lambda f: (f / "engine/settings.json").write_text("{}"), **recorded)
    case("rb13-file-not-read", member("RUN_INPUT.json", lambda v: v["files"].pop(0)), **recorded)

    def lean(name, edit):
        """The same of a run that used two files of its machine: the list of all of them is what a case is large by."""
        def change(folder):
            member("RUN_ENVIRONMENT.json", lambda v: v.update(files=v["files"][:2]))(folder)
            edit(folder)
        case(name, change, **recorded)

    lean("rb13-size-of-what-was-read", member("RUN_INPUT.json", put(["files", 2, "bytes"], 7)))
    lean("rb13-size-of-what-was-printed", member("RUN_OUTPUT.json", put(["stdout", "bytes"], 8)))
    lean("rb13-path-of-another-place", member("RUN_INPUT.json", put(["files", 2, "path"], "other.txt")))
    lean("rb13-path-climbs", member("RUN_INPUT.json", put(["files", 2, "path"], "../values.txt")))
    lean("rb13-listed-twice", member("RUN_INPUT.json", lambda v: v["files"].append(v["files"][2])))
    def without_twin(folder):
        (folder / "engine/settings.json").unlink()
        index(lambda entries: entries.remove(
            next(entry for entry in entries if entry["relative_path"] == "engine/settings.json")))(folder)
        sums(lambda lines: [line for line in lines if not line.endswith("  engine/settings.json\n")])(folder)

    lean("rb13-twin-missing", without_twin)
    lean("rb15-command-of-another-run", member("ENGINE_MANIFEST.json", put(
        ["execution", "command", 1], "other.py")))
    lean("rb15-failed-and-says-it-did-not", member("RUN_OUTPUT.json", put(["exit_status"], 3)))
    lean("rb15-did-not-fail-and-says-it-did", member("RUN_OUTPUT.json", put(["failed"], True)))
    lean("rb15-signal-beside-a-status", member("RUN_OUTPUT.json", put(["signal"], 9)))
    lean("rb15-variable-of-another-value", member("RUN_ENVIRONMENT.json", put(
        ["variables", "RUNSEAL_PARAM_unit"], "inch")))
    lean("rb15-program-of-another-hash", member("RUN_META.json", put(
        ["engine_executable_sha256"], "0" * 64)))
    # What is missing silences RB13 and RB15: another rule asks for it.
    for name in ("failed",):
        lean(f"rb18-{name.replace('_', '-')}-missing", member("RUN_OUTPUT.json", drop(name)))
    lean("rb18-parameters-missing", member("RUN_INPUT.json", drop("parameters")))
    lean("rb18-files-missing", member("RUN_INPUT.json", drop("files")))
    lean("rb18-digest-of-what-was-read-missing", member("RUN_INPUT.json", drop("files", 2, "sha256")))
    lean("rb16-variables-missing", member("RUN_ENVIRONMENT.json", drop("variables")))
    lean("rb15-parameter-of-no-variable", member("RUN_INPUT.json", drop("environment", "RUNSEAL_PARAM_unit")))
    # 2^53 - 1 is the largest integer that every reader tells from its neighbours.
    lean("ok-count-2-53-less-1", member("RUN_ENVIRONMENT.json", put(["usage"], {"wall_ms": 2**53 - 1})))
    lean("rb16-count-2-53", member("RUN_ENVIRONMENT.json", put(["usage"], {"wall_ms": 2**53})))
    lean("rb18-time-2-53", lambda f: ((f / "INPUT_SCHEMA.json").write_text("{}"), member(
        "RUN_INPUT.json", put(["fixed_time"], 2**53))(f)))

    def interrupted(has_failed):
        def change(folder):
            (folder / "OUTPUT_SCHEMA.json").write_text("{}")
            member("RUN_OUTPUT.json", lambda v: v.update(interrupted=2, failed=has_failed))(folder)
        return change

    lean("ok-interrupted", interrupted(True))
    lean("rb15-interrupted-and-says-it-did-not-fail", interrupted(False))
    lean("rb16-streams-of-another-word", member("RUN_ENVIRONMENT.json", put(["streams"], {"stdin": "x"})))

    lean("rb15-file-of-the-machine-twice", member("RUN_ENVIRONMENT.json", lambda v: v["files"].append(
        v["files"][0])))
    def no_commitment(folder):
        member("RUN_ENVIRONMENT.json", lambda v: v.update(files=v["files"][:2]))(folder)
        member("REDACTION.json", lambda v: v.clear())(folder)

    case("rb15-commitment-of-nothing", no_commitment, base="ok-redactable")
    lean("rb16-member-missing", member("RUN_ENVIRONMENT.json", drop("observation", "level")))
    lean("rb16-variable-is-a-number", member("RUN_ENVIRONMENT.json", put(["variables", "HOME"], 7)))
    lean("rb16-files-is-an-object", member("RUN_ENVIRONMENT.json", put(["files"], {})))
    lean("rb16-version-unknown", member("RUN_ENVIRONMENT.json", put(["environment_version"], "2.0.0")))
    lean("rb18-member-of-nobody", lambda f: (
        (f / "OUTPUT_SCHEMA.json").write_text("{}"), member("RUN_OUTPUT.json", put(["accuracy"], 0.99))(f)))
    lean("ok-environment-with-more", member("RUN_ENVIRONMENT.json", put(["cloud"], {"zone": "a"})))

    def add_file(folder, name, text, role="INPUT", content_type="application/json"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        index_path = folder / "ARTIFACT_INDEX.json"
        value = json.loads(index_path.read_text())
        value["artifacts"].append({"artifact_name": path.name, "content_type": content_type,
                                   "relative_path": name, "role": role, "sha256": sha(text)})
        value["artifacts"].sort(key=lambda entry: entry["relative_path"])
        index_path.write_text(kernel(value))
        sums_path = folder / "SHA256SUMS.txt"
        lines = sums_path.read_text().splitlines(keepends=True) + [f"{sha(text)}  {name}\n"]
        sums_path.write_text("".join(sorted(lines, key=lambda line: line.split("  ", 1)[1])))

    def with_terminal(shown, listed=None):
        def change(folder):
            add_file(folder, "logs/terminal.cast", shown, "LOG", "application/octet-stream")
            data = (shown if listed is None else listed).encode()
            entry = {"bytes": len(data), "mode": "644", "path": "terminal.cast", "sha256": sha(data),
                     "stored": "logs/terminal.cast"}
            streams = dict.fromkeys(("stdin", "stdout", "stderr"), "terminal")
            member("RUN_ENVIRONMENT.json", lambda v: v.update(
                streams=streams, terminal={"columns": 80, "rows": 24, "recording": entry}))(folder)
        return change

    cast = '{"version":2,"width":80,"height":24}\n[0.5,"o","3\\r\\n"]\n'
    lean("ok-terminal", lambda f: with_terminal(cast)(f))
    lean("rb13-terminal-showed-something-else", lambda f: with_terminal(cast, cast.replace("3", "4"))(f))
    for folder_name, role in [("inputs", "INPUT"), ("logs", "LOG"), ("exact", "ARTIFACT")]:
        case(f"rb13-file-in-{folder_name}-that-nobody-lists", lambda f, at=folder_name, role=role: add_file(
            f, f"{at}/more.txt", "measured 42\n", role, "text/plain"))

    case("rb19-file-in-no-place", lambda f: add_file(f, "x/stdout.txt", "measured 42\n", "LOG", "text/plain"))

    case("rb13-file-without-a-list", lambda f: add_file(f, "engine/notes.txt", "never read\n", "ENGINE", "text/plain"))

    def unsorted_upstream(folder):
        for name, way in [("INPUT_ARTIFACT_INDEX.json", "artifacts"), ("RUN_INPUT.json", "input_artifact_index"),
                          ("RUN_OUTPUT.json", "input_artifact_index")]:
            member(name, lambda value: value.get(way, []).reverse())(folder)

    case("rb12-upstream-unsorted", unsorted_upstream, base="ok-upstream")

    def uncovered_integer(folder):
        # Both integers have one double, and so one hash.
        add_file(folder, "artifacts/large.json", '{"n":9007199254740992}', role="ARTIFACT")
        seal_run(folder, True)
        (folder / "artifacts/large.json").write_text('{"n":9007199254740993}')

    case("rb17-integer-beyond-the-hash", uncovered_integer, **plain)

    # In an archive, because version control knows no empty folders.
    target = place("run-bundle", "rb20-folder-empty") / "input.tar.gz"
    base = HERE / "run-bundle/ok-sealed/input"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for path in base.rglob("*") if path.is_file()):
            info = tarfile.TarInfo(f"run/{path.relative_to(base)}")
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
        folder = tarfile.TarInfo("run/artifacts/approved")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    target.write_bytes(gzip.compress(stream.getvalue(), mtime=0))

    def list_calls(folder):
        data = (folder / "model_io.json").read_bytes()
        entry = {"bytes": len(data), "mode": "644", "path": "model_io.json", "sha256": sha(data),
                 "stored": "model_io.json"}
        member("RUN_INPUT.json", put(["model_io"], entry))(folder)

    def with_calls(edit=lambda calls: None, then=list_calls):
        def change(folder):
            member("INPUT_SCHEMA.json", put(["properties", "model_io"], {"$ref": "#/$defs/file"}))(folder)
            calls = read_json("model-io", "ok-proxy")
            edit(calls)
            add_file(folder, "model_io.json", kernel(calls))
            then(folder)
        return change

    said = ["interactions", 0, "request", "body", "messages", 0, "content"]
    case("ok-recorded-models", with_calls(), **recorded)
    case("rb14-request-says-something-else", with_calls(put(said, "Good bye")), **recorded)
    case("rb14-not-listed", with_calls(then=lambda folder: None), **recorded)
    case("rb14-body-that-nobody-names", with_calls(then=lambda folder: (
        list_calls(folder),
        add_file(folder, "model_io.bodies/" + sha("x"), "x", content_type="application/octet-stream"))), **recorded)

    index_of = json.loads((HERE / "run-bundle/ok-sealed/input/ARTIFACT_INDEX.json").read_text())

    def bare_index(folder):
        (folder / "ARTIFACT_INDEX.json").write_text(kernel(index_of["artifacts"]))
        digest = sha((folder / "ARTIFACT_INDEX.json").read_bytes())
        text = (folder / "SHA256SUMS.txt").read_text().splitlines(keepends=True)
        text = [f"{digest}  ARTIFACT_INDEX.json\n" if line.endswith("  ARTIFACT_INDEX.json\n") else line
                for line in text]
        (folder / "SHA256SUMS.txt").write_text("".join(text))

    case("outside-index-is-a-list", bare_index, **plain)


# Engines

def make_engines():
    source = PROJECT / "examples/engines/resonance-sweep"
    names = ["ENGINE_MANIFEST.json", "INPUT_SCHEMA.json", "OUTPUT_SCHEMA.json",
             "COUPLING_RULES.json", "SEALING_SPEC.md", "engine.sh", "sweep.awk"]
    folder = place("engine", "ok-sweep") / "input"
    folder.mkdir()
    for name in names:
        shutil.copyfile(source / name, folder / name)

    def case(name, file, edit):
        edit_folder("engine", "ok-sweep", name, lambda f: rewrite(
            f / file, edit, lambda value: json.dumps(value, indent=2)))

    def elsewhere(folder):
        (folder / "MANIFEST").mkdir()
        (folder / "contracts").mkdir()
        for name in names[:5]:
            target = "MANIFEST" if name == names[0] else "contracts"
            (folder / name).rename(folder / target / name)
        rewrite(folder / "MANIFEST/ENGINE_MANIFEST.json", lambda m: m.update(
            io={"input_schema_file": "contracts/INPUT_SCHEMA.json",
                "output_schema_file": "contracts/OUTPUT_SCHEMA.json",
                "coupling_rules_file": "contracts/COUPLING_RULES.json"},
            sealing={"sealing_spec_file": "contracts/SEALING_SPEC.md"}))

    manifest, coupling, schema = names[0], names[3], names[1]
    edit_folder("engine", "ok-sweep", "ok-elsewhere", elsewhere)
    edit_folder("engine", "ok-sweep", "en1-sealing-spec-missing", lambda f: (f / "SEALING_SPEC.md").unlink())
    edit_folder("engine", "ok-sweep", "en1-contract-is-a-link", lambda f: (
        (f / "SEALING_SPEC.md").unlink(), (f / "SEALING_SPEC.md").symlink_to("engine.sh")))
    edit_folder("engine", "ok-sweep", "en2-manifest-is-no-json", lambda f: (f / manifest).write_text("{"))
    case("en2-integer-beyond-a-double", schema, put(["maximum"], 2**53 + 1))
    case("en2-coupling-is-a-list", coupling, lambda value: [value])
    case("en3-code-missing", manifest, drop("engine_code"))
    case("en3-code-climbs", manifest, put(["engine_code"], "../X"))
    case("en4-command-empty", manifest, put(["execution", "command"], []))
    case("en4-command-is-a-text", manifest, put(["execution", "command"], "sh engine.sh"))
    case("en5-schema-is-none", schema, put(["type"], "thing"))
    case("en5-schema-refers-outside", schema, put(["$ref"], "https://example.com/s.json"))
    case("en6-direct-calls", coupling, put(["direct_engine_to_engine_calls"], True))
    case("en6-allowed-is-nobody", coupling, put(["allowed_inputs_from_other_engines"], [None, 5, {"via": "DIRECT"}]))
    case("en6-delivery-model", coupling, put(["delivery_model"], "PEER"))
    case("en7-version-is-none", manifest, put(["compatibility", "replay_versions"], ["soon"]))
    case("en8-limit-negative", manifest, put(["execution", "limits", "memory_bytes"], -1))


# Bags

DECLARED = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
PAYLOAD = {"data/readings.csv": "hour,value\n0,17\n1,19\n", "data/notes/read me.txt": "Sensor 3, roof.\n"}


def sums(files, function):
    digest = lambda text: hashlib.new(function, text if isinstance(text, bytes) else text.encode()).hexdigest()
    return "".join(f"{digest(text)}  {name}\n" for name, text in sorted(files.items()))


def make_bag(case, payload=PAYLOAD, functions=("sha256", "sha512"), tags=None, edit=lambda files: None,
             late=lambda files: None, tagged=True):
    """A bag; `edit` changes its files before the tag manifests are made, `late` after that."""
    oxum = f"{sum(len(text.encode()) for text in payload.values())}.{len(payload)}"
    files = {"bagit.txt": DECLARED, "bag-info.txt": f"Source-Organization: Example\nPayload-Oxum: {oxum}\n",
             **payload, **(tags or {})}
    for function in functions:
        files[f"manifest-{function}.txt"] = sums(payload, function)
    edit(files)
    outside = {name: text for name, text in files.items() if not name.startswith("data/")}
    for function in functions if tagged else ():
        files[f"tagmanifest-{function}.txt"] = sums(outside, function)
    late(files)
    folder = place("bag", case) / "input"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def make_bags():
    readings = "data/readings.csv"

    def replace(name, old, new):
        def edit(files):
            if old not in files[name]:
                sys.exit(f"bag: `{old}` is not in {name}")
            files[name] = files[name].replace(old, new, 1)
        return edit

    def add(name, text):
        return lambda files: files.update({name: text})

    def lose(*names):
        return lambda files: [files.pop(name) for name in names]

    def old(files):
        files["bagit.txt"] = DECLARED.replace("1.0", "0.97")

    def all_of(*edits):
        return lambda files: [edit(files) for edit in edits]

    one = ("sha256",)
    address = "https://example.org/readings.csv"
    make_bag("ok-two-functions")
    make_bag("ok-version-0-97", functions=one, edit=old)
    make_bag("ok-percent-in-a-name", payload={"data/50%25 off.txt": "x"}, functions=one, edit=lambda files:
             files.update({"manifest-sha256.txt": sums({"data/50%2525 off.txt": "x"}, "sha256")}))
    make_bag("ok-fetched", functions=one, edit=add("fetch.txt", f"{address} 21 {readings}\n"))
    make_bag("outside-md5-only", functions=("md5",))
    make_bag("outside-no-tag-manifest", functions=one, tagged=False)
    make_bag("outside-line-forms", functions=one, edit=lambda files: files.update({
        "manifest-sha256.txt": files["manifest-sha256.txt"].replace("  data/n", " *data/n").replace("  data/r", "  ./data/r")}))
    make_bag("outside-utf-16", functions=one, edit=all_of(
        replace("bagit.txt", "UTF-8", "UTF-16"),
        lambda files: files.update({name: files[name].encode("utf-16") for name in ("bag-info.txt", "manifest-sha256.txt")})),
        late=lambda files: files.update({"tagmanifest-sha256.txt": files["tagmanifest-sha256.txt"].encode("utf-16")}))
    make_bag("bi1-blank-before-the-colon", edit=replace("bagit.txt", "Version:", "Version :"))
    make_bag("bi1-version-unknown", edit=replace("bagit.txt", "1.0", "2.0"))
    make_bag("bi1-missing", edit=lose("bagit.txt"))
    make_bag("bi1-byte-order-mark", edit=replace("bagit.txt", "BagIt", "\ufeffBagIt"))
    make_bag("bi2-no-payload", payload={}, functions=one)
    make_bag("bi3-no-manifest", functions=())
    make_bag("bi3-line-cut", functions=one, edit=replace("manifest-sha256.txt", "  data", "data"))
    make_bag("bi3-function-unknown", functions=one, edit=add("manifest-crc32.txt", "00ff00ff  " + readings + "\n"))
    climbing = sha("x") + "  ../outside.txt\n"
    make_bag("bi4-name-climbs", functions=one,
             edit=lambda files: files.update({"manifest-sha256.txt": files["manifest-sha256.txt"] + climbing}))
    make_bag("bi4-fetched-elsewhere", functions=one, edit=add("fetch.txt", f"{address} - /etc/passwd\n"))
    make_bag("bi4-tag-manifest-of-the-payload", functions=one, late=lambda files: files.update({
        "tagmanifest-sha256.txt": files["tagmanifest-sha256.txt"] + sums({readings: PAYLOAD[readings]}, "sha256")}))
    make_bag("bi5-file-missing", late=lose(readings))
    make_bag("bi5-not-fetched", functions=one, edit=add("fetch.txt", f"{address} 21 {readings}\n"), late=lose(readings))
    make_bag("bi5-other-letter-case", functions=one, late=all_of(
        lose(readings), add("data/Readings.csv", PAYLOAD[readings])))
    make_bag("bi6-file-added", late=add("data/more.txt", "more\n"))
    make_bag("bi6-one-manifest-knows-less", edit=lambda files: files.update({
        "manifest-sha512.txt": sums({readings: PAYLOAD[readings]}, "sha512")}))
    again = sums({readings: PAYLOAD[readings]}, "sha256")
    make_bag("bi7-listed-twice", functions=one, edit=lambda files: files.update({
        "manifest-sha256.txt": files["manifest-sha256.txt"] + again}))
    make_bag("bi7-listed-twice-with-another-sum", functions=one, edit=all_of(old, lambda files: files.update({
        "manifest-sha256.txt": files["manifest-sha256.txt"] + sha("other") + "  " + readings + "\n"})))
    make_bag("bi8-fetch-without-a-size", functions=one, edit=add("fetch.txt", f"{address} {readings}\n"))
    make_bag("bi8-fetch-of-an-unlisted-file", functions=one, edit=add("fetch.txt", f"{address} - data/more.csv\n"))
    linked = make_bag("bi9-link", functions=one)
    os.symlink("readings.csv", linked / "data/latest.csv")
    make_bag("bi10-oxum-is-no-number", edit=replace("bag-info.txt", "Oxum: ", "Oxum: about "))
    make_bag("bi10-line-without-a-label", edit=replace("bag-info.txt", "Source-Organization: ", ""))
    make_bag("bi11-payload-changed", late=replace(readings, "17", "71"))
    make_bag("bi12-info-changed", late=replace("bag-info.txt", "Example", "Exampel"))
    make_bag("bi13-oxum-of-another-payload", edit=replace("bag-info.txt", "Oxum: ", "Oxum: 1"))
    make_bag("bi13-fetched-size", functions=one, edit=add("fetch.txt", f"{address} 22 {readings}\n"))
    make_bag("bi14-listed-twice-alike", functions=one, edit=all_of(old, lambda files: files.update({
        "manifest-sha256.txt": files["manifest-sha256.txt"] + again})))
    make_bag("bi14-file-of-a-system", payload={**PAYLOAD, "data/Thumbs.db": "x"}, functions=one)
    make_bag("bi15-sha1-and-md5", functions=("md5", "sha1"))
    make_bag("bi16-tag-file-not-listed", late=add("README.txt", "more\n"))


# Lists of sums

def make_checksums():
    files = {"report.txt": "All well.\n", "data/readings.csv": "hour,value\n0,17\n"}
    good = sums(files, "sha256")
    tagged = "".join(f"SHA256 ({name}) = {sha(text)}\n" for name, text in files.items())

    def make(case, text, name="SHA256SUMS", more=None, without=()):
        folder = place("checksums", case) / "input"
        kept = {**files, **(more or {}), name: text}
        for path, content in kept.items():
            if path not in without:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(content, newline="")
        return folder

    make("ok-list", good, more={"SHA256SUMS.asc": "a signature of somebody\n"})
    make("ok-txt-binary-marks", good.replace("  ", " *"), name="SHA256SUMS.txt")
    make("ok-bsd-form", tagged)
    make("ok-comments-and-upper-case", "# made by hand\r\n\r\n" + good.upper().replace("REPORT.TXT", "./report.txt").replace(
        "DATA/READINGS.CSV", "data/readings.csv").replace("\n", "\r\n"))
    make("outside-file-not-listed", good, more={"README.md": "more\n"})
    make("cs1-line-cut", good.replace("  ", "", 1))
    make("cs1-mixed-blanks", good + sha("x") + " report.txt\n")
    make("cs1-nothing-listed", "")
    make("cs1-other-function", good + f"SHA1 (report.txt) = {'0' * 40}\n")
    make("cs2-name-climbs", good + sha("x") + "  ../outside.txt\n")
    make("cs2-name-absolute", good + sha("x") + "  /etc/hostname\n")
    make("cs2-name-with-a-line-end", good + "\\" + sha("x") + "  a\\nb\n")
    make("cs3-file-missing", good, without=["report.txt"])
    link = make("cs3-link", good, without=["report.txt"])
    os.symlink("data/readings.csv", link / "report.txt")
    make("cs4-file-changed", good, more={"report.txt": "All ill.\n"})
    make("cs5-listed-twice", good + good)
    make("cs5-file-not-listed", good, more={"data/more.csv": "0\n"})


# Archives

def make_archives():
    base = HERE / "job-bundle/ok-handbook/input"
    files = sorted(path.relative_to(base) for path in base.rglob("*") if path.is_file())
    contents = [(f"job/{name}", (base / name).read_bytes()) for name in files]

    def entry(name, data=b"", kind=tarfile.REGTYPE, **members):
        info = tarfile.TarInfo(name)
        info.size = len(data) if kind == tarfile.REGTYPE else 0
        info.type = kind
        for key, value in members.items():
            setattr(info, key, value)
        return info, io.BytesIO(data)

    def tar(entries, form=tarfile.USTAR_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
            for info, data in entries:
                archive.addfile(info, data)
        # Python pads to 20 blocks; two of zeros are the end.
        data = stream.getvalue()
        return data.rstrip(b"\0").ljust((len(data.rstrip(b"\0")) + 511) // 512 * 512, b"\0") + bytes(1024)

    def plain():
        return [entry(name, data) for name, data in contents]

    def packed(data):
        return gzip.compress(data, mtime=0)

    def squeezed(data):
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout

    def zipped(entries, method=zipfile.ZIP_DEFLATED):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name, data in entries:
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
        return stream.getvalue()

    def write(name, data, suffix):
        (place("archive", name) / f"input{suffix}").write_bytes(data)

    whole, zip_file = tar(plain()), zipped(contents)
    write("ok-tar", whole, ".tar")
    write("ok-tar-gz", packed(whole), ".tar.gz")
    write("ok-zip", zip_file, ".zip")
    write("ok-tar-zst", squeezed(whole), ".tar.zst")
    write("jb4-artifact-changed-in-a-tar", tar([
        entry(name, data.replace(b"a", b"b", 1) if "artifacts/" in name else data)
        for name, data in contents]), ".tar")
    write("ar1-name-climbs", tar(plain() + [entry("../x", b"x")]), ".tar")
    write("ar1-name-absolute", zipped(contents + [("/tmp/x", b"x")]), ".zip")
    write("ar2-name-twice", tar(plain() + plain()[:1]), ".tar")
    name, data = contents[0]
    twice = zipped(contents + [(name[:-1] + "#", data)])
    write("ar2-name-twice-in-a-zip", twice.replace((name[:-1] + "#").encode(), name.encode()), ".zip")
    write("ar2-below-a-file", tar(plain() + [entry(f"{name}/x", b"x")]), ".tar")
    write("ar3-hard-link", tar(plain() + [entry("job/more", kind=tarfile.LNKTYPE, linkname=name)]), ".tar")
    copy_of = HERE / "redacted-bundle/ok-values/input"
    shown = [entry(f"copy/{path.relative_to(copy_of)}", path.read_bytes())
             for path in sorted(copy_of.rglob("*")) if path.is_file()]
    write("rd2-link-in-a-copy", tar(shown + [entry(
        "copy/more", kind=tarfile.SYMTYPE, linkname="/etc/hostname")]), ".tar")
    write("ar4-bomb", squeezed(tar(plain() + [entry("job/zeros", b"0" * (70 << 20))])), ".tar.zst")
    write("ar5-breaks-off", packed(whole)[:-20], ".tar.gz")
    second = whole.index(contents[1][0].encode())
    write("ar5-header-checksum", whole[:second] + b"J" + whole[second + 1:], ".tar")
    write("ar8-bytes-after-the-end", zip_file + b"more", ".zip")
    plain_gz = packed(whole)
    extra = b"\x02\x00xx"
    write("ar8-gzip-extra-field", plain_gz[:3] + bytes([plain_gz[3] | 4]) + plain_gz[4:10] + extra + plain_gz[10:],
          ".tar.gz")
    stored = zipped(contents, zipfile.ZIP_STORED)
    at = stored.index(contents[0][1]) + 3
    write("ar5-zip-content-changed", stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1:], ".zip")
    flagged = bytearray(zip_file)
    flagged[6] |= 1
    flagged[zip_file.index(b"PK\1\2") + 8] |= 1
    write("ar6-encrypted", bytes(flagged), ".zip")
    long_name = entry("job/" + "n" * (2 << 20), b"x")
    write("ar7-name-too-long", packed(tar(plain() + [long_name], tarfile.PAX_FORMAT)), ".tar.gz")


# Valid ones, made with our own program

def make_bases(program):
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(PROJECT / "examples/demo/handbook", work / "handbook")

        def run(line, codes=(0,), epoch=1700000000):
            environment = {"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": str(epoch)}
            done = subprocess.run([program, *line.split()], cwd=work, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode not in codes:
                sys.exit(f"runseal {line}: {done.returncode}: {done.stderr}")
            return done.stdout

        def write(name, value):
            (work / name).write_text(json.dumps(value))

        def keep(source, format_name, case, suffix=".json"):
            source, target = work / source, place(format_name, case)
            if source.is_dir():
                shutil.copytree(source, target / "input")
            else:
                shutil.copyfile(source, target / f"input{suffix}")

        write("small.json", {"goal": "Print the word ready",
                             "constraints": ["Plain sh, one file called ready.sh"]})
        write("refused.json", {"goal": " "})
        goal = {"goal": "Write a shell script ready.sh that prints the word ready"}
        write("branching.json", {**goal, "constraints": ["The output is in English or maybe French"]})
        write("questions.json", {**goal, "constraints": [
            "The contact is [insert name]", "The word is printed in TBD letters"]})
        shutil.copyfile(PROJECT / "examples/intents/clear.json", work / "clear.json")
        shutil.copyfile(PROJECT / "examples/intents/with-work.json", work / "work.json")

        run("transform clear.json -o clear-bundle.json")
        keep("clear-bundle.json", "context-bundle", "ok-complete")
        for case in ("branching", "questions"):
            run(f"transform {case}.json -o {case}-bundle.json", codes=(1,))
            keep(f"{case}-bundle.json", "context-bundle", f"ok-{case}")

        run("proposal generate clear-bundle.json -o proposal.json")
        keep("proposal.json", "proposal", "ok-generated")

        run("run work.json --mode execute-sandbox --pack executed --ledger ledger.jsonl --run-id run_1")
        run("run questions.json --pack clarify --ledger ledger.jsonl --run-id run_2", (1,), 1700000060)
        run("run refused.json --pack refuse --ledger ledger.jsonl --run-id run_3", (1,), 1700000120)
        for source, case in (("executed", "contents"), ("clarify", "clarify"), ("refuse", "refuse")):
            keep(source, "pack", f"ok-{case}")
        keep("executed/patch.json", "patch", "ok-executed")
        keep("executed/evidence.json", "evidence", "ok-contents")
        keep("executed/runner.json", "runner", "ok-executed")
        keep("ledger.jsonl", "ledger", "ok-three-runs", ".jsonl")

        run("job init")
        run("job index handbook")
        run("job symbol add @prices handbook/prices.md")
        plan = json.loads((PROJECT / "examples/demo/plan.json").read_text())
        write("plan.json", plan)
        steps = [{"op": "READ_SYMBOL", "refs": {"symbol_id": "@prices"}, "constraints": {"slice": slice_}}
                 for slice_ in ("lines[0:1]", "chars[2:7]", "head(5)")]
        write("symbols.json", {"run_id": "symbols", "idempotency_key": "1", "steps": steps})
        for file, case in (("plan.json", "handbook"), ("symbols.json", "symbols")):
            posted = json.loads(run(f"job post {file}"))
            run("job work")
            run(f"job build {posted['run_id']} {posted['job_id']} -o built-{case}")
            keep(f"built-{case}", "job-bundle", f"ok-{case}")

        (work / "key").write_text(sha("a key for vectors only"))
        run("job replay built-handbook --receipt unsigned.json")
        run("job replay built-handbook --receipt signed.json --key key")
        run("job replay built-symbols --receipt second.json --previous unsigned.json")
        keep("unsigned.json", "receipt", "ok-unsigned")
        keep("signed.json", "receipt", "ok-signed")
        chain = [json.loads((work / name).read_text()) for name in ("unsigned.json", "second.json")]
        if chain[0]["receipt_index"] is None:
            chain[1]["receipt_index"] = None
            receipt_hash(chain[1])
        write("chain.json", chain)
        (work / "chain.json").write_text(job(chain) + "\n")
        keep("chain.json", "receipt", "ok-chain")
        keep("chain.json", "receipt", "ok-merkle")
        (HERE / "receipt/ok-merkle/merkle.json").write_text(run("receipt attest chain.json --key key"))
        (HERE / "receipt/ok-merkle/arguments.json").write_text('["--merkle", "merkle.json"]\n')

        engines = PROJECT / "examples/engines"
        sweep = json.loads((engines / "resonance-sweep/input.json").read_text())
        sweep["inputs"]["steps"] = 5
        write("sweep.json", sweep)
        run(f"engine run {engines}/resonance-sweep sweep.json --out runs --run-id sealed")
        keep("runs/sealed", "run-bundle", "ok-sealed")
        run(f"engine run {engines}/csv-statistics {engines}/csv-statistics/upstream-input.json "
            "--out runs --run-id upstream --upstream runs/sealed")
        keep("runs/upstream", "run-bundle", "ok-upstream")

        (work / "seed").write_text(sha("a seed for vectors only"))
        run(f"engine run {engines}/resonance-sweep sweep.json --out runs --run-id redactable "
            "--redactable --seed seed")
        keep("runs/redactable", "run-bundle", "ok-redactable")
        redact = "redact runs/redactable --seed seed --reason secret"
        run(f"{redact} --drop RUN_INPUT.json#/inputs/natural_hz RUN_INPUT.json#/context/bench -o values")
        keep("values", "redacted-bundle", "ok-values")
        run(f"{redact} --drop artifacts/** -o files")
        keep("files", "redacted-bundle", "ok-files")

        run("run questions.json --pack redactable-pack --run-id run_4 --redactable --seed seed", (1,))
        run("redact redactable-pack --seed seed --reason secret --drop bundle.json#/root_node/goal -o pack-copy")
        keep("pack-copy", "redacted-bundle", "ok-pack")
        run(f"job build {posted['run_id']} {posted['job_id']} -o redactable-job --redactable --seed seed")
        keep("redactable-job", "job-bundle", "ok-redactable")
        first = sorted((work / "redactable-job/artifacts").iterdir())[0].name
        run(f"redact redactable-job --seed seed --reason secret --drop artifacts/{first} -o job-copy")
        keep("job-copy", "redacted-bundle", "ok-job")


# Redacted copies

def make_redacted():
    def case(name, edit, base="ok-values"):
        edit_folder("redacted-bundle", base, name, edit)

    def text(file, old, new):
        def change(folder):
            path = folder / file
            before = path.read_text()
            after = before.replace(old, new, 1)
            assert before != after, (file, old)
            path.write_text(after)
        return change

    def member(file, edit):
        def change(folder):
            path = folder / file
            value = json.loads(path.read_text())
            edit(value)
            path.write_text(kernel(value))
        return change

    def link(folder):
        (folder / "more").symlink_to("/etc/hostname")

    def bring_back(folder):
        (folder / "artifacts").mkdir(exist_ok=True)
        (folder / "artifacts/sweep.csv").write_text("x\n")

    marker = {"runseal.redacted": "0" * 64}
    case("rd1-commitment-missing", lambda f: (f / "REDACTION.json").unlink())
    case("rd1-root-of-other-files", member("REDACTION.json", put(["root"], sha("x"))))
    case("rd1-reason-empty", member("REDACTED.json", put(["withheld", 0, "reason"], "")))
    case("rd1-member-unknown", member("REDACTED.json", put(["more"], 1)))
    case("rd2-file-missing", lambda f: (f / "SEALING_SPEC.md").unlink())
    case("rd2-file-added", lambda f: (f / "SHA256SUMS.txt").write_text("x\n"))
    case("rd2-link", link)
    case("rd2-withheld-file-is-here", bring_back, base="ok-files")
    case("rd3-value-changed", member("RUN_INPUT.json", put(["inputs", "steps"], 6)))
    case("rd3-member-added", member("RUN_INPUT.json", put(["inputs", "more"], 1)))
    case("rd3-file-changed", text("SEALING_SPEC.md", "a", "b"))
    case("rd3-marker-of-another-value", member("RUN_OUTPUT.json", put(["inputs_hash"], marker)))
    case("rd3-key-changed", member("REDACTED.json", put(["openings", "SEALING_SPEC.md", "key"], "0" * 64)))
    case("rd4-place-not-listed", member("REDACTED.json", drop("withheld", 0)))
    case("rd4-place-listed-and-shown", member("REDACTED.json", lambda v: v["withheld"].insert(
        0, {"path": "RUN_INPUT.json", "pointer": "/context", "reason": "x"})), base="ok-files")
    case("rd5-id-withheld", member("RUN_META.json", put(["run_id"], marker)))
    case("rd3-slice-changed", member("bundle.json", put(["inputs", "slices", 0], "head(9)")), base="ok-job")
    case("rd5-job-withheld", member("bundle.json", put(["job_id"], marker)), base="ok-job")
    for name in ("REDACTION.json", "REDACTED.json"):
        case(f"rd6-{name.split('.')[0].lower()}-laid-out", lambda f, name=name: (f / name).write_text(
            json.dumps(json.loads((f / name).read_text()), indent=1)))
    case("rd6-laid-out", lambda f: (f / "RUN_META.json").write_text(
        json.dumps(json.loads((f / "RUN_META.json").read_text()), indent=1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bases", metavar="RUNSEAL", help="make the valid ones too, with this program")
    options = parser.parse_args()
    if options.bases:
        make_bases(os.path.abspath(options.bases))
    for make in (make_context_bundles, make_proposals, make_patches, make_evidence, make_ledgers,
                 make_model_recordings, make_runners, make_packs, make_job_bundles, make_receipts,
                 make_trust_policies, make_run_bundles, make_engines, make_redacted, make_bags,
                 make_checksums, make_archives):
        make()


if __name__ == "__main__":
    main()
