// Asks everything once with the OpenAI SDK; prints what it saw, one JSON line a cell.
import { createRequire } from "node:module";
const require = createRequire(process.env.AGENT_TOOLS + "/package.json");
const OpenAI = require("openai").default;

const client = new OpenAI({ apiKey: "sk-proj-planted0123456789abcdefghijklmnop", maxRetries: 1 });
const tools = [{ type: "function", function: { name: "get_weather", parameters: {
  type: "object", properties: { city: { type: "string" }, unit: { type: "string" } } } } }];

async function ask(kind, stream) {
  const text = { plain: "hello", tools: "what is the weather", error: "fail please" }[kind];
  try {
    const answer = await client.chat.completions.create({
      model: "gpt-4o", messages: [{ role: "user", content: text }], stream,
      ...(kind === "tools" ? { tools } : {}) });
    if (!stream) return answer;
    const chunks = [];
    for await (const chunk of answer) chunks.push(chunk);
    return chunks;
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
said("responses whole", await client.responses.create({ model: "gpt-4o", input: "hello" }));
const events = [];
for await (const event of await client.responses.create({ model: "gpt-4o", input: "hello", stream: true })) events.push(event);
said("responses stream", events);
