"""Uses every tool once; prints what it saw. Arguments: MODE, then a URL or a server's command."""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

mode, target, *arguments = sys.argv[1:]
server = target if target.startswith("http") else StdioServerParameters(command=target, args=arguments)


def said(name, value):
    print(json.dumps({"cell": name, "saw": value}, sort_keys=True), flush=True)


async def answer(context, params):
    said("asked", params.message)
    return ElicitResult(action="accept", content={"name": "Ada"})


async def main():
    async with Client(server, mode=mode, elicitation_callback=answer) as client:
        said("version", client.session.protocol_version)
        tools = await client.list_tools()
        said("tools", sorted(tool.name for tool in tools.tools))
        names = {tool.name for tool in tools.tools}

        async def call(name, given, **more):
            try:
                result = await client.call_tool(name, given, **more)
                said(name, result.model_dump(mode="json"))
            except Exception as error:
                said(name, {"error": f"{type(error).__name__}: {error}"})

        async def progress(done, total, message):
            said("progress", [done, total])

        if "add" in names:
            await call("add", {"a": 2, "b": 3})
            await call("add", {"a": 2, "b": 3})
            await call("count", {"upto": 3}, progress_callback=progress)
            # Each era has its own way for a server to ask back.
            await call("greet" if mode == "legacy" else "introduce", {})
            await call("fail", {})
            await call("unknown", {})
        else:
            await call("echo", {"message": "Grüße"})
            await call("get-sum", {"a": 2, "b": 3})
            await call("get-tiny-image", {})
            await call("echo", {"wrong": True})
            prompts = await client.list_prompts()
            said("prompts", sorted(prompt.name for prompt in prompts.prompts))
            resources = await client.list_resources()
            said("resources", len(resources.resources))


asyncio.run(main())
