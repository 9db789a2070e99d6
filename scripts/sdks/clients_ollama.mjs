// Talks to a model with Ollama's Node package; see tools/check/sdks.
import { base, chat, city, collect, error, first, load, pixel, say } from './report.mjs';

const { Ollama } = load('ollama');
const client = new Ollama({ host: base });
const model = 'qwen3';
const ask = async (stream, body) =>
  stream ? collect(client.chat({ model, stream, ...body })) : [await client.chat({ model, ...body })];

// joined returns the message of a stream.
const joined = (chunks) => {
  const m = { role: 'assistant', content: chunks.map((c) => c.message.content).join('') };
  const thinking = chunks.map((c) => c.message.thinking ?? '').join('');
  const calls = chunks.flatMap((c) => c.message.tool_calls ?? []);
  return { ...m, ...(thinking && { thinking }), ...(calls.length > 0 && { tool_calls: calls }) };
};

for (const stream of [false, true]) {
  const name = stream ? 'ollama streaming' : 'ollama chat';
  const history = [{ role: 'system', content: 'Be short.' }, { role: 'user', content: first(name) }];
  for (let turn = 0; turn < 3; turn++) {
    const chunks = await ask(stream, { messages: history, think: turn > 0 });
    say(name.replace(' ', ': '), chunks);
    history.push(joined(chunks), { role: 'user', content: `And ${turn}?` });
  }
  chat(name, history.length - 2);
}

say('ollama: image', await ask(false, { messages: [{ role: 'user', content: first('ollama image'), images: [pixel] }] }));
chat('ollama image', 2);

for (const stream of [false, true]) {
  const name = stream ? 'ollama tools streamed' : 'ollama tools';
  const tools = [{ type: 'function', function: { name: 'weather', description: 'the weather', parameters: city } }];
  const history = [{ role: 'user', content: first(name) }];
  for (let turn = 0; turn < 2; turn++) {
    const chunks = await ask(stream, { messages: history, tools });
    say(name.replace(' ', ': ') + ', two calls at once', chunks);
    const message = joined(chunks);
    history.push(message);
    for (const c of message.tool_calls ?? []) history.push({ role: 'tool', tool_name: c.function.name, content: 'rain at ' + c.function.arguments.city });
  }
  chat(name, history.length);
}

// The model behind Oriel cuts what exceeds num_ctx and says so, and the client does not see it.
for (const stream of [false, true]) {
  const name = stream ? 'ollama num_ctx streamed' : 'ollama num_ctx';
  const history = [{ role: 'user', content: first(name) }];
  for (let i = 0; i < 40; i++) history.push({ role: i % 2 ? 'user' : 'assistant', content: `Part ${i} of what is said. ` + 'The ferry leaves the pier at noon. '.repeat(60) });
  history.push({ role: 'assistant', content: 'Yes.' });
  for (let turn = 0; turn < 2; turn++) {
    history.push({ role: 'user', content: `Are we at the limit, ${turn}?` });
    const chunks = await ask(stream, { messages: history, options: { num_ctx: 8192, num_predict: 500 } });
    say(name.replace(' ', ': '), chunks);
    history.push(joined(chunks));
  }
  chat(name, history.length);
}

for (const status of [400, 429, 500]) {
  await error(`ollama: error ${status}`, () => client.chat({ model, messages: [{ role: 'user', content: first(`ollama error ${status}`, `please fail with ${status}`) }] }));
  chat(`ollama error ${status}`, 1);
}
