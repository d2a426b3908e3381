"""Context bundles (docs/formats/context-bundle.md)."""

import math
import re
import unicodedata

from canonical import canonical_hash, content_hash, derive_id, form, has_surrogate, sha256, utf16
from shape import *

WORDS = {
    "node": one_of("pending", "expanding", "terminal", "blocked"),
    "output": one_of("file", "command", "config", "instruction", "schema"),
    "answer": one_of("boolean", "choice", "text", "number", "list", "structured"),
}
BUNDLE = {
    "id": is_text, "kernel_version": is_text, "source_intent_hash": is_text, "status": is_text,
    "root_node": is_object, "terminal_nodes": is_list, "outputs": is_list,
    "unresolved_questions": is_list, "stats": is_object,
}
NODE = {
    "id": is_text, "parent_id": or_null(is_text), "status": WORDS["node"], "goal": is_text,
    "constraints": is_list, "entropy": is_object, "density": is_object, "children": is_list,
    "unresolved_questions": is_list,
}
SCORES = {
    "entropy": ("unresolved_refs", "schema_gaps", "contradiction_count", "branching_factor", "entropy_score"),
    "density": ("concrete_constraints", "specified_outputs", "constraint_depth", "density_score"),
}
QUESTION = {
    "id": is_text, "text": is_text, "expected_answer_type": WORDS["answer"], "why_needed": is_text,
    "information_gain": is_number, "priority": is_number,
}
BRANCH = {"branch_id": is_text, "answer": is_text, "added_constraints": is_list}
OUTPUT = {
    "id": is_text, "type": WORDS["output"], "path": is_text, "content": is_text, "content_hash": is_text,
    "source_constraints": is_list, "confidence": is_number,
}
STATS = (
    "total_nodes", "terminal_nodes", "max_depth", "total_outputs", "unresolved_count",
    "avg_terminal_entropy", "avg_terminal_density",
)
_number = r"(0|[1-9][0-9]*)"
_word = r"(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
SEMVER = re.compile(
    rf"{_number}\.{_number}\.{_number}(-{_word}(\.{_word})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?\Z"
)


def each(value, name, place):
    """The elements of a list with their places."""
    return [(item, f"{place}.{name}[{at}]") for at, item in enumerate(items(value, name))]


def nodes(bundle):
    """Every node that is an object, with its place and whether it is in the list of terminal nodes."""
    found = []

    def collect(node, place, is_terminal):
        if is_object(node):
            found.append((node, place, is_terminal))
            for child, below in each(node, "children", place):
                collect(child, below, False)

    collect(bundle.get("root_node"), "$.root_node", False)
    for node, place in each(bundle, "terminal_nodes", "$"):
        collect(node, place, True)
    return found


def is_readable(bundle):
    """Whether the root, the terminal nodes and every child are there, so that `nodes` has found all of them."""
    wanted = [bundle.get("root_node")] + items(bundle, "terminal_nodes") + [
        child for node, _, _ in nodes(bundle) for child in items(node, "children") if not is_text(child)]
    lists = [bundle.get("terminal_nodes")] + [node.get("children") for node, _, _ in nodes(bundle)]
    return all(map(is_object, wanted)) and all(map(is_list, lists))


def questions(bundle):
    found = each(bundle, "unresolved_questions", "$")
    for node, place, _ in nodes(bundle):
        found += each(node, "unresolved_questions", place)
        found.append((get(node, "splitting_question", "question"), f"{place}.splitting_question.question"))
    return [(question, place) for question, place in found if is_object(question)]


def branches(bundle):
    """Every branch with its place and the id of its question."""
    for node, place, _ in nodes(bundle):
        split = node.get("splitting_question")
        for branch, below in each(split, "branches", f"{place}.splitting_question"):
            if is_object(branch):
                yield branch, below, text(split, "question", "id")


def verify(bundle, level, transformed=None):
    findings = Findings(level)
    check_schema(bundle, findings)
    if is_object(bundle):
        for check in (check_fields, check_orders):
            check(bundle, findings)
        if transformed is not None:
            findings.require(canonical_hash(bundle) == transformed, "BS2", "$")
        if findings.integrity:
            for check in (check_derived, check_leaves, check_tree, check_open, check_normalized):
                check(bundle, findings)
        if findings.form:
            check_whole_tree(bundle, findings)
    return findings


def check_schema(bundle, findings):
    def fields(value, place, members):
        if is_object(value):
            for name in misfits(value, members):
                findings.add("SCHEMA", f"{place}.{name}")
        return is_object(value)

    def object_with(value, place, members):
        findings.require(is_object(value), "SCHEMA", place)
        return fields(value, place, members)

    def texts(value, name, place):
        for item, at in each(value, name, place):
            findings.require(is_text(item), "SCHEMA", at)

    def question(value, place):
        if object_with(value, place, QUESTION):
            findings.require(value.get("options") is None or is_list(value["options"]), "SCHEMA", f"{place}.options")
            texts(value, "options", place)

    def node(value, place):
        if not fields(value, place, NODE):
            return
        texts(value, "constraints", place)
        for name, members in SCORES.items():
            fields(value.get(name), f"{place}.{name}", dict.fromkeys(members, is_number))
        for item, at in each(value, "unresolved_questions", place):
            question(item, at)
        for child, at in each(value, "children", place):
            findings.require(is_text(child) or is_object(child), "SCHEMA", at)
            node(child, at)
        split, at = value.get("splitting_question"), f"{place}.splitting_question"
        if split is not None and object_with(split, at, {"question": is_object, "branches": is_list}):
            if is_object(split.get("question")):
                question(split["question"], f"{at}.question")
            for branch, below in each(split, "branches", at):
                if object_with(branch, below, BRANCH):
                    texts(branch, "added_constraints", below)

    if not object_with(bundle, "$", BUNDLE):
        return
    findings.require("schema_version" in bundle, "SCHEMA", "$.schema_version")
    node(bundle.get("root_node"), "$.root_node")
    for item, at in each(bundle, "terminal_nodes", "$"):
        findings.require(is_object(item), "SCHEMA", at)
        node(item, at)
    for output, at in each(bundle, "outputs", "$"):
        if object_with(output, at, OUTPUT):
            texts(output, "source_constraints", at)
    for item, at in each(bundle, "unresolved_questions", "$"):
        question(item, at)
    fields(bundle.get("stats"), "$.stats", dict.fromkeys(STATS, is_number))


def check_fields(bundle, findings):
    version = text(bundle, "schema_version")
    findings.require(version is not None and SEMVER.match(version), "BS1", "$.schema_version")
    findings.require(form(bundle) is not None, "BS8", "$")

    def pattern(value, name, place, expression):
        if text(value, name) is not None:
            findings.require(re.fullmatch(expression, value[name]), "BS9", f"{place}.{name}")

    def score(value, name, place):
        if is_number(get(value, name)):
            findings.require(is_score(value[name]), "BS10", f"{place}.{name}")

    pattern(bundle, "id", "$", "bundle_[0-9a-f]{16}")
    pattern(bundle, "source_intent_hash", "$", "[0-9a-f]{64}")
    for node, place, _ in nodes(bundle):
        pattern(node, "id", place, "node_[0-9a-f]{16}")
        pattern(node, "parent_id", place, "node_[0-9a-f]{16}")
        for child, below in each(node, "children", place):
            if is_text(child):
                findings.require(re.fullmatch("node_[0-9a-f]{16}", child), "BS9", below)
        score(node.get("entropy"), "entropy_score", f"{place}.entropy")
        score(node.get("density"), "density_score", f"{place}.density")
    for question, place in questions(bundle):
        pattern(question, "id", place, "q_[0-9a-f]{16}")
        score(question, "information_gain", place)
        score(question, "priority", place)
    for branch, place, _ in branches(bundle):
        pattern(branch, "branch_id", place, "[0-9a-f]{8}")
    for output, place in each(bundle, "outputs", "$"):
        pattern(output, "id", place, "out_[0-9a-f]{16}")
        score(output, "confidence", place)
        path = text(output, "path")
        if path is not None and (path.startswith("/") or "\\" in path or ".." in path):
            findings.add("BS7", f"{place}.path")
        elif path is not None and not is_safe_path(path):
            findings.add("BS12", f"{place}.path")
    for name in ("avg_terminal_entropy", "avg_terminal_density"):
        score(bundle.get("stats"), name, "$.stats")
    status, asked, ends = text(bundle, "status"), bundle.get("unresolved_questions"), bundle.get("terminal_nodes")
    if status is not None:
        agrees = {
            "complete": not (is_list(asked) and asked) and ends != [],
            "incomplete": asked != [],
            "error": True,
        }
        findings.require(agrees.get(status, False), "BS13", "$.status")


def check_orders(bundle, findings):
    def ascending(rule, elements, place, key):
        findings.require(not any(descents(elements, key)), rule, place)

    def question_order(rule, value, place):
        key = lambda question: (
            (-question["priority"].value, utf16(question["id"]))
            if is_number(get(question, "priority")) and text(question, "id") is not None else None
        )
        ascending(rule, items(value, "unresolved_questions"), f"{place}.unresolved_questions", key)

    itself = lambda item: utf16(item) if is_text(item) else None
    ascending("BS3", items(bundle, "outputs"), "$.outputs", by_text("path"))
    ascending("BS6", items(bundle, "terminal_nodes"), "$.terminal_nodes", by_text("id"))
    question_order("BS5", bundle, "$")
    for node, place, is_terminal in nodes(bundle):
        ascending("BS4", items(node, "constraints"), f"{place}.constraints", itself)
        id_of = lambda child: itself(child) if is_text(child) else by_text("id")(child)
        ascending("BS11", items(node, "children"), f"{place}.children", id_of)
        question_order("BS5" if is_terminal else "BS11", node, place)
        split = node.get("splitting_question")
        ascending("BS11", items(split, "branches"), f"{place}.splitting_question.branches", by_text("branch_id"))
    for output, place in each(bundle, "outputs", "$"):
        ascending("BS4", items(output, "source_constraints"), f"{place}.source_constraints", itself)
    for question, place in questions(bundle):
        ascending("BS11", items(question, "options"), f"{place}.options", itself)


def derived(prefix, value, members):
    """The id over these members; None if one of them is not there."""
    return None if misfits(value, members) else derive_id(prefix, {name: value[name] for name in members})


def check_derived(bundle, findings):
    def same(value, name, place, expected):
        if expected is not None and text(value, name) is not None:
            findings.require(value[name] == expected, "BS20", f"{place}.{name}")

    same(bundle, "id", "$", derive_id("bundle_", {name: bundle[name] for name in bundle if name != "id"}))
    for node, place, _ in nodes(bundle):
        same(node, "id", place, derived("node_", node, {name: NODE[name] for name in ("constraints", "goal", "parent_id")}))
    for question, place in questions(bundle):
        same(question, "id", place, derived("q_", question, dict.fromkeys(("expected_answer_type", "text", "why_needed"), is_text)))
    for output, place in each(bundle, "outputs", "$"):
        if not is_object(output):
            continue
        same(output, "id", place, derived("out_", output, dict.fromkeys(("content", "path", "type"), is_text)))
        content, stated = text(output, "content"), text(output, "content_hash")
        if content is not None and stated is not None and not has_surrogate(content):
            right = {content_hash(content.encode()), sha256(content.encode()), canonical_hash(content)}
            findings.require(stated in right, "BS20", f"{place}.content_hash")
    check_stats(bundle, findings)


class Tree:
    """The tree with children given as ids looked up among the terminal nodes."""

    def __init__(self, bundle):
        self.terminal = {text(node, "id") for node in items(bundle, "terminal_nodes")} - {None}
        self.nodes = self.depth = 0
        self.leaves, self.leaf_places, self.unresolved = set(), [], []
        self.is_whole, self.is_named = is_object(bundle.get("root_node")), True
        if is_object(bundle.get("root_node")):
            self.descend(bundle["root_node"], "$.root_node", 0)

    def descend(self, node, place, depth):
        self.nodes += 1
        self.depth = max(self.depth, depth)
        children = node.get("children")
        if not is_list(children):
            self.is_whole = False
        elif not children:
            self.leaf_places.append((node, place))
            if text(node, "id") is None:
                self.is_named = False
            else:
                self.leaves.add(node["id"])
        for child, below in each(node, "children", place):
            if is_object(child):
                self.descend(child, below, depth + 1)
            elif is_text(child):
                self.nodes += 1
                self.depth = max(self.depth, depth + 1)
                if child in self.terminal:
                    self.leaves.add(child)
                else:
                    self.unresolved.append((child, below))
            else:
                self.is_whole = False


def check_stats(bundle, findings):
    tree, ends = Tree(bundle), bundle.get("terminal_nodes")
    expected = {}
    if tree.is_whole and not tree.unresolved:
        expected.update(total_nodes=tree.nodes, max_depth=tree.depth)
    for name, counted in (("terminal_nodes", "terminal_nodes"), ("total_outputs", "outputs"),
                          ("unresolved_count", "unresolved_questions")):
        if is_list(bundle.get(counted)):
            expected[name] = len(bundle[counted])
    for group in ("entropy", "density"):
        scores = [number(node, group, f"{group}_score") for node in ends] if is_list(ends) else [None]
        if None not in scores:
            expected[f"avg_terminal_{group}"] = math.floor(sum(scores) / len(scores) + 0.5) if scores else 0
    for name, value in expected.items():
        if is_number(get(bundle, "stats", name)):
            findings.require(number(bundle, "stats", name) == value, "BS20", f"$.stats.{name}")


def check_leaves(bundle, findings):
    tree, seen = Tree(bundle), {}
    for node, place in each(bundle, "terminal_nodes", "$"):
        name = text(node, "id")
        if name is None:
            continue
        if tree.is_whole and tree.is_named and not tree.unresolved:
            findings.require(name in tree.leaves, "BS21", place)
        findings.require(name not in seen, "BS21", place)
        seen.setdefault(name, (node, place))
    ends = bundle.get("terminal_nodes")
    if is_list(ends) and all(text(node, "id") is not None for node in ends):
        findings.require(tree.leaves <= set(seen), "BS21", "$.terminal_nodes")
    for leaf, _ in tree.leaf_places:
        listed, place = seen.get(leaf.get("id") if is_text(leaf.get("id")) else None, (None, None))
        if listed is not None:
            findings.require(form(listed) == form(leaf), "BS21", place)


def check_tree(bundle, findings):
    seen = set()

    def visit(node, place, parent, is_root):
        name = node if is_text(node) else text(node, "id")
        if name is not None:
            if name in seen:
                findings.add("BS22", place)
                return
            seen.add(name)
        given = each(bundle, "terminal_nodes", "$") if is_text(node) else [(node, place)]
        for one, at in given:
            if not is_text(node) or text(one, "id") == node:
                if has(one, "parent_id") and NODE["parent_id"](one["parent_id"]) and (parent is not None or is_root):
                    findings.require(one["parent_id"] == parent, "BS22", f"{at}.parent_id")
        for child, below in each(node, "children", place):
            visit(child, below, name, False)

    if is_object(bundle.get("root_node")):
        visit(bundle["root_node"], "$.root_node", None, True)
    for node, place in each(bundle, "terminal_nodes", "$"):
        findings.require(not items(node, "children"), "BS22", f"{place}.children")


def check_open(bundle, findings):
    """BS24: what is open at the top is what the nodes ask; BS25: a complete bundle has terminal leaves only."""
    tree, top, everywhere = Tree(bundle), bundle.get("unresolved_questions"), nodes(bundle)
    lists = [node.get("unresolved_questions") for node, _, _ in everywhere]
    asked = [question for found in lists if is_list(found) for question in found]
    if is_list(top):
        ids, names = [text(question, "id") for question in top], {text(question, "id") for question in asked}
        knows_all = is_readable(bundle) and not tree.unresolved and all(map(is_list, lists)) and None not in names
        findings.require(None in ids or names - {None} <= set(ids), "BS24", "$.unresolved_questions")
        forms = {(text(question, "id"), form(question)) for question in asked}
        for at, question in enumerate(top):
            if ids[at] is not None:
                right = ids[at] not in ids[:at] and (not knows_all or (ids[at], form(question)) in forms)
                findings.require(right, "BS24", f"$.unresolved_questions[{at}]")
    if bundle.get("status") == "complete":
        ends = [(node, place) for node, place in each(bundle, "terminal_nodes", "$") if is_object(node)]
        for node, place in tree.leaf_places + ends:
            if is_text(node.get("status")):
                findings.require(node["status"] == "terminal", "BS25", f"{place}.status")


def normalized_goal(goal):
    return re.sub("\r\n?", "\n", unicodedata.normalize("NFC", goal)).strip(SPACE)


def normalized_constraint(constraint):
    return re.sub("\n{3,}", "\n\n", re.sub("[ \t]+", " ", normalized_goal(constraint)))


def check_normalized(bundle, findings):
    def check_list(value, name, place):
        before = set()
        for constraint, at in each(value, name, place):
            if is_text(constraint) and not has_surrogate(constraint):
                is_own = constraint != "" and constraint == normalized_constraint(constraint)
                findings.require(is_own and constraint not in before, "BS26", at)
                before.add(constraint)

    for node, place, _ in nodes(bundle):
        goal = text(node, "goal")
        if goal is not None and not has_surrogate(goal):
            findings.require(goal != "" and goal == normalized_goal(goal), "BS26", f"{place}.goal")
        check_list(node, "constraints", place)
    for output, place in each(bundle, "outputs", "$"):
        check_list(output, "source_constraints", place)


def check_whole_tree(bundle, findings):
    for _, place in Tree(bundle).unresolved:
        findings.add("BS23", place)
    for branch, place, question in branches(bundle):
        if question is not None and is_text(branch.get("answer")) and is_text(branch.get("branch_id")):
            content = {"answer": branch["answer"], "question_id": question}
            findings.require(branch["branch_id"] == derive_id("", content, 8), "BS23", f"{place}.branch_id")
