from autogen_agentchat.agents import AssistantAgent

from common import BASE, GPT, LLAMA, MODE, OPENAI, part, play_async

if MODE == "ollama":
    from autogen_ext.models.ollama import OllamaChatCompletionClient

    client = OllamaChatCompletionClient(model=LLAMA, host=BASE)
else:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(model=GPT, base_url=OPENAI)


async def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


def start():
    agent = AssistantAgent("reader", client, tools=[read_part], max_tool_iterations=400)

    async def ask(prompt):
        return (await agent.run(task=prompt)).messages[-1].content

    return ask


play_async(start)
