// Starts the fake API and the built server, and counts what passes.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export const ID = '7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b47';

export const GOOD_CALLS = [
  ['check', { action: 'refund the booking' }],
  ['get_receipt', { receipt_id: ID }],
  ['add_source', { kind: 'entity', name: 'Contoso' }],
  ['list_sources', {}],
  ['remove_source', { id: ID }],
  ['report_outcome', { id: ID, kind: 'relied_and_correct' }],
  ['verify', { conclusion: 'The policy is current.', evidence_refs: ['https://contoso.example/'] }],
];

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} must name a built binary; run scripts/sdk-tests`);
  return value;
}

/** The fake API as a process; `script` queues replies, `seen` gives and forgets the requests. */
export class FakeApi {
  static async start() {
    const child = spawn(required('FAKE_API_BIN'), [], { stdio: ['pipe', 'pipe', 'inherit'] });
    const url = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', () => reject(new Error('the fake API ended')));
    });
    const api = new FakeApi();
    Object.assign(api, { child, url });
    return api;
  }

  async script(...replies) {
    const response = await fetch(`${this.url}/_control`, { method: 'POST', body: JSON.stringify({ replies }) });
    if (!response.ok) throw new Error(await response.text());
  }

  async seen() {
    return (await fetch(`${this.url}/_control`)).json();
  }

  async reset() {
    await fetch(`${this.url}/_control`, { method: 'DELETE' });
  }

  stop() {
    this.child.stdin.end();
  }
}

/** The built server under the SDK's own client, started as a host's configuration would. */
export async function connect(api, env = {}) {
  const transport = new StdioClientTransport({
    command: required('KAVAL_MCP_BIN'),
    env: { KAVAL_API_KEY: 'kv_live_sdk_test', KAVAL_BASE_URL: api.url, ...env },
    stderr: 'pipe',
  });
  const client = new Client({ name: 'sdk-tests', version: '1.0.0' });
  await client.connect(transport);
  return { client, transport };
}

const cases = [];

export function test(name, run) {
  cases.push([name, run]);
}

/** Runs every case, prints one line each and a count, and sets the exit code. */
export async function run(label) {
  let failed = 0;
  for (const [name, body] of cases) {
    try {
      await body();
      console.log(`ok   ${label}: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${label}: ${name}\n${error.stack}`);
    }
  }
  console.log(`${label}: ${cases.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until `done` gives something true, or fails. */
export async function until(done, limitMs = 5000) {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await done();
    if (value) return value;
    if (Date.now() > end) throw new Error('waited in vain');
    await sleep(10);
  }
}
