#!/usr/bin/env python3
"""An assessor for `runseal assess`: asks any server that speaks the OpenAI chat protocol.

Environment:
  OPENAI_BASE_URL  address up to and including /v1 (default https://api.openai.com/v1)
  OPENAI_API_KEY   key, sent as a bearer token where it is set
  OPENAI_MODEL     model (default gpt-4o-mini)

Reads an intent on standard input, writes {"findings": [...]} on standard output. Only the standard library is used.
"""

import json
import os
import sys
import urllib.error
import urllib.request

INSTRUCTIONS = """You review the requirements of a piece of work before it is built. You get its goal and constraints as JSON.
Report only what would stop a careful engineer: two constraints that cannot both hold, a value that is left open, a choice
that nobody made, something essential that is missing. Prefer silence to a guess.
Answer with one JSON object and nothing else:
{"findings": [{"kind": "contradiction" | "placeholder" | "choice" | "gap",
               "quotes": ["words copied exactly from the goal or one constraint"],
               "message": "one question to the author",
               "options": ["answers that the text itself offers, if any"]}]}
A contradiction has exactly two quotes, everything else at least one. Do not change a letter of a quote."""


def ask(intent):
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = "Bearer " + key
    body = {
        "model": os.environ.get("OPENAI_MODEL", "gpt-4o-mini"),
        "temperature": 0,
        "response_format": {"type": "json_object"},
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": json.dumps(intent, ensure_ascii=False)},
        ],
    }
    request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=240) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def main():
    intent = json.load(sys.stdin)
    # What the intent declares about itself is not the model's business.
    asked = {"goal": intent["goal"], "constraints": intent.get("constraints", [])}
    try:
        answer = json.loads(ask(asked))
    except urllib.error.URLError as error:
        sys.exit(f"the server did not answer: {error}")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        sys.exit(f"the server's answer is not what the protocol says: {error!r}")
    json.dump(answer, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
