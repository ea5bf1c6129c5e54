// Every schema compiles in Ajv's strict mode, in the dialects hosts use, and judges samples as the server does.

import assert from 'node:assert/strict';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { FakeApi, GOOD_CALLS, connect, run, test } from './common.mjs';

const api = await FakeApi.start();
const { client } = await connect(api);
const { tools } = await client.listTools();

for (const [dialect, Kind] of [['draft-07', Ajv], ['2020-12', Ajv2020.default ?? Ajv2020]]) {
  for (const tool of tools) {
    for (const member of ['inputSchema', 'outputSchema']) {
      test(`${tool.name} ${member} is strict ${dialect}`, () => {
        const { $schema, ...schema } = tool[member];
        const ajv = new Kind({ strict: true, allErrors: true });
        (addFormats.default ?? addFormats)(ajv);
        const validate = ajv.compile(schema);
        if (member === 'inputSchema') {
          const [, args] = GOOD_CALLS.find(([name]) => name === tool.name);
          assert.ok(validate(args), JSON.stringify(validate.errors));
          assert.ok(!validate({ ...args, surprise: 1 }), 'unknown arguments are not part of the schema');
        }
      });
    }
  }
}

test('output schemas stay valid when the API adds members', async () => {
  const ajv = new Ajv({ strict: true });
  (addFormats.default ?? addFormats)(ajv);
  for (const [name, args] of GOOD_CALLS) {
    const { $schema, ...schema } = tools.find((tool) => tool.name === name).outputSchema;
    const validate = ajv.compile(schema);
    const { structuredContent } = await client.callTool({ name, arguments: args });
    assert.ok(validate(structuredContent), `${name}: ${JSON.stringify(validate.errors)}`);
    const grow = (value) => {
      if (Array.isArray(value)) return value.map(grow);
      if (value === null || typeof value !== 'object') return value;
      return { ...Object.fromEntries(Object.entries(value).map(([key, member]) => [key, grow(member)])), added_later: { x: [1] } };
    };
    assert.ok(validate(grow(structuredContent)), `${name} grown: ${JSON.stringify(validate.errors)}`);
  }
});

await run('ajv');
await client.close();
api.stop();
