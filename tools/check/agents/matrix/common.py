"""What the scripts beside it share: the model's address, the parts, and the questions in their order."""

import asyncio
import os
import sys

BASE = os.environ["BASE"]
OPENAI = BASE + "/v1"
MODE = sys.argv[1] if len(sys.argv) > 1 else ""
PARTS = int(os.environ["PARTS"])
TASK, QUESTION, ANOTHER = os.environ["TASK"], os.environ["QUESTION"], os.environ["ANOTHER"]
CLAUDE, GPT, GEMINI, LLAMA = "claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "llama3.1"


def part(k):
    with open(f"parts/{int(k)}.txt") as f:
        return f.read()


def play(start):
    """Calls start for a conversation, a function that returns the answer to a prompt: two prompts in one, one in another."""
    ask = start()
    print(ask(TASK))
    print(ask(QUESTION))
    print(start()(ANOTHER))


def play_async(start):
    """Does the same with functions whose answers are awaited."""

    async def go():
        ask = start()
        print(await ask(TASK))
        print(await ask(QUESTION))
        print(await start()(ANOTHER))

    asyncio.run(go())
