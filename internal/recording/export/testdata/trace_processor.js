// Runs the trace processor of Perfetto's viewer, the WebAssembly that a browser would load, under Node. Requests of
// the RPC stream (TraceProcessorRpcStream) come in on standard input and replies go to standard output.
//
// usage: node trace_processor.js FOLDER, where FOLDER holds engine_bundle.js and the .wasm files.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const folder = process.argv[2];

// The viewer loads its WebAssembly with a synchronous request.
class XMLHttpRequest {
  open(method, url) {
    this.file = path.join(folder, path.basename(String(url)));
  }
  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
}

// What the bundle expects of a browser's worker, and nothing that would tell it that it runs under Node.
const worker = {
  console: {log: console.error, warn: console.error, error: console.error},
  WorkerGlobalScope: class {},
  location: {href: 'http://localhost/engine_bundle.js'},
  XMLHttpRequest, TextDecoder, TextEncoder, URL, performance, crypto, setTimeout, clearTimeout,
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), worker);

const toWorker = vm.runInContext('(bytes) => new Uint8Array(bytes)', worker);
const port = {postMessage: (reply) => fs.writeSync(1, Buffer.from(reply))};
worker.onmessage({data: port});
setTimeout(() => { // the engine completes its start once the script has run
  process.stdin.on('data', (chunk) => port.onmessage({data: toWorker(chunk)}));
  process.stdin.on('end', () => process.exit(0));
}, 0);
