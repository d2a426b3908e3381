"""Recordings of model calls, and what is read out of an answer (docs/formats/model-io.md)."""

import re

from canonical import NotJson, Number, canonical, content_hash, form, lossy, parse, sha256
from evidence import decode_base64
from shape import *

CORE = ("model_io_schema_version", "adapter_id", "model_id", "mode", "interactions")
ADAPTERS = ("http-proxy", "mcp-http", "mcp-stdio")
LARGEST_READ = 32 << 20
SAID = ("messages", "input", "prompt", "system", "instructions", "contents", "systemInstruction", "system_instruction")
PLACEHOLDER = re.compile(r"\[redacted:([a-z0-9-]+):[0-9a-f]{16}\]")
BOUNDARY = re.compile(r"[A-Za-z0-9'()+_,\-./:=?]{1,70}\Z")
KEYS = {"i", "prompt_hash", "response_hash", "response_content"}


def recording_hash(recording):
    core = {name: recording[name] for name in CORE}
    core["interactions"] = [
        {name: call[name] for name in KEYS if name in call} if is_object(call) else {} for call in core["interactions"]
    ]
    return content_hash(canonical(core).encode())


def fork_hash(recording):
    bound = {name: recording["fork"][name] for name in ("at", "parent_model_io_hash", "parent_sha256")}
    return content_hash(canonical(bound | {"model_io_hash": recording_hash(recording)}).encode())


def header(part, wanted):
    """The first header of this name; empty if there is none."""
    for pair in items(part, "headers"):
        if is_list(pair) and len(pair) > 1 and is_text(pair[0]) and is_text(pair[1]) and pair[0].lower() == wanted:
            return pair[1]
    return ""


def without_boundary(content_type, body):
    """A multipart body with `boundary` in its border lines."""
    kind, _, parameters = content_type.partition(";")
    pairs = [one.split("=", 1) for one in parameters.split(";") if "=" in one]
    found = [value.strip().strip('"') for name, value in pairs if name.strip().lower() == "boundary"]
    if not kind.strip().lower().startswith("multipart/") or not found or not BOUNDARY.match(found[0]):
        return body
    border = re.compile(rb"--" + re.escape(found[0].encode()) + rb"((?:--)?[ \t\n\r\f]*)\Z")
    return b"".join(border.sub(rb"--boundary\1", line) for line in re.findall(rb"[^\n]*\n|[^\n]+", body))


def steps_of(pointer):
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def is_volatile(pointer):
    """Whether a pointer may be declared volatile: it leads to a member, and to nothing that is asked."""
    if not is_text(pointer) or not pointer.startswith("/"):
        return False
    first, last = steps_of(pointer)[0], steps_of(pointer)[-1]
    said = lambda step: step == "*" or step in SAID
    return not (said(first) and (said(last) or last in ("content", "text", "parts") or re.fullmatch("[0-9]*", last)))


def strip(value, steps):
    """The value without what is at these steps."""
    name, rest = steps[0], steps[1:]
    if is_object(value):
        fits = lambda key: name in ("*", key)
        if not rest:
            return {key: member for key, member in value.items() if not fits(key)}
        return {key: strip(member, rest) if fits(key) else member for key, member in value.items()}
    if is_list(value):
        part = lambda item: strip(item, rest) if rest else None
        return [part(item) if name in ("*", str(at)) else item for at, item in enumerate(value)]
    return value


def strip_rpc(body):
    """A JSON-RPC message without what differs between runs."""
    if is_list(body):
        return [strip_rpc(message) for message in body]
    if get(body, "jsonrpc") != "2.0":
        return body
    body = {name: member for name, member in body.items() if name != "id" or "method" not in body}
    if is_object(body.get("params")):
        params = {name: member for name, member in body["params"].items() if name != "requestId"}
        if is_object(params.get("_meta")):
            volatile = ("progressToken", "traceparent", "tracestate", "baggage")
            params["_meta"] = {name: member for name, member in params["_meta"].items() if name not in volatile}
            if not params["_meta"]:
                del params["_meta"]
        body["params"] = params
    return body


def forget_digits(value):
    if is_text(value):
        return PLACEHOLDER.sub(r"[redacted:\1]", value)
    if is_list(value):
        return [forget_digits(item) for item in value]
    return {name: forget_digits(member) for name, member in value.items()} if is_object(value) else value


def body_form(content_type, body):
    """The member of the compared form that stands for a body."""
    if not body:
        return {}
    try:
        value = parse(body)
        if form(value) is not None:
            return {"body": value}
    except NotJson:
        pass
    body = without_boundary(content_type, body)
    try:
        return {"body_text": body.decode()}
    except UnicodeDecodeError:
        return {"body_hash": content_hash(body)}


def asked(request, body):
    """The compared form of a request, before volatile members are left out; None if it cannot be understood."""
    found = {name: request[name] for name in ("method", "path", "query") if text(request, name) is not None}
    if "method" not in found or "path" not in found:
        return None
    kind, encoded = header(request, "content-type"), text(request, "body_base64")
    if has(request, "body"):
        return found | {"body": request["body"]}
    if text(request, "body_text") is not None:
        return found | body_form(kind, request["body_text"].encode())
    if encoded is not None:
        body = decode_base64(encoded)
        return None if body is None else found | body_form(kind, body)
    if has(request, "body_file"):
        return None if body is None else found | body_form(kind, body)
    return found


def prompt_hash(request, volatile=(), body=None):
    found = asked(request, body)
    if found is None:
        return None
    if "body" in found:
        for pointer in volatile:
            found["body"] = strip(found["body"], steps_of(pointer))
        found["body"] = strip_rpc(found["body"])
    written = form(forget_digits(found))
    return None if written is None else content_hash(written.encode())


def body_file(part):
    """(digest, size or None) of a body that is a file; None if it is none or malformed."""
    digest = get(part, "body_file", "sha256")
    size = integer(part, "body_file", "bytes")
    return (digest, size if size is not None and size >= 0 else None) if is_digest(digest) else None


def held_body(entry):
    if has(entry, "text") == has(entry, "base64"):
        return None
    return text(entry, "text").encode() if text(entry, "text") is not None else decode_base64(text(entry, "base64") or "-")


def verify(recording, level, beside=None):
    """`beside` is the folder of large bodies, if there is one."""
    findings = Findings(level)
    if not is_object(recording):
        findings.add("SCHEMA", "$")
        return findings
    for name in CORE:
        findings.require(name in recording, "SCHEMA", f"$.{name}")
    version = text(recording, "model_io_schema_version") or ""
    findings.require(re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version), "MI1", "$.model_io_schema_version")
    for name in ("adapter_id", "model_id"):
        findings.require(name not in recording or is_filled(recording[name]), "MI2", f"$.{name}")
    findings.require(recording.get("mode", "record") in ("record", "replay"), "MI3", "$.mode")
    calls = recording.get("interactions")
    if not is_list(calls):
        findings.add("SCHEMA", "$.interactions")
        return findings
    check_calls(calls, findings)
    if findings.integrity and recording.get("adapter_id") in ADAPTERS:
        check_exchanges(recording, calls, beside, findings)
    return findings


def check_calls(calls, findings):
    findings.require(len(calls) <= 10_000, "MI4", "$.interactions")
    seen, latest, total = set(), None, 0
    for at, call in enumerate(calls):
        place, i = f"$.interactions[{at}]", number(call, "i")
        findings.require(i == at, "MI5", f"{place}.i")
        findings.require(is_hash(get(call, "prompt_hash")), "MI6", f"{place}.prompt_hash")
        content = text(call, "response_content")
        if not is_hash(get(call, "response_hash")):
            findings.add("MI7", f"{place}.response_hash")
        elif content is None:
            findings.add("MI7", f"{place}.response_content")
        else:
            right = call["response_hash"] == content_hash(lossy(content).encode())
            findings.require(right, "MI7", f"{place}.response_hash")
        key = (text(call, "prompt_hash"), has(call, "i"), i if i is not None else repr(form(get(call, "i"))))
        findings.require(key not in seen, "MI8", place)
        seen.add(key)
        if i is not None:
            findings.require(latest is None or i > latest, "MI9", place)
            latest = i
        size = 0 if content is None else len(lossy(content).encode())
        total += size
        findings.require(size <= 1_000_000, "MI11", f"{place}.response_content")
        if findings.integrity and has(call, "prompt_content"):
            prompt = text(call, "prompt_content")
            right = prompt is not None and text(call, "prompt_hash") in (None, content_hash(lossy(prompt).encode()))
            findings.require(right, "MI12", f"{place}.prompt_content")
    findings.require(total <= 100_000_000, "MI11", "$.interactions")


def check_exchanges(recording, calls, beside, findings):
    held = recording.get("bodies")
    named = {found[0] for call in calls for part in ("request", "response") if (found := body_file(get(call, part)))}
    for name in held if is_object(held) else ():
        findings.require(name in named, "MI15", f"$.bodies.{name}")

    def read(part):
        found = body_file(part)
        if found is None:
            return None
        if has(held, found[0]):
            return held_body(held[found[0]])
        return None if beside is None else beside.read(found[0])

    volatile = items(recording, "capture", "volatile")
    knows_volatile = all(map(is_volatile, volatile))
    findings.require(knows_volatile, "MI13", "$.capture.volatile")
    models = {text(call, "reading", "model") for call in calls} - {None}
    if models and is_text(recording.get("model_id")):
        findings.require(recording["model_id"] == ",".join(sorted(models)), "MI14", "$.model_id")
    for at, call in enumerate(calls):
        place, request, response = f"$.interactions[{at}]", get(call, "request"), get(call, "response")
        bodies = {part: read(get(call, part)) for part in ("request", "response")}
        for part, body in bodies.items():
            if has(get(call, part), "body_file"):
                stated = body_file(call[part])
                right = stated and body is not None and (sha256(body), len(body)) == stated
                findings.require(right, "MI15", f"{place}.{part}.body_file")
        if knows_volatile and (not has(request, "body_file") or body_file(request)):
            key = prompt_hash(request, volatile, bodies["request"])
            right = key is not None and text(call, "prompt_hash") in (None, key)
            findings.require(has(call, "request") and right, "MI13", f"{place}.request")
        check_response(call, response, place, findings)
        check_reading(recording["adapter_id"], call, bodies, place, findings)
    if "fork" in recording:
        check_fork(recording, calls, findings)


def check_response(call, response, place, findings):
    content = text(call, "response_content")
    if not has(call, "response"):
        findings.add("MI14", f"{place}.response")
    if not has(call, "response") or content is None:
        return
    if has(response, "body_file"):
        stated = body_file(response)
        if stated is not None:
            findings.require(content == "sha256:" + stated[0], "MI14", f"{place}.response.body_file")
        if stated is None or stated[1] is None:
            return  # MI15 asks for them
        size = stated[1]
    else:
        is_plain, is_base64 = not has(response, "encoding"), get(response, "encoding") == "base64"
        body = lossy(content).encode() if is_plain else decode_base64(content) if is_base64 else None
        size = None if body is None else len(body)
    if size is None:
        findings.add("MI14", f"{place}.response.encoding")
    elif has(response, "chunks"):
        lengths = [integer(chunk) for chunk in items(response, "chunks")]
        right = all(length is not None and length >= 0 for length in lengths) and sum(lengths) == size
        findings.require(right, "MI14", f"{place}.response.chunks")


def check_fork(recording, calls, findings):
    fork = recording["fork"]
    if not is_object(fork):
        findings.add("MI17", "$.fork")
        return
    at = integer(fork, "at")
    findings.require(at is not None and 0 <= at <= len(calls), "MI17", "$.fork.at")
    findings.require(is_hash(fork.get("parent_model_io_hash")), "MI17", "$.fork.parent_model_io_hash")
    findings.require(is_digest(fork.get("parent_sha256")), "MI17", "$.fork.parent_sha256")
    covered = set(CORE) <= set(recording) and {"at", "parent_model_io_hash", "parent_sha256"} <= set(fork)
    if "hash" in fork and covered and form(recording) is not None:
        findings.require(fork["hash"] == fork_hash(recording), "MI17", "$.fork.hash")


def check_reading(adapter, call, bodies, place, findings):
    stated = {name: call[name] for name in ("reading", "tokens_input", "tokens_output") if has(call, name)}
    request, response = get(call, "request"), get(call, "response")
    if not stated or request is None or response is None:
        return
    if has(response, "body_file") and ((body_file(response) or (0, 0))[1] or 0) > LARGEST_READ:
        findings.add("MI16", f"{place}.reading")
        return
    found, content = asked(request, bodies["request"]), text(call, "response_content")
    if has(response, "body_file"):
        answer = bodies["response"]
    elif content is None:
        answer = None
    else:
        answer = lossy(content).encode() if text(response, "encoding") is None else decode_base64(content)
    if found is None or answer is None:
        return
    read = read_answer(api_of(adapter, found), header(response, "content-type"), answer)
    usage = read.get("usage", {})
    for name, key in (("tokens_input", "input_tokens"), ("tokens_output", "output_tokens")):
        if name in stated:
            findings.require(same(stated[name], usage.get(key), True, key in usage), "MI16", f"{place}.{name}")
    if "reading" not in stated:
        return
    if not is_object(stated["reading"]):
        findings.add("MI16", f"{place}.reading")
        return
    for name in {**read, **stated["reading"]}:
        right = same(stated["reading"].get(name), read.get(name), name in stated["reading"], name in read)
        findings.require(right, "MI16", f"{place}.reading.{name}")


def same(one, other, has_one, has_other):
    return has_one == has_other and (not has_one or (form(one) is not None and form(one) == form(other)))


def api_of(adapter, found):
    body, path = found.get("body"), found["path"].rstrip("/")
    message = body[0] if is_list(body) and body else body
    if adapter.startswith("mcp-") or get(message, "jsonrpc") == "2.0":
        return "mcp"
    for ending, api in (("/chat/completions", "openai.chat"), ("/responses", "openai.responses"),
                        ("/embeddings", "openai.embeddings"), ("/messages/count_tokens", "anthropic.count_tokens"),
                        ("/messages", "anthropic.messages"), ("/models", "models")):
        if path.endswith(ending):
            return api
    return "models" if "/models/" in path else "http"


def events(stream):
    """The data of every complete server-sent event."""
    lines = re.split("\r\n|\r|\n", stream.removeprefix("\ufeff"))[:-1]
    data = None
    for line in lines:
        field, _, value = line.partition(":")
        if field == "data":
            data = value.removeprefix(" ") if data is None else data + "\n" + value.removeprefix(" ")
        elif line == "" and data is not None:
            yield data
            data = None


class Reading:
    """What an answer says: `model`, `text`, `tool_calls`, `finish_reason`, `error` and `usage`."""

    def __init__(self, api):
        self.api, self.said, self.calls, self.words, self.usage = api, "", [], {}, {}

    def take(self, name, value):
        if value is not None:
            self.words[name] = value

    def take_usage(self, usage):
        for name, other in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
            for key in (name, other):
                count = integer(usage, key)
                if count is not None and 0 <= count <= LARGEST:
                    self.usage[name] = count
                    break

    def take_call(self, call):
        function = get(call, "function")
        self.calls.append([text(call, "id") or "", text(function, "name") or "", text(function, "arguments") or ""])

    def take_block(self, block):
        if text(block, "type") == "text":
            self.said += text(block, "text") or ""
        elif text(block, "type") == "tool_use":
            arguments = (form(block["input"]) or "") if has(block, "input") else ""
            self.calls.append([text(block, "id") or "", text(block, "name") or "", "" if arguments == "{}" else arguments])

    def whole(self, root):
        self.take("model", text(root, "model"))
        error = get(root, "error")
        if error is not None:
            said = text(error, "message") if text(error, "message") is not None else text(error)
            self.words.pop("error", None)
            self.take("error", said)
        self.take_usage(get(root, "usage"))
        if self.api == "openai.chat":
            for choice in items(root, "choices"):
                self.said += text(choice, "message", "content") or ""
                for call in items(choice, "message", "tool_calls"):
                    self.take_call(call)
                self.take("finish_reason", text(choice, "finish_reason"))
        elif self.api == "openai.responses":
            self.said, self.calls = "", []
            for item in items(root, "output"):
                self.said += "".join(text(part, "text") or "" for part in items(item, "content"))
                if text(item, "type") == "function_call":
                    self.calls.append([text(item, name) or "" for name in ("call_id", "name", "arguments")])
            self.words.pop("finish_reason", None)
            self.take("finish_reason", text(root, "status"))
        elif self.api == "anthropic.messages":
            for block in items(root, "content"):
                self.take_block(block)
            self.words.pop("finish_reason", None)
            self.take("finish_reason", text(root, "stop_reason"))
        elif self.api == "anthropic.count_tokens":
            count = integer(root, "input_tokens")
            if count is not None and 0 <= count <= LARGEST:
                self.usage["input_tokens"] = count

    def event(self, root):
        if get(root, "error") is not None:
            self.words.pop("error", None)
            self.take("error", text(root, "error", "message"))
        kind = text(root, "type")
        if self.api == "openai.chat":
            self.take("model", text(root, "model"))
            self.take_usage(get(root, "usage"))
            for choice in items(root, "choices"):
                self.take("finish_reason", text(choice, "finish_reason"))
                self.said += text(choice, "delta", "content") or ""
                for call in items(choice, "delta", "tool_calls"):
                    at = min(max(integer(call, "index") or 0, 0), 1000)
                    self.calls += [["", "", ""] for _ in range(at + 1 - len(self.calls))]
                    self.take_call(call)
                    self.calls[at] = [old + new for old, new in zip(self.calls[at], self.calls.pop())]
        elif self.api == "openai.responses":
            if has(root, "response"):
                self.whole(root["response"])
            if kind == "response.output_text.delta":
                self.said += text(root, "delta") or ""
        elif self.api == "anthropic.messages":
            if kind == "message_start" and has(root, "message"):
                self.whole(root["message"])
            elif kind == "content_block_start":
                self.take_block(get(root, "content_block"))
            elif kind == "content_block_delta":
                self.said += text(root, "delta", "text") or ""
                if self.calls:
                    self.calls[-1][2] += text(root, "delta", "partial_json") or ""
            elif kind == "message_delta":
                self.take_usage(get(root, "usage"))
                self.take("finish_reason", text(root, "delta", "stop_reason"))

    def value(self):
        found = {"api": self.api} | self.words
        if self.said:
            found["text"] = self.said
        if self.calls:
            found["tool_calls"] = [dict(zip(("id", "name", "arguments"), call)) for call in self.calls]
        if self.usage:
            found["usage"] = {name: Number(str(count)) for name, count in self.usage.items()}
        return found


def read_answer(api, content_type, answer):
    reading = Reading(api)
    try:
        if content_type.startswith("text/event-stream"):
            for data in events(answer.decode()):
                try:
                    reading.event(parse(data.encode()))
                except NotJson:
                    pass
            reading.calls = [call for call in reading.calls if call[1]]
        else:
            reading.whole(parse(answer))
    except (NotJson, UnicodeDecodeError):
        pass
    return reading.value()
