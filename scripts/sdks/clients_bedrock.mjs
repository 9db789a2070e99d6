// Talks to models on Amazon Bedrock with AWS's Node package; see tools/check/sdks.
import { base, chat, city, first, load, say } from './report.mjs';

process.env.AWS_BEARER_TOKEN_BEDROCK = 'ABSKtest';
const { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand, InvokeModelCommand, InvokeModelWithResponseStreamCommand } =
  load('@aws-sdk/client-bedrock-runtime');
const { NodeHttpHandler } = load('@smithy/node-http-handler'); // without it the package speaks HTTP/2
const client = new BedrockRuntimeClient({ region: 'us-east-1', endpoint: base, maxAttempts: 1, requestHandler: new NodeHttpHandler() });
const modelId = 'us.anthropic.claude-haiku-4-5-20251001-v1:0';
const text = (role, t) => ({ role, content: [{ text: t }] });

// ask returns the message of a reply of Converse.
const ask = async (check, stream, body) => {
  if (!stream) {
    const { $metadata, ...r } = await client.send(new ConverseCommand({ modelId, ...body }));
    say(check, r);
    return r.output.message;
  }
  const events = [];
  for await (const e of (await client.send(new ConverseStreamCommand({ modelId, ...body }))).stream) events.push(e);
  say(check, events);
  const blocks = [];
  for (const { contentBlockStart: s, contentBlockDelta: d } of events) {
    if (s) blocks[s.contentBlockIndex] = { toolUse: { ...s.start.toolUse, input: '' } };
    if (d?.delta.toolUse) blocks[d.contentBlockIndex].toolUse.input += d.delta.toolUse.input;
    if (d?.delta.text) (blocks[d.contentBlockIndex] ??= { text: '' }).text += d.delta.text;
  }
  for (const b of blocks) if (b.toolUse) b.toolUse.input = JSON.parse(b.toolUse.input);
  return { role: 'assistant', content: blocks };
};

for (const stream of [false, true]) {
  let name = stream ? 'converse stream' : 'converse chat';
  let history = [text('user', first(name))];
  for (let turn = 0; turn < 3; turn++) {
    history.push(await ask(name.replace(' ', ': '), stream, { messages: history, system: [{ text: 'Be short.' }] }));
    history.push(text('user', `And ${turn}?`));
  }
  chat(name, history.length - 1);

  name = stream ? 'converse tools streamed' : 'converse tools';
  const toolConfig = { tools: [{ toolSpec: { name: 'weather', description: 'the weather', inputSchema: { json: city } } }] };
  history = [text('user', first(name))];
  for (let turn = 0; turn < 2; turn++) {
    const message = await ask(name.replace(' ', ': '), stream, { messages: history, toolConfig });
    history.push(message);
    const results = message.content.filter((b) => b.toolUse).map(({ toolUse: { toolUseId, input } }) => ({ toolResult: { toolUseId, content: [{ text: 'rain at ' + input.city }] } }));
    if (results.length > 0) history.push({ role: 'user', content: results });
  }
  chat(name, history.length);

  name = stream ? 'invoke stream' : 'invoke chat';
  history = [{ role: 'user', content: first(name) }];
  for (let turn = 0; turn < 2; turn++) {
    const input = { modelId, contentType: 'application/json', body: JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 100, messages: history }) };
    let answer = '';
    if (stream) {
      const events = [];
      for await (const e of (await client.send(new InvokeModelWithResponseStreamCommand(input))).body) events.push(JSON.parse(new TextDecoder().decode(e.chunk.bytes)));
      say(name.replace(' ', ': '), events);
      answer = events.map((e) => e.delta?.text ?? '').join('');
    } else {
      const r = JSON.parse(new TextDecoder().decode((await client.send(new InvokeModelCommand(input))).body));
      say(name.replace(' ', ': '), r);
      answer = r.content[0].text;
    }
    history.push({ role: 'assistant', content: answer }, { role: 'user', content: `And ${turn}?` });
  }
  chat(name, history.length - 1);
}

for (const status of [400, 429, 500]) {
  const check = `converse: error ${status}`;
  try {
    say(check, await ask(check, false, { messages: [text('user', first(`converse error ${status}`, `please fail with ${status}`))] }));
  } catch (e) {
    say(check, e.name, e.$metadata?.httpStatusCode, e.message);
  }
  chat(`converse error ${status}`, 1);
}
