// The official TypeScript SDK, version 2, on node:http, with an echo tool.
//
//     node typescript_server.mjs PACKAGES TOKEN TOOLS CATALOGS sync|async
//
// Bearer token and exact Host are checked by hand; Ajv judges arguments and results.
// A handler in Node is always on the loop, so the last argument changes nothing.

import http from "node:http";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, token, toolCount] = process.argv.slice(2);
// They lie in the cache of the benchmark, where Node would not look for them.
const require = createRequire(path.join(packages, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

const { createMcpHandler, Server } = await load("@modelcontextprotocol/server");
const { NodeStreamableHTTPServerTransport, toNodeHandler } = await load("@modelcontextprotocol/node");
const { Ajv } = (await load("ajv")).default;

const string = { type: "string" };
const text = {
  type: "object",
  properties: { text: string },
  required: ["text"],
  additionalProperties: false,
};
const many = {
  ...text,
  properties: { subject: string, body: string, place: string, start: string, end: string, note: string },
  required: ["subject"],
};
const fits = new Ajv().compile(text);

const tools = [
  { name: "echo", description: "Echo the text.", inputSchema: text, outputSchema: text },
];
for (let number = 0; number < Number(toolCount) - 1; number++) {
  tools.push({
    name: `tool_${String(number).padStart(4, "0")}`,
    description: `Synthetic tool number ${number} of a catalog.`,
    inputSchema: many,
    outputSchema: text,
  });
}

function makeServer() {
  const server = new Server({ name: "bench", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({ tools }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    if (!fits(params.arguments)) throw new Error("The arguments do not fit.");
    const result = { text: params.arguments.text };
    if (!fits(result)) throw new Error("The result does not fit.");
    return {
      content: [{ type: "text", text: JSON.stringify(result) }],
      structuredContent: result,
    };
  });
  return server;
}

const handleModern = toNodeHandler(createMcpHandler(makeServer, { responseMode: "json" }));

// The same handler would answer the handshake era too, but as an event stream.
async function handleLegacy(request, response) {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  await makeServer().connect(transport);
  await transport.handleRequest(request, response);
}

let authority = "";
const listening = http.createServer((request, response) => {
  if (request.headers.host !== authority) return response.writeHead(421).end();
  if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
  const modern = request.headers["mcp-protocol-version"] >= "2026";
  return modern ? handleModern(request, response) : handleLegacy(request, response);
});
listening.keepAliveTimeout = 600_000;
listening.listen(0, "127.0.0.1", () => {
  const { port } = listening.address();
  authority = `127.0.0.1:${port}`;
  console.log(JSON.stringify({ port }));
});
process.stdin.on("end", () => process.exit(0)).resume();
