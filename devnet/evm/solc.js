// Compiles the standard JSON input that stands on the standard input with a compiler of npm's package `solc`:
//     node solc.js <path of its soljson.js>
const compiler = require(process.argv[2]);
const compile = compiler.cwrap("solidity_compile", "string", ["string", "number", "number"]);
process.stdout.write(compile(require("fs").readFileSync(0, "utf8"), 0, 0));
