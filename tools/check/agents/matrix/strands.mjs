import { Agent, NullConversationManager, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { z } from 'zod';

import { OPENAI, part, play } from './common.mjs';

const model = new OpenAIModel({ api: 'chat', modelId: 'gpt-5', apiKey: 'none', clientConfig: { baseURL: OPENAI } });
const read_part = tool({ name: 'read_part', description: 'Reads one part.', inputSchema: z.object({ k: z.number() }),
  callback: ({ k }) => part(k) });

await play(() => {
  const agent = new Agent({ model, tools: [read_part], printer: false,
    conversationManager: new NullConversationManager() });
  return async (prompt) => String(await agent.invoke(prompt));
});
