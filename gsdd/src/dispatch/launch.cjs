// Loads a command module of a capability and calls its router: node launch.cjs MODULE ROUTER FAMILY [ARGS...]
// The module gets what it would get upstream: {args, cwd, raw, error}, args[0] being the family.
"use strict";
const [module_path, router, ...args] = process.argv.slice(2);
const fail = (text) => {
  process.stderr.write(`Error: ${text}\n`);
  process.exit(1);
};
const root = process.env.GSD_PROJECT_ROOT || process.cwd();
let loaded;
try {
  loaded = require(module_path);
} catch (problem) {
  fail(`the module of command ${args[0]} can't be loaded: ${problem && problem.message}`);
}
// Only an own member counts: every object inherits functions that are no routers.
const own = loaded !== null && (typeof loaded === "object" || typeof loaded === "function");
if (!own || !Object.prototype.hasOwnProperty.call(loaded, router) || typeof loaded[router] !== "function") {
  fail(`the module of command ${args[0]} has no router ${router}`);
}
let result;
try {
  result = loaded[router]({ args, cwd: root, raw: args.includes("--raw"), error: (text) => fail(text) });
} catch (problem) {
  fail(`command ${args[0]} (router ${router}) failed: ${problem && problem.message}`);
}
if (result !== null && typeof result === "object" && typeof result.then === "function") {
  fail(`the router ${router} of command ${args[0]} answered with a promise; routers answer at once`);
}
