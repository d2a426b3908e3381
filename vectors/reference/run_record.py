"""The records of a run: runner.json, policy.json and run.json (docs/formats/runner.md, pack.md)."""

import re

from canonical import form, utf16
from shape import *

PROFILES = {
    "strict": (30_000, 200, 10_485_760, ["node", "npm"], ["out", "dist", "build"], ["none"]),
    "default": (60_000, 500, 52_428_800, ["node", "npm", "npx"], ["out", "dist", "build", "tmp"], ["none"]),
    "dev": (300_000, 1_000, 104_857_600, [], [], ["none", "record", "replay"]),
}
LIMITS = ("timeout_ms", "max_output_files", "max_total_output_bytes")
BOUNDS = dict(zip(LIMITS, ((1000, 600_000), (1, 10_000), (1024, 1_073_741_824))))
LISTS = ("allowed_commands", "allowed_write_roots", "allowed_model_modes")
POLICY = {"name": is_text, "allow_network": is_flag} | dict.fromkeys(LIMITS, is_number) | dict.fromkeys(LISTS[:2], is_texts)
PARTS = dict.fromkeys(("platform", "sandbox", "limits", "commands", "context", "timing", "exit"), is_object)
PARTS["write_roots"] = is_list
SECRETS = ("SSH_", "NPM_", "GIT_", "AWS_", "OPENAI_", "ANTHROPIC_")
is_time = lambda value: parse_time(value) is not None


def within(name):
    least, most = BOUNDS[name]
    return lambda value: is_number(value) and least <= value.value <= most


MEMBERS = {
    "platform": ("RN3", {
        "os": one_of("linux", "darwin", "win32"), "arch": one_of("x64", "arm64", "ia32"),
        "node_version": lambda value: is_text(value) and value.startswith("v"), "npm_version": is_text,
    }),
    "sandbox": ("RN4", {
        "backend": one_of("process", "container", "vm", "none"),
        "isolation_level": one_of("strict", "standard", "none"),
        "network_blocked": is_flag, "filesystem_readonly": is_flag,
    }),
    "limits": ("RN5", {name: within(name) for name in LIMITS} | dict.fromkeys(
        ("max_memory_bytes", "max_cpu_seconds"), lambda value: is_number(value) and value.value > 0
    )),
    "commands": ("RN6", {"shell": is_filled}),
    "context": ("RN8", {"working_dir": one_of("."), "locale": is_text, "timezone": is_text}),
    "timing": ("RN9", {"started_at": is_time, "completed_at": is_time, "duration_ms": is_number}),
    "exit": ("RN10", {
        "code": lambda value: is_integer(value) and 0 <= value.integer <= 255,
        "signal": lambda value: is_text(value) and value == value.upper(),
        "oom_killed": is_flag, "timeout_killed": is_flag,
    }),
}
OPTIONAL = ("max_memory_bytes", "max_cpu_seconds", "signal")


def is_sorted(values):
    return not any(descents(values, lambda value: utf16(value) if is_text(value) else None))


def verify_runner(record, level):
    findings = Findings(level)
    if not is_object(record):
        findings.add("SCHEMA")
        return findings
    findings.require(not misfits(record, PARTS), "SCHEMA")
    findings.require(record.get("runner_schema_version") == "1.0.0", "RN1")
    name = re.fullmatch(r"runner_[0-9]{8}_[0-9]{6}_[a-z0-9]+", text(record, "runner_id") or "")
    findings.require(name and is_filled(record.get("runner_version")), "RN2")
    findings.require(form(record) is not None, "RN12")
    for part, (rule, members) in MEMBERS.items():
        if is_object(record.get(part)):
            for misfit in misfits(record[part], members, OPTIONAL):
                findings.add(rule, f"{part}.{misfit}")
    isolation, backend = (text(record, "sandbox", name) for name in ("isolation_level", "backend"))
    findings.require(isolation != "none" or backend in (None, "none"), "RN4", "sandbox")
    check_lists(record, findings)
    if is_object(record.get("timing")):
        check_timing(record["timing"], findings)
    return findings


def check_lists(record, findings):
    for part, name, rule in (("commands", "allowlist", "RN6"), ("commands", "blocklist", "RN6"),
                             ("context", "env_allowlist", "RN8"), (None, "write_roots", "RN7")):
        holder, place = (record, name) if part is None else (record.get(part), f"{part}.{name}")
        if not is_object(holder):
            continue
        findings.require(part is None or is_list(holder.get(name)), "SCHEMA", place)
        for at, item in enumerate(items(holder, name)):
            findings.require(is_text(item), "SCHEMA", f"{place}[{at}]")
            if is_text(item) and name == "env_allowlist":
                findings.require(not item.startswith(SECRETS), rule, f"{place}[{at}]")
            if is_text(item) and name == "write_roots":
                safe = not item.startswith("/") and not has_drive(item) and ".." not in item
                findings.require(safe, rule, f"{place}[{at}]")
        findings.require(is_sorted(items(holder, name)), rule, place)
    listed = [[item for item in items(record, "commands", name) if is_text(item)] for name in ("allowlist", "blocklist")]
    findings.require(not set(listed[0]) & set(listed[1]), "RN6", "commands")
    if "warnings" in record:
        findings.require(is_texts(record["warnings"]) and is_sorted(record["warnings"]), "SCHEMA", "warnings")


def check_timing(timing, findings):
    times = [parse_time(timing.get(name)) for name in ("started_at", "completed_at")]
    if None not in times:
        findings.require(times[0] <= times[1], "RN9", "timing")
        duration = number(timing, "duration_ms")
        if duration is not None:
            findings.require(abs(duration - (times[1] - times[0])) <= 1, "RN9", "timing.duration_ms")
    findings.require("phases" not in timing or is_list(timing["phases"]), "SCHEMA", "timing.phases")
    latest = None
    for at, phase in enumerate(items(timing, "phases")):
        place = f"timing.phases[{at}]"
        if not is_object(phase):
            findings.add("SCHEMA", place)
            continue
        for name, fits in (("name", is_text), ("duration_ms", is_number), ("started_at", lambda value: True)):
            findings.require(name in phase and fits(phase[name]), "SCHEMA", f"{place}.{name}")
        if "started_at" in phase:
            time = parse_time(phase["started_at"])
            findings.require(time is not None, "RN9", f"{place}.started_at")
            findings.require(None in (time, latest) or time >= latest, "RN9", "timing.phases")
            latest = latest if time is None else time


def policy_is_right(policy):
    """RS5: a profile as it stands, or a whole custom policy that is none."""
    name = text(policy, "name")
    if name not in PROFILES:
        return False
    profile = dict(zip((*LIMITS, *LISTS), PROFILES[name])) | {"name": name, "allow_network": False, "allowed_models": []}
    plain = set(profile) - {"allowed_model_modes", "allowed_models"}
    if policy.get("custom") is not True:
        values = {key: str(value) if key in LIMITS else value for key, value in profile.items()}
        return set(policy) == plain and same_policy(policy, values)
    is_program = lambda item: is_text(item) and item and not re.search(r"[\s\x00-\x1f\x7f-\x9f/]", item)
    is_root = lambda item: is_text(item) and is_safe_path(item) and "/" not in item and ".." not in item
    is_mode, is_model = one_of("none", "record", "replay"), is_filled
    for key, fits in zip((*LISTS, "allowed_models"), (is_program, is_root, is_mode, is_model)):
        found = policy.get(key)
        if not (is_list(found) and all(map(fits, found)) and len(set(found)) == len(found)):
            return False
    roots = policy["allowed_write_roots"]
    bounded = all(is_count(policy.get(name)) and within(name)(policy[name]) for name in LIMITS)
    own = {key: str(value) if key in LIMITS else value for key, value in profile.items()}
    return (set(policy) == set(profile) | {"custom"} and policy["allow_network"] is False and bounded
            and (not roots or "out" in roots) and not same_policy(policy, own))


def same_policy(policy, values):
    return all((form(policy[key]) if key in LIMITS else policy[key]) == value for key, value in values.items() if key in policy)


def verify_policy(policy, findings, path="policy.json"):
    """PL1-PL3."""
    findings.require(text(policy, "name") in (None, *PROFILES), "PL1", path)
    findings.require(not misfits(policy, POLICY), "PL2", path)
    for name in LIMITS:
        if is_number(get(policy, name)):
            findings.require(is_integer(policy[name]) and within(name)(policy[name]), "PL3", path)


KINDS = one_of("BUNDLE", "CLARIFY", "REFUSE")
is_exact_time = lambda value: is_text(value) and len(value) == 24 and is_time(value)
RUN = {
    "run_id": is_filled, "kernel_version": is_filled, "started_at": is_exact_time, "completed_at": is_exact_time,
    "model_mode": one_of("none", "record", "replay"),
}
EXECUTION = {
    "sandbox_id": is_filled, "cmd": is_texts, "exit_code": is_count, "stdout_sha256": is_hash,
    "stderr_sha256": is_hash, "output_truncated": is_flag, "outputs": is_list, "total_output_bytes": is_count,
}
OUTPUT = {"path": is_text, "sha256": is_hash, "size_bytes": is_count}
BASIC = {
    "run_schema_version": lambda value: is_text(value) and re.fullmatch(r"1\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)", value),
    "run_id": is_filled, "started_at": is_filled, "completed_at": is_filled, "kernel_version": is_filled,
    "model_mode": is_filled, "policy": is_object, "intent": is_object, "decision": is_object, "kernel_result_kind": KINDS,
}


def is_relative(path):
    return is_filled(path) and path[0] not in "/\\" and not has_drive(path)


def verify_run(run, findings):
    """PK3 and, at the integrity level, RS1-RS8 but RS7, which looks at the bytes."""
    basic = is_object(run) and not misfits(run, BASIC) and is_flag(get(run, "decision", "accepted"))
    basic = basic and is_texts(run["decision"].get("reasons"))
    bundle, kind = get(run, "bundle"), get(run, "kernel_result_kind")
    whole = is_object(bundle) and is_text(bundle.get("bundle_id")) and is_text(bundle.get("sha256"))
    basic = basic and (bundle is None if kind == "REFUSE" else whole)
    basic = basic and is_hash(run["intent"].get("sha256")) and is_relative(run["intent"].get("path"))
    findings.require(basic, "PK3", "run.json")
    if not findings.integrity:
        return
    path, bundle_hash = text(run, "intent", "path"), text(bundle, "sha256")
    execution, decision = get(run, "execution"), get(run, "decision")
    leaks = any(has(holder, name) for holder in (run, execution) for name in ("sandbox_path", "model_io_path"))
    code, version = number(execution, "exit_code"), text(run, "run_schema_version")
    intent_hash, name = text(run, "intent", "sha256"), text(bundle, "bundle_id")
    accepted = get(decision, "accepted") is True
    for rule, holds in (
        ("RS1", version in (None, "1.0.0")),
        ("RS2", not is_text(kind) or KINDS(kind)),
        ("RS3", table_holds(run, kind, execution, decision)),
        ("RS4", (intent_hash is None or is_hash(intent_hash)) and (bundle_hash is None or is_hash(bundle_hash)) and name != ""),
        ("RS5", not is_object(get(run, "policy")) or policy_is_right(run["policy"])),
        ("RS6", (path is None or is_relative(path) and ".." not in re.split(r"[/\\]", path)) and not leaks),
        ("RS8", (not is_object(decision) or decision.get("validated_by_kernel") is True) and not (
            accepted and (KINDS(kind) and kind != "BUNDLE" or code not in (None, 0)))),
    ):
        findings.require(holds, rule, "run.json")


def table_holds(run, kind, execution, decision):
    questions = get(run, "clarify_questions")
    if not is_object(run):
        return True
    holds = not misfits(run, RUN) and "execution" in run
    if is_object(decision):
        holds = holds and is_texts(decision.get("reasons")) and is_flag(decision.get("accepted"))
    if kind == "REFUSE":
        reason, shown = run.get("refuse_reason"), get(decision, "reason")
        holds = holds and has(run, "bundle") and run["bundle"] is None and is_filled(reason)
        if holds and has(decision, "reason"):
            holds = is_text(shown) and shown in (reason, reason.partition(": ")[2] if ": " in reason else reason)
    elif KINDS(kind):
        holds = holds and is_object(get(run, "bundle")) and "refuse_reason" not in run
    if kind == "CLARIFY":
        holds = holds and is_texts(questions) and questions
    elif KINDS(kind):
        holds = holds and not has(run, "clarify_questions")
    if KINDS(kind) and kind != "BUNDLE":
        holds = holds and execution is None
    if not holds or execution is None:
        return holds
    outputs = items(execution, "outputs")
    return (is_object(execution) and not misfits(execution, EXECUTION)
            and not any(misfits(output, OUTPUT) for output in outputs)
            and not any(descents(outputs, by_text("path"), strict=True))
            and execution["total_output_bytes"].integer == sum(output["size_bytes"].integer for output in outputs))
