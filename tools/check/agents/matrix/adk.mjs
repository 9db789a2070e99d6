import { FunctionTool, Gemini, InMemoryRunner, LlmAgent } from '@google/adk';
import { z } from 'zod';

import { BASE, part, play } from './common.mjs';

process.env.GOOGLE_GEMINI_BASE_URL = BASE;
const read_part = new FunctionTool({ name: 'read_part', description: 'Reads one part.',
  parameters: z.object({ k: z.number() }), execute: ({ k }) => part(k) });

await play(async () => {
  const agent = new LlmAgent({ name: 'reader', model: new Gemini({ model: 'gemini-2.5-pro', apiKey: 'none' }),
    instruction: 'You answer briefly.', tools: [read_part] });
  const runner = new InMemoryRunner({ agent, appName: 'reader' });
  const session = await runner.sessionService.createSession({ appName: 'reader', userId: 'u' });
  return async (prompt) => {
    let text = '';
    for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage: { role: 'user',
      parts: [{ text: prompt }] } })) {
      for (const p of event.content?.parts ?? []) text = p.text ?? text;
    }
    return text;
  };
});
