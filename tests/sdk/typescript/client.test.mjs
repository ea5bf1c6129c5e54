// The built server under the official TypeScript SDK client.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { FakeApi, GOOD_CALLS, ID, connect, run, test, until } from './common.mjs';

const api = await FakeApi.start();

/** Runs `body` with a fresh server and ends it as a host does. */
async function session(body, env) {
  await api.reset();
  const open = await connect(api, env);
  try {
    await body(open.client, open);
  } finally {
    await open.client.close();
  }
}

const errorOf = (result) => {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.structuredContent, undefined);
  return JSON.parse(result.content[0].text);
};

test('initialize names the server and carries instructions', () =>
  session(async (client) => {
    assert.equal(client.getServerVersion().name, 'kaval');
    assert.ok(client.getServerCapabilities().tools);
    assert.match(client.getInstructions(), /REVIEW/);
    await client.ping();
  }));

test('tools/list gives the seven tools in order', () =>
  session(async (client) => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), GOOD_CALLS.map(([name]) => name));
    for (const tool of tools) {
      assert.ok(tool.title && tool.description && tool.outputSchema, tool.name);
      assert.equal(typeof tool.annotations.readOnlyHint, 'boolean');
    }
  }));

test('every tool answers, and its structured content fits its output schema', () =>
  session(async (client) => {
    // After listTools the SDK validates structuredContent against outputSchema and throws if it does not fit.
    await client.listTools();
    for (const [name, args] of GOOD_CALLS) {
      const result = await client.callTool({ name, arguments: args });
      assert.notEqual(result.isError, true, JSON.stringify(result));
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    }
    const { requests } = await api.seen();
    assert.deepEqual(
      requests.map((request) => `${request.method} ${request.target}`),
      [
        'POST /v1/check',
        `GET /v1/receipts/${ID}`,
        'POST /v1/sources',
        'GET /v1/sources',
        `DELETE /v1/sources/${ID}`,
        'POST /v1/report-outcome',
        'POST /v1/verify',
      ],
    );
    for (const request of requests) assert.equal(request.headers.authorization, 'Bearer kv_live_sdk_test');
  }));

test('an error of the API is a failed result, also after the schemas are known', () =>
  session(async (client) => {
    await client.listTools();
    for (const [status, code] of [[401, 'unauthorized'], [402, 'insufficient_balance'], [403, 'insufficient_scope'], [404, 'not_found'], [422, 'unprocessable'], [500, 'internal']]) {
      for (const [name, args] of GOOD_CALLS) {
        await api.script({ path: '/', status, body: JSON.stringify({ error: { code, message: 'no' } }) });
        const body = errorOf(await client.callTool({ name, arguments: args }));
        assert.deepEqual(body, { error: code, message: 'no', status }, name);
      }
    }
  }));

test('invalid arguments fail in band and reach nobody', () =>
  session(async (client) => {
    const body = errorOf(await client.callTool({ name: 'check', arguments: { action: '', mode: 'slow' } }));
    assert.equal(body.error, 'invalid_arguments');
    assert.equal(body.issues.length, 2);
    assert.equal((await api.seen()).requests.length, 0);
  }));

test('a body that is not JSON is no success', () =>
  session(async (client) => {
    await api.script({ path: '/', status: 200, body: '<html>' });
    const body = errorOf(await client.callTool({ name: 'check', arguments: { action: 'a' } }));
    assert.equal(body.error, 'invalid_response');
  }));

test('a lost answer to verify is repeated under one key', () =>
  session(async (client) => {
    await api.script({ path: '/v1/verify', fault: 'reset' });
    const [name, args] = GOOD_CALLS[6];
    assert.notEqual((await client.callTool({ name, arguments: args })).isError, true);
    const keys = (await api.seen()).requests.map((request) => request.headers['idempotency-key']);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
  }));

test('progress arrives while a call is running', () =>
  session(async (client) => {
    await api.script({ path: '/v1/check', delay_ms: 5600 });
    const reports = [];
    const result = await client.callTool({ name: 'check', arguments: { action: 'a' } }, undefined, {
      onprogress: (progress) => reports.push(progress),
    });
    assert.notEqual(result.isError, true);
    assert.equal(reports.length, 1);
    assert.ok(reports[0].progress > 0);
  }));

test('an aborted call closes the request upstream', () =>
  session(async (client) => {
    await api.script({ path: '/v1/check', fault: 'stall', after: 4 });
    const abort = new AbortController();
    const call = client.callTool({ name: 'check', arguments: { action: 'a' } }, undefined, { signal: abort.signal });
    await until(async () => (await api.seen()).requests.length === 1);
    abort.abort('not needed any more');
    await assert.rejects(call);
    await until(async () => (await api.seen()).aborted === 1);
    await client.ping();
  }));

test('a hundred calls at once are all answered', () =>
  session(async (client) => {
    const results = await Promise.all(
      Array.from({ length: 100 }, () => client.callTool({ name: 'check', arguments: { action: 'a' } })),
    );
    assert.ok(results.every((result) => !result.isError));
  }));

test('without a key the tools are listed and calls say what is missing', () =>
  session(
    async (client) => {
      assert.equal((await client.listTools()).tools.length, 7);
      assert.equal(errorOf(await client.callTool({ name: 'check', arguments: { action: 'a' } })).error, 'missing_api_key');
    },
    { KAVAL_API_KEY: '' },
  ));

test('an unknown tool is refused by name', () =>
  session(async (client) => {
    let told;
    try {
      told = JSON.stringify(await client.callTool({ name: 'no_such_tool', arguments: {} }));
    } catch (error) {
      told = error.message;
    }
    assert.match(told, /no_such_tool/);
  }));

test('closing the client ends the process', async () => {
  const { client, transport } = await connect(api);
  const { pid } = transport;
  await client.close();
  await until(() => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
});

test("smithery's command starts the server with the user's answers", async () => {
  const manifest = readFileSync(`${process.env.KAVAL_ROOT}/smithery.yaml`, 'utf8');
  const source = /commandFunction: \|-\n([\s\S]*?)\n {2}exampleConfig/.exec(manifest)[1];
  const commandFunction = new Function(`return (${source})`)();
  assert.deepEqual(commandFunction({}), { command: 'kaval-mcp', args: [], env: {} });
  const { env } = commandFunction({ apiKey: 'from-smithery', baseUrl: api.url, toolDeadlineMs: 9000 });
  assert.equal(env.KAVAL_TOOL_DEADLINE_MS, '9000');
  await session(async (client) => {
    await client.callTool({ name: 'list_sources', arguments: {} });
    assert.equal((await api.seen()).requests[0].headers.authorization, 'Bearer from-smithery');
  }, env);
});

test('the sample configuration starts the server', async () => {
  const entry = JSON.parse(readFileSync(`${process.env.KAVAL_ROOT}/mcp.json`, 'utf8')).mcpServers.kaval;
  assert.equal(entry.command, 'kaval-mcp');
  await session(async (client) => {
    assert.equal((await client.listTools()).tools.length, 7);
    await client.callTool({ name: 'list_sources', arguments: {} });
    assert.equal((await api.seen()).requests[0].headers.authorization, `Bearer ${entry.env.KAVAL_API_KEY}`);
  }, entry.env);
});

await run('typescript sdk');
api.stop();
