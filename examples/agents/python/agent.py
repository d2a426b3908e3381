"""A small agent: asks a model (OpenAI SDK), lets it use tools (MCP), prints its last word.

Usage: agent.py QUESTION -- TOOL-SERVER [ARGUMENTS]
The model is found by OPENAI_BASE_URL and OPENAI_API_KEY, as the SDK has it.
"""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from openai import OpenAI


async def answer(question, command):
    model = OpenAI()
    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as tools:
        listed = await tools.list_tools()
        offered = [{"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
        }} for tool in listed.tools]
        messages = [{"role": "user", "content": question}]
        for _ in range(10):
            reply = model.chat.completions.create(model="gpt-4o", messages=messages, tools=offered)
            said = reply.choices[0].message
            if not said.tool_calls:
                return said.content
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                result = await tools.call_tool(call.function.name, json.loads(call.function.arguments))
                text = "".join(part.text for part in result.content if part.type == "text")
                print(f"tool {call.function.name}({call.function.arguments}) -> {text}", flush=True)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        return "gave up after ten rounds"


at = sys.argv.index("--")
print(asyncio.run(answer(" ".join(sys.argv[1:at]), sys.argv[at + 1:])))
