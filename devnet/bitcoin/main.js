'use strict';

// Serves the seeded node on a loopback port: Core's JSON-RPC at /, Esplora's routes below /api. Prints the port.

const http = require('http');

const { open } = require('./chain');
const { Core } = require('./core');
const { Esplora } = require('./esplora');

const MOST_BYTES = 1 << 20;

async function serve() {
  const node = await open();
  const core = new Core(node);
  const esplora = new Esplora(node);
  const server = http.createServer((request, response) => {
    respond(core, esplora, request, response).catch(error => {
      response.writeHead(500, { 'content-type': 'text/plain' });
      response.end(String(error && error.message));
    });
  });
  server.keepAliveTimeout = 60000;
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
}

async function respond(core, esplora, request, response) {
  if (request.method === 'POST' && request.url === '/') {
    const [status, body] = await core.answer(await read(request));
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body);
    return;
  }
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  if (request.method !== 'GET' || !path.startsWith('/api/')) {
    response.writeHead(405, { 'content-type': 'text/plain' });
    response.end('JSONRPC server handles only POST requests');
    return;
  }
  const [status, answer] = await esplora.answer(path.slice(4));
  const isText = typeof answer === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' });
  response.end(isText ? answer : JSON.stringify(answer));
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MOST_BYTES)
      throw new Error('request too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

serve().catch(error => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
