// A small agent: asks a model (Anthropic SDK, streaming), lets it use tools (MCP), prints its last word.
//
// Usage: agent.mjs QUESTION -- TOOL-SERVER [ARGUMENTS]
// The model is found by ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY, as the SDK has it. The SDKs are looked
// for in the folder AGENT_TOOLS (default: this one).
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire((process.env.AGENT_TOOLS ?? import.meta.dirname) + "/package.json");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { default: Anthropic } = await load("@anthropic-ai/sdk");
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");

const at = process.argv.indexOf("--");
const question = process.argv.slice(2, at).join(" ");
const [command, ...args] = process.argv.slice(at + 1);

const model = new Anthropic();
const tools = new Client({ name: "example-agent", version: "1.0.0" });
await tools.connect(new StdioClientTransport({ command, args, env: process.env }));
const listed = await tools.listTools();
const offered = listed.tools.map((tool) => ({
  name: tool.name, description: tool.description, input_schema: tool.inputSchema }));

const messages = [{ role: "user", content: question }];
let last = "gave up after ten rounds";
for (let round = 0; round < 10; round++) {
  const stream = model.messages.stream({
    model: "claude-opus-4-6", max_tokens: 500, messages, tools: offered });
  const reply = await stream.finalMessage();
  messages.push({ role: "assistant", content: reply.content });
  const calls = reply.content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) {
    last = reply.content.filter((block) => block.type === "text").map((block) => block.text).join("");
    break;
  }
  const results = [];
  for (const call of calls) {
    const result = await tools.callTool({ name: call.name, arguments: call.input });
    const text = result.content.map((part) => part.text).join("");
    console.log(`tool ${call.name}(${JSON.stringify(call.input)}) -> ${text}`);
    results.push({ type: "tool_result", tool_use_id: call.id, content: text });
  }
  messages.push({ role: "user", content: results });
}
console.log(last);
await tools.close();
