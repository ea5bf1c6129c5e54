// What the seven tools cost an agent's context: names, descriptions and input schemas, in o200k tokens.

import assert from 'node:assert/strict';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { FakeApi, connect, run, test } from './common.mjs';

const LIMIT = 2000;

const api = await FakeApi.start();
const { client } = await connect(api);
const { tools } = await client.listTools();

test(`the tools as an agent sees them are at most ${LIMIT} tokens`, () => {
  const seen = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  for (const tool of seen) console.log(`     ${tool.name}: ${encode(JSON.stringify(tool)).length} tokens`);
  const total = encode(JSON.stringify(seen)).length;
  console.log(`     total: ${total} tokens, instructions ${encode(client.getInstructions()).length}`);
  assert.ok(total <= LIMIT, `${total} tokens`);
});

await run('tokens');
await client.close();
api.stop();
