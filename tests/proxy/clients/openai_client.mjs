// Says texts with the client of openai for Node, from a folder where it is installed; it is spoken to as
// openai_client.py is.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { OpenAI } = createRequire(`${process.cwd()}/`)("openai");
const given = JSON.parse(readFileSync(0, "utf-8"));
const client = new OpenAI({ baseURL: given.base_url, apiKey: given.api_key, maxRetries: 0 });
const parameters = { type: "object", properties: { what: { type: "string" } } };
const tools = [{ type: "function", function: { name: "look_up", parameters } }];

async function ask(turn, messages) {
  const body = { model: "tiny-1", messages, ...(turn.tools ? { tools } : {}) };
  if (!turn.stream) return (await client.chat.completions.create(body)).choices[0].message;
  const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  return (await stream.finalChatCompletion()).choices[0].message;
}

async function say(turn, text) {
  const messages = [{ role: "user", content: text }];
  let answer = await ask(turn, messages);
  while (answer.tool_calls?.length) {
    const results = answer.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "It is so." }));
    messages.push(answer, ...results);
    answer = await ask(turn, messages);
  }
  return answer.content;
}

const answers = [];
for (const turn of given.rounds) {
  answers.push([]);
  for (const text of turn.texts) answers.at(-1).push(await say(turn, text));
}
console.log(JSON.stringify(answers));
