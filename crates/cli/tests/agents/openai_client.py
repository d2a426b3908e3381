"""Asks everything once with the OpenAI SDK; prints what it saw, one JSON line a cell."""
import json
import openai

client = openai.OpenAI(api_key="sk-proj-planted0123456789abcdefghijklmnop", max_retries=1)
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}}}]


def ask(kind, stream):
    text = {"plain": "hello", "tools": "what is the weather", "error": "fail please"}[kind]
    more = {"tools": TOOLS} if kind == "tools" else {}
    try:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": text}], stream=stream, **more)
        if stream:
            return [chunk.model_dump(mode="json") for chunk in answer]
        return answer.model_dump(mode="json")
    except openai.APIStatusError as error:
        return {"error": type(error).__name__, "status": error.status_code, "body": error.body}


def broken():
    seen = []
    try:
        for chunk in client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "break off"}], stream=True):
            seen.append(chunk.model_dump(mode="json"))
        return {"seen": seen}
    except Exception as error:
        return {"seen": seen, "error": type(error).__name__}


def said(name, value):
    print(json.dumps({"cell": name, "saw": value}, sort_keys=True), flush=True)


for kind in ["plain", "tools", "error"]:
    for stream in [False, True]:
        said(f"{kind} {'stream' if stream else 'whole'}", ask(kind, stream))
said("responses whole", client.responses.create(model="gpt-4o", input="hello").model_dump(mode="json"))
said("responses stream", [event.model_dump(mode="json") for event in client.responses.create(
    model="gpt-4o", input="hello", stream=True)])
said("embeddings", client.embeddings.create(
    model="text-embedding-3-small", input="hello", encoding_format="float").model_dump(mode="json"))
said("models", [model.model_dump(mode="json") for model in client.models.list()])
said("broken off", broken())
