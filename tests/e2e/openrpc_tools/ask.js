// Asks a gateway through a generated client: node ask.js <build folder> <port> <path>, with calls on standard input as
// [[method, ...arguments], ...]; prints each call's result or error.
const { readFileSync } = require("fs");
const { default: Client } = require(`${process.argv[2]}/index.js`);

(async () => {
  const transport = { type: "http", host: "127.0.0.1", port: Number(process.argv[3]), path: process.argv[4] };
  const client = new Client({ transport });
  const answers = [];
  for (const [method, ...args] of JSON.parse(readFileSync(0))) {
    try {
      answers.push({ result: await client[method](...args) });
    } catch (error) {
      answers.push({ error: { code: error.code, data: error.data }, text: String(error) });
    }
  }
  console.log(JSON.stringify(answers));
  process.exit(0);
})();
