from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import KernelArguments, kernel_function

from common import GPT, OPENAI, PARTS, part, play_async


class Reader:
    @kernel_function(name="read_part", description="Reads one part.")
    def read_part(self, k: int) -> str:
        return part(k)


def start():
    service = OpenAIChatCompletion(ai_model_id=GPT, async_client=AsyncOpenAI(base_url=OPENAI))
    agent = ChatCompletionAgent(service=service, name="reader", instructions="You answer briefly.", plugins=[Reader()],
                                function_choice_behavior=FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=PARTS + 10))
    thread = ChatHistoryAgentThread()

    async def ask(prompt):
        return (await agent.get_response(messages=prompt, thread=thread)).content

    return ask


play_async(start)
