from ag2 import Agent, tool
from ag2.config import OpenAIConfig

from common import GPT, OPENAI, part, play_async


@tool
def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


def start():
    agent = Agent("reader", prompt="You answer briefly.", config=OpenAIConfig(model=GPT, base_url=OPENAI, api_key="none"),
                  tools=[read_part])
    last = None

    async def ask(prompt):
        nonlocal last
        last = await (last.ask(prompt) if last else agent.ask(prompt))
        return last.body

    return ask


play_async(start)
