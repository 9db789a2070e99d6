from smolagents import OpenAIModel, ToolCallingAgent, tool

from common import GPT, OPENAI, part, play


@tool
def read_part(k: int) -> str:
    """Reads one part.

    Args:
        k: the number of the part
    """
    return part(k)


def start():
    agent = ToolCallingAgent(tools=[read_part], model=OpenAIModel(model_id=GPT, api_base=OPENAI, api_key="none"),
                             max_steps=400, verbosity_level=0)
    return lambda prompt: agent.run(prompt, reset=False)


play(start)
