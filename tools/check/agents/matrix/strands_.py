from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager

from common import BASE, CLAUDE, GEMINI, GPT, LLAMA, MODE, OPENAI, part, play


@tool
def read_part(k: int) -> str:
    """Reads one part.

    Args:
        k: the number of the part
    """
    return part(k)


if MODE == "messages":
    from strands.models.anthropic import AnthropicModel

    model = AnthropicModel(client_args={"base_url": BASE, "api_key": "none"}, model_id=CLAUDE, max_tokens=4000)
elif MODE == "ollama":
    from strands.models.ollama import OllamaModel

    model = OllamaModel(host=BASE, model_id=LLAMA)
elif MODE == "gemini":
    from strands.models.gemini import GeminiModel

    model = GeminiModel(client_args={"api_key": "none", "http_options": {"base_url": BASE}}, model_id=GEMINI)
else:
    from strands.models.openai import OpenAIModel

    model = OpenAIModel(client_args={"base_url": OPENAI}, model_id=GPT)


def start():
    return Agent(model=model, tools=[read_part], conversation_manager=NullConversationManager(), callback_handler=None)


play(start)
