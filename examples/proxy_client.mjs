// The client of openai for Node with memory: `muniment proxy start` runs, and its token stands where the provider's key
// stood.
//
// muniment proxy token create
// npm install openai
// MUNIMENT_TOKEN=mun_… OPENAI_MODEL=gpt-… node proxy_client.mjs
import { createRequire } from "node:module";

const { OpenAI } = createRequire(`${process.cwd()}/`)("openai"); // of the folder in which it was installed
const baseURL = process.env.MUNIMENT_PROXY_URL ?? "http://localhost:8000/v1";
const client = new OpenAI({ baseURL, apiKey: process.env.MUNIMENT_TOKEN });
for (const content of ["My favourite colour is teal.", "What is my favourite colour?"]) {
  const stream = await client.chat.completions.create({
    model: process.env.OPENAI_MODEL,
    messages: [{ role: "user", content }],
    stream: true,
  });
  process.stdout.write(`you> ${content}\n`);
  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
  process.stdout.write("\n");
}
