// The shortest honest server with these seven tools on the official SDK: zod schemas, fetch, the body as text.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';

const base = process.env.KAVAL_BASE_URL;
const headers = { authorization: `Bearer ${process.env.KAVAL_API_KEY}`, 'content-type': 'application/json' };
const DEADLINE_MS = 55_000;

async function send(method, path, body, extra, signal) {
  const response = await fetch(base + path, {
    method,
    headers: { ...headers, ...extra },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.any([AbortSignal.timeout(DEADLINE_MS), signal]),
  });
  const text = JSON.stringify(await response.json());
  return { content: [{ type: 'text', text }], isError: !response.ok };
}

const server = new McpServer({ name: 'baseline', version: '0.0.0' });
const text = (max) => z.string().trim().min(1).max(max);
const url = z.string().url();
const uuid = z.string().uuid();
const materiality = z.enum(['low', 'medium', 'high', 'critical']);

const tool = (name, inputSchema, request) =>
  server.registerTool(name, { description: name, inputSchema }, async (args, { signal }) => send(...request(args), signal));

tool(
  'check',
  {
    action: text(10_000).optional(),
    context: text(10_000).optional(),
    claims: z.array(text(2000)).min(1).max(20).optional(),
    mode: z.enum(['fast', 'standard']).optional(),
    max_wait_ms: z.number().int().min(0).max(45_000).default(45_000),
    origin_urls: z.array(url).max(20).optional(),
    materiality: materiality.optional(),
    as_of: z.string().optional(),
  },
  (args) => ['POST', '/v1/check', args, {}],
);
tool('get_receipt', { receipt_id: uuid }, ({ receipt_id }) => ['GET', `/v1/receipts/${receipt_id}`, undefined, {}]);
tool(
  'add_source',
  {
    kind: z.enum(['url', 'push', 'connection', 'entity', 'discovered']),
    locator: text(2048).optional(),
    name: text(2048).optional(),
    label: text(512).optional(),
    intent: text(512).optional(),
    scope_keys: z.array(text(256)).max(64).optional(),
    poll_interval_s: z.number().int().min(60).max(604_800).optional(),
  },
  (args) => ['POST', '/v1/sources', args, {}],
);
tool('list_sources', { include_inactive: z.boolean().optional() }, ({ include_inactive }) => [
  'GET',
  include_inactive ? '/v1/sources?include_inactive=true' : '/v1/sources',
  undefined,
  {},
]);
tool('remove_source', { id: uuid }, ({ id }) => ['DELETE', `/v1/sources/${id}`, undefined, {}]);
tool(
  'report_outcome',
  {
    id: uuid,
    kind: z.enum(['current_later_contradicted', 'stale_caught_real', 'stale_was_false_alarm', 'relied_and_correct']),
    note: z.string().max(2048).optional(),
  },
  (args) => ['POST', '/v1/report-outcome', args, {}],
);
tool(
  'verify',
  { conclusion: z.string().min(1).max(10_000), evidence_refs: z.array(url).min(1).max(20), idempotency_key: z.string().optional() },
  ({ idempotency_key, ...body }) => ['POST', '/v1/verify', body, { 'idempotency-key': idempotency_key ?? randomUUID() }],
);

await server.connect(new StdioServerTransport());
