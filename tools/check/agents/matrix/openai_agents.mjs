import { Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool, user } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

import { MODE, OPENAI, part, play } from './common.mjs';

setDefaultOpenAIClient(new OpenAI({ baseURL: OPENAI }));
setTracingDisabled(true);
if (MODE === 'chat') setOpenAIAPI('chat_completions');
const read_part = tool({ name: 'read_part', description: 'Reads one part.', parameters: z.object({ k: z.number() }),
  execute: ({ k }) => part(k) });
const agent = new Agent({ name: 'Reader', instructions: 'You answer briefly.', model: 'gpt-5', tools: [read_part] });

await play(() => {
  let history = [];
  return async (prompt) => {
    const result = await run(agent, [...history, user(prompt)], { stream: true, maxTurns: 400 });
    for await (const _ of result) { /* until its end */ }
    await result.completed;
    history = result.history;
    return result.finalOutput;
  };
});
