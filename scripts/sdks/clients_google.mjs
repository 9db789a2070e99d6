// Talks to a model with Google's Node package; see tools/check/sdks.
import { base, chat, city, collect, error, first, load, pixel, say } from './report.mjs';

const { GoogleGenAI } = load('@google/genai');
const client = new GoogleGenAI({ apiKey: 'AIzaTest', httpOptions: { baseUrl: base } });
const model = 'gemini-2.5-pro';
const text = (role, text) => ({ role, parts: [{ text }] });
const ask = async (stream, body) => {
  body = { model, ...body };
  return stream ? collect(client.models.generateContentStream(body)) : [await client.models.generateContent(body)];
};
const parts = (chunks) => chunks.flatMap((c) => c.candidates[0].content.parts);

for (const stream of [false, true]) {
  const name = stream ? 'google streaming' : 'google chat';
  const talk = client.chats.create({ model, config: { systemInstruction: 'Be short.', thinkingConfig: { includeThoughts: true } } });
  for (let turn = 0; turn < 3; turn++) {
    const message = turn === 0 ? first(name) : `And ${turn}?`;
    say(name.replace(' ', ': '), stream ? await collect(talk.sendMessageStream({ message })) : await talk.sendMessage({ message }));
  }
  // The SDK sends each chunk of a stream back as a content of its own. Oriel records a reply as
  // one message. The next call does not have that, so it begins a branch.
  const sent = talk.getHistory();
  chat(name, sent.findLastIndex((c) => c.role === 'user') + 2, stream ? 3 : 1);
}

say('google: image', await client.models.generateContent({ model, contents: [first('google image'), { inlineData: { data: pixel, mimeType: 'image/png' } }] }));
chat('google image', 2);

for (const stream of [false, true]) {
  const name = stream ? 'google tools streamed' : 'google tools';
  const tools = [{ functionDeclarations: [{ name: 'weather', description: 'the weather', parametersJsonSchema: city }] }];
  const history = [text('user', first(name))];
  for (let turn = 0; turn < 2; turn++) {
    const chunks = await ask(stream, { contents: history, config: { tools } });
    say(name.replace(' ', ': ') + ', two calls at once', chunks, chunks.map((c) => c.functionCalls ?? []));
    history.push({ role: 'model', parts: parts(chunks) });
    const results = parts(chunks).filter((p) => p.functionCall)
      .map((p) => ({ functionResponse: { id: p.functionCall.id, name: 'weather', response: { output: 'rain at ' + p.functionCall.args.city } } }));
    if (results.length > 0) history.push({ role: 'user', parts: results });
  }
  chat(name, history.length);
}

// The model behind Oriel refuses the first of these calls, and the client does not see it. Oriel has
// learnt the limit of the model that the program in Python names.
for (const stream of [false, true]) {
  const name = stream ? 'google too long streamed' : 'google too long';
  const history = [text('user', first(name))];
  for (let i = 0; i < 60; i++) history.push(text(i % 2 ? 'user' : 'model', `Part ${i} of what is said. ` + 'The ferry leaves the pier at noon. '.repeat(60)));
  history.push(text('model', 'Yes.'));
  for (let turn = 0; turn < 2; turn++) {
    history.push(text('user', `Are we at the limit, ${turn}?`));
    const chunks = await ask(stream, { model: 'gemini-2.5-flash', contents: history });
    say(name.replace(' ', ': ') + ' for the model', chunks);
    history.push({ role: 'model', parts: parts(chunks) });
  }
  chat(name, history.length);
}

// whole returns the steps of a stream.
const whole = (events) => {
  const steps = [];
  let args = '';
  for (const e of events) {
    if (e.event_type === 'step.start') {
      steps.push({ ...e.step });
      args = '';
    }
    if (e.event_type !== 'step.delta') continue;
    const step = steps.at(-1);
    switch (e.delta.type) {
      case 'text':
        step.content = [{ type: 'text', text: (step.content?.[0].text ?? '') + e.delta.text }];
        break;
      case 'thought_summary':
        step.summary = [{ type: 'text', text: (step.summary?.[0].text ?? '') + e.delta.content.text }];
        break;
      case 'thought_signature':
        step.signature = e.delta.signature;
        break;
      case 'arguments_delta':
        args += e.delta.arguments;
        if (args.endsWith('}')) step.arguments = JSON.parse(args);
    }
  }
  return steps;
};

for (const stream of [false, true]) {
  const name = stream ? 'interactions streamed' : 'interactions';
  const tools = [{ type: 'function', name: 'weather', description: 'the weather', parameters: city }];
  const asked = (t) => ({ type: 'user_input', content: [{ type: 'text', text: t }] });
  const steps = [asked(first(name))];
  for (let turn = 0; turn < 3; turn++) {
    const r = await client.interactions.create({ model: 'gemini-2.5-flash', input: steps, tools, store: false, stream, generation_config: { thinking_summaries: 'auto' } });
    const events = stream ? await collect(r) : [];
    say('google: ' + name, stream ? events : r);
    const made = stream ? whole(events) : r.steps;
    steps.push(...made);
    const calls = made.filter((s) => s.type === 'function_call');
    steps.push(...calls.map((c) => ({ type: 'function_result', call_id: c.id, name: c.name, result: 'rain at ' + c.arguments.city })));
    if (calls.length === 0 && turn < 2) steps.push(asked(`And ${turn}?`));
  }
  chat(name, steps.length);
}

for (const status of [400, 429, 500]) {
  await error(`google: error ${status}`, () => client.models.generateContent({ model, contents: first(`google error ${status}`, `please fail with ${status}`) }));
  chat(`google error ${status}`, 1);
}
