from google.adk.agents import Agent
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

from common import BASE, GEMINI, MODE, part, play_async


def read_part(k: int) -> str:
    """Reads one part."""
    return part(k)


def start():
    agent = Agent(name="reader", model=Gemini(model=GEMINI, base_url=BASE), instruction="You answer briefly.", tools=[read_part])
    runner = InMemoryRunner(agent=agent, app_name="reader")
    session = None

    async def ask(prompt):
        nonlocal session
        if session is None:
            session = await runner.session_service.create_session(app_name="reader", user_id="u")
        text = ""
        message = types.Content(role="user", parts=[types.Part(text=prompt)])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            for p in (event.content.parts if event.content else None) or []:
                text = p.text or text
        return text

    return ask


play_async(start)
