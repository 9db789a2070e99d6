from agno.agent import Agent
from agno.db.in_memory import InMemoryDb

from common import BASE, CLAUDE, GPT, MODE, OPENAI, part, play

if MODE == "messages":
    from agno.models.anthropic import Claude

    model = Claude(id=CLAUDE, client_params={"base_url": BASE, "api_key": "none"})
else:
    from agno.models.openai import OpenAIChat

    model = OpenAIChat(id=GPT, base_url=OPENAI)


def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


def start():
    agent = Agent(model=model, tools=[read_part], telemetry=False, db=InMemoryDb(), add_history_to_context=True,
                  num_history_runs=5, session_id="s")
    return lambda prompt: agent.run(prompt).content


play(start)
