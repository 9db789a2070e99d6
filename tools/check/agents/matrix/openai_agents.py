from agents import Agent, ModelSettings, Runner, SQLiteSession, function_tool, set_default_openai_api
from agents import set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

from common import GPT, MODE, OPENAI, part, play_async

set_default_openai_client(AsyncOpenAI(base_url=OPENAI), use_for_tracing=False)
set_tracing_disabled(True)
settings = ModelSettings()
if MODE == "chat":
    set_default_openai_api("chat_completions")
if MODE == "reasoning":
    settings = ModelSettings(reasoning=Reasoning(effort="low"), store=False, response_include=["reasoning.encrypted_content"])


@function_tool
def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


def start():
    agent = Agent(name="Reader", instructions="You answer briefly.", model=GPT, tools=[read_part], model_settings=settings)
    session = SQLiteSession(str(id(agent)))

    async def ask(prompt):
        if MODE != "reasoning":
            return (await Runner.run(agent, prompt, max_turns=400, session=session)).final_output
        run = Runner.run_streamed(agent, prompt, max_turns=400, session=session)
        async for _ in run.stream_events():
            pass
        return run.final_output

    return ask


play_async(start)
