"""A small MCP server of both eras: on standard input, or over HTTP on the port given."""
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

server = MCPServer("tests")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def count(upto: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for number in range(upto):
        await ctx.report_progress(number + 1, upto)
    return f"counted to {upto}"


@server.tool()
async def greet(ctx: Context) -> str:
    """Asks the user for a name before it answers."""
    answer = await ctx.elicit("What is your name?", Name)
    return f"hello {answer.data.name}"


@server.tool()
async def introduce(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name as the later era does: with a result that wants more."""
    if not ctx.input_responses:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = ElicitRequest(params=ElicitRequestFormParams(message="Who is there?", requested_schema=schema))
        return InputRequiredResult(input_requests={"name": question})
    return f"pleased to meet {ctx.input_responses['name'].content['name']}"


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("it went wrong, as it always does")


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
