import { query } from '@anthropic-ai/claude-agent-sdk';

import { ANOTHER, BASE, QUESTION, TASK } from './common.mjs';

const env = { ...process.env, ANTHROPIC_BASE_URL: BASE, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
let resume;
for (const prompt of [TASK, QUESTION, ANOTHER]) {
  if (prompt === ANOTHER) resume = undefined;
  for await (const message of query({ prompt, options: { env, resume, allowedTools: ['Bash'],
    model: 'claude-sonnet-4-5', maxTurns: 400 } })) {
    if (message.type === 'result') {
      console.log(message.result);
      resume = message.session_id;
    }
  }
}
