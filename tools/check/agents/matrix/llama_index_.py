from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory

from common import BASE, GEMINI, GPT, LLAMA, MODE, OPENAI, part, play_async

if MODE == "gemini":
    from llama_index.llms.google_genai import GoogleGenAI

    model = GoogleGenAI(model=GEMINI, http_options={"base_url": BASE}, context_window=1_000_000, max_tokens=8000)
elif MODE == "ollama":
    from llama_index.llms.ollama import Ollama

    model = Ollama(model=LLAMA, base_url=BASE, context_window=16384)
elif MODE == "responses":
    from llama_index.llms.openai import OpenAIResponses

    model = OpenAIResponses(model=GPT, api_base=OPENAI)
else:
    from llama_index.llms.openai import OpenAI

    model = OpenAI(model=GPT, api_base=OPENAI)


def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


def start():
    agent = FunctionAgent(llm=model, tools=[read_part], system_prompt="You answer briefly.")
    memory = Memory.from_defaults(session_id=str(id(agent)), token_limit=1_000_000)

    async def ask(prompt):
        return await agent.run(prompt, memory=memory, max_iterations=400)

    return ask


play_async(start)
