import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

import { BASE, MODE, OPENAI, part, play } from './common.mjs';

const openai = createOpenAI({ baseURL: OPENAI });
const model = {
  messages: () => createAnthropic({ baseURL: BASE + '/v1' })('claude-sonnet-4-5'),
  gemini: () => createGoogleGenerativeAI({ baseURL: BASE + '/v1beta', apiKey: 'none' })('gemini-2.5-pro'),
  chat: () => openai.chat('gpt-5'),
  responses: () => openai.responses('gpt-5'),
}[MODE]();
const tools = { read_part: tool({ description: 'Reads one part.', inputSchema: z.object({ k: z.number() }),
  execute: ({ k }) => part(k) }) };

await play(() => {
  const messages = [];
  return async (prompt) => {
    messages.push({ role: 'user', content: prompt });
    const options = MODE === 'responses' ? { openai: { store: false,
      include: ['reasoning.encrypted_content'] } } : undefined;
    const result = streamText({ model, system: 'You answer briefly.', messages, tools, stopWhen: isStepCount(400),
      providerOptions: options });
    const text = await result.text;
    messages.push(...(await result.responseMessages));
    return text;
  };
});
