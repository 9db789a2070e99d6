from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

from common import BASE, CLAUDE, GEMINI, GPT, MODE, OPENAI, part, play

if MODE == "messages":
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    model = AnthropicModel(CLAUDE, provider=AnthropicProvider(base_url=BASE, api_key="none"))
elif MODE == "gemini":
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    model = GoogleModel(GEMINI, provider=GoogleProvider(api_key="none", base_url=BASE))
else:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIChatModel if MODE == "chat" else OpenAIResponsesModel
    model = kind(GPT, provider=OpenAIProvider(base_url=OPENAI))
agent = Agent(model, instructions="You answer briefly.")


@agent.tool_plain
def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


def start():
    history = []

    def ask(prompt):
        result = agent.run_sync(prompt, message_history=history, usage_limits=UsageLimits(request_limit=400))
        history[:] = result.all_messages()
        return result.output

    return ask


play(start)
