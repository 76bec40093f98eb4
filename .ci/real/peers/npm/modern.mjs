// Hosts a server that speaks only MCP 2026-07-28, as the official TypeScript
// SDK of that version makes it: an older client is refused with -32022.
// Usage: node modern.mjs PORT
import { createServer } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod';

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'modern-only', version: '1.0.0' });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool('add', { title: 'Add', description: 'Adds two numbers.', inputSchema },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }));
  return server;
}, { legacy: 'reject' });

createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');
