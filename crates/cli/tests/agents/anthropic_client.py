"""Asks everything once with the Anthropic SDK; prints what it saw, one JSON line a cell."""
import json
import anthropic

client = anthropic.Anthropic(api_key="sk-ant-api03-planted0123456789abcdefghij", max_retries=1)
TOOLS = [{"name": "get_weather", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}}]


def ask(kind, stream):
    text = {"plain": "hello", "tools": "what is the weather", "error": "fail please"}[kind]
    more = {"tools": TOOLS} if kind == "tools" else {}
    try:
        answer = client.messages.create(
            model="claude-sonnet-4-5", max_tokens=100, messages=[{"role": "user", "content": text}],
            stream=stream, **more)
        if stream:
            return [event.model_dump(mode="json") for event in answer]
        return answer.model_dump(mode="json")
    except anthropic.APIStatusError as error:
        return {"error": type(error).__name__, "status": error.status_code, "body": error.body}


def said(name, value):
    print(json.dumps({"cell": name, "saw": value}, sort_keys=True), flush=True)


for kind in ["plain", "tools", "error"]:
    for stream in [False, True]:
        said(f"{kind} {'stream' if stream else 'whole'}", ask(kind, stream))
try:
    counted = client.messages.count_tokens(
        model="claude-sonnet-4-5", messages=[{"role": "user", "content": "hello"}]).model_dump(mode="json")
except anthropic.APIStatusError as error:
    counted = {"status": error.status_code}
said("count tokens", counted)
