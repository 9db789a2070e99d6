from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from common import BASE, CLAUDE, GEMINI, GPT, LLAMA, MODE, OPENAI, part, play


@tool
def read_part(k: int) -> str:
    "Reads one part."
    return part(k)


if MODE.startswith("messages"):
    from langchain_anthropic import ChatAnthropic

    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000} if "thinking" in MODE else {}
    model = ChatAnthropic(model=CLAUDE, base_url=BASE, **thinking)
elif MODE == "gemini":
    from langchain_google_genai import ChatGoogleGenerativeAI

    model = ChatGoogleGenerativeAI(model=GEMINI, base_url=BASE)
elif MODE == "ollama":
    from langchain_ollama import ChatOllama

    model = ChatOllama(model=LLAMA, base_url=BASE)
else:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=GPT, base_url=OPENAI, use_responses_api=MODE == "responses")


def start():
    agent = create_agent(model, tools=[read_part], system_prompt="You answer briefly.", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 400}

    def ask(prompt):
        messages = {"messages": [{"role": "user", "content": prompt}]}
        for _ in agent.stream(messages, config, stream_mode="messages"):
            pass
        return agent.get_state(config).values["messages"][-1].content

    return ask


play(start)
