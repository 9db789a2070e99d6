// What the scripts beside it share: the model's address, the parts, and the questions in their order.
import fs from 'node:fs';

export const { BASE, TASK, QUESTION, ANOTHER } = process.env;
export const OPENAI = BASE + '/v1';
export const MODE = process.argv[2] ?? '';
export const part = (k) => fs.readFileSync(`parts/${Number(k)}.txt`, 'utf8');

// Calls start for a conversation, a function that returns the answer to a prompt: two prompts in one, one in another.
export async function play(start) {
  const ask = await start();
  console.log(await ask(TASK));
  console.log(await ask(QUESTION));
  console.log(await (await start())(ANOTHER));
}
