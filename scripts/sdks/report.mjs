// What the programs beside this file write; see tools/check/sdks.
import { createRequire } from 'node:module';

const [folder, address] = process.argv.slice(2);

// base is the address of the model.
export const base = address;
// load returns a package of the folder that is the first argument.
export const load = createRequire(folder + '/');

export const city = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'] };
export const pixel = Buffer.from(
  '89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082',
  'hex').toString('base64');

// Google's responses have the headers too, and those the date.
const plain = (key, value) => (key === 'sdkHttpResponse' ? undefined : value);
export const say = (check, ...result) => console.log(JSON.stringify({ check: 'node ' + check, result }, plain));
export const chat = (name, messages, branches = 1) => console.log(JSON.stringify({ chat: 'node ' + name, messages, branches }));
export const first = (name, text = 'What is new?') => `[node ${name}] ${text}`;
export const collect = async (stream) => {
  const all = [];
  for await (const event of await stream) all.push(event);
  return all;
};
export const error = async (check, call) => {
  try {
    say(check, await call());
  } catch (e) {
    say(check, e.constructor.name, e.status ?? e.status_code ?? null, e.error ?? null, e.message);
  }
};
