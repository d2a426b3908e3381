"""Tools for the example agents, served over MCP on standard input and output."""
from mcp.server.mcpserver import MCPServer

server = MCPServer("example-tools")
STOCK = {"apples": 12, "pears": 5, "plums": 0}


@server.tool()
def stock(fruit: str) -> int:
    """How many of a fruit are in stock."""
    return STOCK[fruit]


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run("stdio")
