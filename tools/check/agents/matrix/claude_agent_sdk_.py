from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from common import ANOTHER, BASE, QUESTION, TASK
import asyncio


async def main():
    env = {"ANTHROPIC_BASE_URL": BASE, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    options = ClaudeAgentOptions(env=env, allowed_tools=["Bash"], model="claude-sonnet-4-5", max_turns=400)
    for prompts in ((TASK, QUESTION), (ANOTHER,)):
        async with ClaudeSDKClient(options=options) as client:
            for prompt in prompts:
                await client.query(prompt)
                async for message in client.receive_response():
                    if isinstance(message, ResultMessage):
                        print(message.result)


asyncio.run(main())
