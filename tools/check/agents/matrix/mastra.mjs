import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

import { BASE, MODE, OPENAI, part, play } from './common.mjs';

const model = MODE === 'messages' ? createAnthropic({ baseURL: BASE + '/v1' })('claude-sonnet-4-5') : createOpenAI({
  baseURL: OPENAI }).chat('gpt-5');
const read_part = createTool({ id: 'read_part', description: 'Reads one part.',
  inputSchema: z.object({ k: z.number() }), execute: async (input) => part(input.k ?? input.context.k) });
const agent = new Agent({ id: 'reader', name: 'reader', instructions: 'You answer briefly.', model,
  tools: { read_part } });

await play(() => {
  const messages = [];
  return async (prompt) => {
    messages.push({ role: 'user', content: prompt });
    const result = await agent.generate(messages, { maxSteps: 400 });
    messages.push(...result.response.messages);
    return result.text;
  };
});
