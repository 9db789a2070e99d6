import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { GoogleGenAI, Type } from '@google/genai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { z } from 'zod';

import { BASE, MODE, OPENAI, part, play } from './common.mjs';

const parameters = { type: 'object', properties: { k: { type: 'integer' } }, required: ['k'],
  additionalProperties: false };
const about = { name: 'read_part', description: 'Reads one part.' };

function chat() {
  const client = new OpenAI({ baseURL: OPENAI });
  const messages = [{ role: 'system', content: 'You answer briefly.' }];
  return async (prompt) => {
    messages.push({ role: 'user', content: prompt });
    const tools = [{ type: 'function', function: { ...about, parameters, parse: JSON.parse,
      function: ({ k }) => part(k) } }];
    const runner = client.chat.completions.runTools({ model: 'gpt-5', messages: [...messages], tools, stream: true,
      stream_options: { include_usage: true } }, { maxChatCompletions: 400 });
    const text = await runner.finalContent();
    messages.splice(0, messages.length, ...runner.messages);
    return text;
  };
}

function messages() {
  const client = new Anthropic({ baseURL: BASE });
  const list = [];
  return async (prompt) => {
    list.push({ role: 'user', content: prompt });
    const tools = [betaZodTool({ ...about, inputSchema: z.object({ k: z.number() }), run: ({ k }) => part(k) })];
    const runner = client.beta.messages.toolRunner({ model: 'claude-sonnet-4-5', max_tokens: 2000,
      messages: [...list], tools, thread: false });
    const reply = await runner;
    list.splice(0, list.length, ...runner.params.messages);
    if (list.at(-1).role !== 'assistant') list.push({ role: 'assistant', content: reply.content });
    return reply.content.at(-1).text;
  };
}

function gemini() {
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: BASE } });
  const declarations = [{ ...about, parameters: { type: Type.OBJECT, properties: { k: { type: Type.INTEGER } },
    required: ['k'] } }];
  const talk = client.chats.create({ model: 'gemini-2.5-pro',
    config: { tools: [{ functionDeclarations: declarations }] } });
  return async (prompt) => {
    for (let message = prompt; ;) {
      let text = '';
      const calls = [];
      for await (const chunk of await talk.sendMessageStream({ message })) {
        text += chunk.text ?? '';
        calls.push(...(chunk.functionCalls ?? []));
      }
      if (calls.length === 0) return text;
      message = calls.map((c) => ({ functionResponse: { id: c.id, name: c.name,
        response: { output: part(c.args.k) } } }));
    }
  };
}

function ollama() {
  const client = new Ollama({ host: BASE });
  const list = [];
  return async (prompt) => {
    list.push({ role: 'user', content: prompt });
    for (;;) {
      let text = '';
      const calls = [];
      for await (const chunk of await client.chat({ model: 'llama3.1', messages: list, tools: [{ type: 'function',
        function: { ...about, parameters } }], stream: true })) {
        text += chunk.message.content;
        calls.push(...(chunk.message.tool_calls ?? []));
      }
      list.push({ role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
      if (calls.length === 0) return text;
      for (const c of calls) list.push({ role: 'tool', tool_name: c.function.name,
        content: part(c.function.arguments.k) });
    }
  };
}

await play({ chat, messages, gemini, ollama }[MODE]);
