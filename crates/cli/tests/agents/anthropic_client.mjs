// Asks everything once with the Anthropic SDK; prints what it saw, one JSON line a cell.
import { createRequire } from "node:module";
const require = createRequire(process.env.AGENT_TOOLS + "/package.json");
const Anthropic = require("@anthropic-ai/sdk").default;

const client = new Anthropic({ apiKey: "sk-ant-api03-planted0123456789abcdefghij", maxRetries: 1 });
const tools = [{ name: "get_weather", input_schema: {
  type: "object", properties: { city: { type: "string" }, unit: { type: "string" } } } }];

async function ask(kind, stream) {
  const text = { plain: "hello", tools: "what is the weather", error: "fail please" }[kind];
  try {
    const answer = await client.messages.create({
      model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: text }], stream,
      ...(kind === "tools" ? { tools } : {}) });
    if (!stream) return answer;
    const events = [];
    for await (const event of answer) events.push(event);
    return events;
  } catch (error) {
    return { error: error.constructor.name, status: error.status, body: error.error };
  }
}

const said = (cell, saw) => console.log(JSON.stringify({ cell, saw }));
for (const kind of ["plain", "tools", "error"]) {
  for (const stream of [false, true]) {
    said(`${kind} ${stream ? "stream" : "whole"}`, await ask(kind, stream));
  }
}
