// Talks to a model with the Node packages of OpenAI and Anthropic; see tools/check/sdks.
import { base, chat, city, collect, error, first, load, say } from './report.mjs';

const OpenAI = load('openai').default ?? load('openai');
const Anthropic = load('@anthropic-ai/sdk').default ?? load('@anthropic-ai/sdk');
const one = new OpenAI({ baseURL: base + '/v1', apiKey: 'sk-test' });
const two = new Anthropic({ baseURL: base, apiKey: 'sk-test' });

let history = [{ role: 'system', content: 'Be short.' }, { role: 'user', content: first('openai chat') }];
for (let turn = 0; turn < 3; turn++) {
  const r = await one.chat.completions.create({ model: 'gpt-4o', messages: history });
  say('openai: chat', r);
  history.push(r.choices[0].message, { role: 'user', content: `And ${turn}?` });
}
chat('openai chat', history.length - 2);

history = [{ role: 'user', content: first('openai stream') }];
for (let turn = 0; turn < 2; turn++) {
  const chunks = await collect(one.chat.completions.create({ model: 'gpt-4o', messages: history, stream: true, stream_options: { include_usage: true } }));
  say('openai: streaming', chunks);
  history.push({ role: 'assistant', content: chunks.map((c) => c.choices[0]?.delta.content ?? '').join('') }, { role: 'user', content: `And ${turn}?` });
}
chat('openai stream', history.length - 1);

history = [{ role: 'user', content: first('openai tools') }];
for (let turn = 0; turn < 2; turn++) {
  const r = await one.chat.completions.create({ model: 'gpt-4o', messages: history, tools: [{ type: 'function', function: { name: 'weather', parameters: city } }] });
  say('openai: tools, two calls at once', r);
  history.push(r.choices[0].message);
  for (const c of r.choices[0].message.tool_calls ?? []) history.push({ role: 'tool', tool_call_id: c.id, content: 'rain' });
}
chat('openai tools', history.length);

for (const stream of [false, true]) {
  const name = stream ? 'responses reasoning streamed' : 'responses reasoning';
  let items = [{ role: 'user', content: first(name) }];
  for (let turn = 0; turn < 2; turn++) {
    const ask = { model: 'gpt-5', input: items, reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'], store: false };
    let r;
    if (stream) {
      const events = await collect(one.responses.create({ ...ask, stream: true }));
      say('openai: ' + name, events);
      r = events.at(-1).response;
    } else {
      r = await one.responses.create(ask);
      say('openai: ' + name, r);
    }
    items = [...items, ...r.output, { role: 'user', content: `And ${turn}?` }];
  }
  chat(name, items.length - 1);
}

const ask = { model: 'claude-sonnet-4-5', max_tokens: 2000 };
for (const stream of [false, true]) {
  const name = stream ? 'anthropic thinking streamed' : 'anthropic thinking';
  history = [{ role: 'user', content: first(name) }];
  for (let turn = 0; turn < 2; turn++) {
    const body = { ...ask, messages: history, thinking: { type: 'enabled', budget_tokens: 1024 } };
    const r = stream ? await two.messages.stream(body).finalMessage() : await two.messages.create(body);
    say(name.replace(' ', ': '), r);
    history.push({ role: 'assistant', content: r.content }, { role: 'user', content: `And ${turn}?` });
  }
  chat(name, history.length - 1);
}

history = [{ role: 'user', content: first('anthropic tools') }];
for (let turn = 0; turn < 2; turn++) {
  const r = await two.messages.stream({ ...ask, messages: history, tools: [{ name: 'weather', input_schema: city }] }).finalMessage();
  say('anthropic: tools, two calls at once, streamed', r);
  history.push({ role: 'assistant', content: r.content });
  const results = r.content.filter((b) => b.type === 'tool_use').map((b) => ({ type: 'tool_result', tool_use_id: b.id, content: 'rain at ' + b.input.city }));
  if (results.length > 0) history.push({ role: 'user', content: results });
}
chat('anthropic tools', history.length);

for (const status of [400, 429, 500]) {
  await error(`openai: error ${status}`, () =>
    one.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: first(`openai error ${status}`, `please fail with ${status}`) }] }, { maxRetries: 0 }));
  chat(`openai error ${status}`, 1);
  await error(`anthropic: error ${status}`, () =>
    two.messages.create({ ...ask, messages: [{ role: 'user', content: first(`anthropic error ${status}`, `please fail with ${status}`) }] }, { maxRetries: 0 }));
  chat(`anthropic error ${status}`, 1);
}
