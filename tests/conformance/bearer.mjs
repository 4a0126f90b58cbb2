// Loaded before the conformance suites, which can't be given a header: adds the token of
// TOOLCRIB_BEARER to every request that has no Authorization, whether it goes through
// fetch (the built-in one or undici's) or through node:http.
import http from "node:http";
import { createRequire, syncBuiltinESMExports } from "node:module";

const bearer = `Bearer ${process.env.TOOLCRIB_BEARER}`;
const named = (name) => String(name).toLowerCase() === "authorization";

/** Return header fields, in whichever of undici's and node's shapes they came, with ours. */
function withBearer(fields) {
  if (Array.isArray(fields)) {
    const names = fields.filter((_, index) => index % 2 === 0);
    return names.some(named) ? fields : [...fields, "authorization", bearer];
  }
  const pairs = fields?.[Symbol.iterator] ? [...fields] : Object.entries(fields ?? {});
  if (!pairs.some(([name]) => named(name))) pairs.push(["authorization", bearer]);
  return Object.fromEntries(pairs);
}

const builtIn = globalThis.fetch;
globalThis.fetch = (input, options = {}) => {
  const fields = new Headers(options.headers ?? (input instanceof Request ? input.headers : {}));
  if (!fields.has("authorization")) fields.set("authorization", bearer);
  return builtIn(input, { ...options, headers: fields });
};

try {
  const { Agent, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
  setGlobalDispatcher(
    new (class extends Agent {
      dispatch(options, handler) {
        return super.dispatch({ ...options, headers: withBearer(options.headers) }, handler);
      }
    })(),
  );
} catch (error) {
  if (error.code !== "MODULE_NOT_FOUND") throw error;
}

const request = http.request;
http.request = (...given) => {
  const place = typeof given[0] === "string" || given[0] instanceof URL ? 1 : 0;
  if (typeof given[place] !== "object") given.splice(place, 0, {});
  given[place] = { ...given[place], headers: withBearer(given[place].headers) };
  return request(...given);
};
syncBuiltinESMExports();
