// Lists and calls every tool with one of the official TypeScript clients, and prints what
// came back as JSON: node clients.mjs v1|v2 URL CALLS, the token in TOOLCRIB_BEARER.
import { createRequire } from "node:module";

const [version, url, calls] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/package.json`);
const load = (name) => import(require.resolve(name));

const { Client } = await load(
  version === "v1" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client",
);
const { StreamableHTTPClientTransport } = await load(
  version === "v1"
    ? "@modelcontextprotocol/sdk/client/streamableHttp.js"
    : "@modelcontextprotocol/client",
);

const client = new Client({ name: "test", version: "1" });
const headers = { Authorization: `Bearer ${process.env.TOOLCRIB_BEARER}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const { tools } = await client.listTools();
const results = {};
for (const [name, args] of Object.entries(JSON.parse(calls))) {
  results[name] = await client
    .callTool({ name, arguments: args })
    .catch((error) => ({ refused: error.message, code: error.code }));
}
await client.close();
console.log(JSON.stringify({ tools, results }));
