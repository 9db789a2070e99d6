from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from common import ANOTHER, BASE, CLAUDE, GPT, MODE, OPENAI, TASK, part


@tool("read_part")
def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


if MODE == "messages":
    model = LLM(model="anthropic/" + CLAUDE, base_url=BASE, api_key="none", max_tokens=4000)
else:
    model = LLM(model="openai/" + GPT, base_url=OPENAI)

# A crew remembers nothing of the task before it.
for prompt in (TASK, ANOTHER):
    agent = Agent(role="reader", goal="read", backstory="You read.", tools=[read_part], llm=model, max_iter=400)
    print(Crew(agents=[agent], tasks=[Task(description=prompt, expected_output="done", agent=agent)]).kickoff())
