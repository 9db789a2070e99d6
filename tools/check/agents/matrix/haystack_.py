from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret

from common import BASE, CLAUDE, GPT, MODE, OPENAI, part, play


@tool
def read_part(k: int) -> str:
    """Reads one part."""
    return part(k)


if MODE == "messages":
    from haystack_integrations.components.generators.anthropic import AnthropicChatGenerator
    import os

    os.environ["ANTHROPIC_BASE_URL"] = BASE
    model = AnthropicChatGenerator(model=CLAUDE, api_key=Secret.from_token("none"))
else:
    model = OpenAIChatGenerator(model=GPT, api_base_url=OPENAI, api_key=Secret.from_token("none"))


def start():
    agent = Agent(chat_generator=model, tools=[read_part], system_prompt="You answer briefly.", max_agent_steps=400)
    messages = []

    def ask(prompt):
        result = agent.run(messages=messages + [ChatMessage.from_user(prompt)])
        messages[:] = [m for m in result["messages"] if not m.is_from("system")]
        return messages[-1].text

    return ask


play(start)
