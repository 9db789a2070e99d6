import os
import uuid

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

from common import BASE, CLAUDE, MODE, OPENAI, play

if MODE == "messages":
    model = LLM(model="anthropic/" + CLAUDE, base_url=BASE, api_key=SecretStr("none"), usage_id="agent", num_retries=0)
else:
    model = LLM(model="openai/gpt-5", base_url=OPENAI, api_key=SecretStr("none"), usage_id="agent", num_retries=0)


def start():
    conversation = Conversation(agent=Agent(llm=model, tools=[Tool(name=TerminalTool.name)]), workspace=os.getcwd(),
                                persistence_dir="conversations", conversation_id=uuid.uuid4(), max_iteration_per_run=400)

    def ask(prompt):
        conversation.send_message(prompt)
        conversation.run()
        return conversation.state.execution_status

    return ask


play(start)
