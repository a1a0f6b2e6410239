// Reads an OpenRPC document from a file as the official tools do; prints what they make of it.
const { readFileSync } = require("fs");
const { parseOpenRPCDocument, validateOpenRPCDocument } = require("@open-rpc/schema-utils-js");

const read = () => JSON.parse(readFileSync(process.argv[2]));

(async () => {
  const valid = validateOpenRPCDocument(read());
  const parsed = await parseOpenRPCDocument(read(), { dereference: true });
  // Fails for what holds itself.
  const text = JSON.stringify(parsed);
  const answer = { valid: valid === true ? true : valid.message, methods: parsed.methods.length };
  console.log(JSON.stringify({ ...answer, references: (text.match(/"\$ref"/g) || []).length }));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
