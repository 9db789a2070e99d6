"""Talks to a model with Ollama's Python package; see tools/check/sdks."""

import sys

import ollama

from report import CITY, PIXEL, chat, error, first, say

MODEL = "qwen3"
client = ollama.Client(host=sys.argv[1])
weather = {"type": "function", "function": {"name": "weather", "description": "the weather", "parameters": CITY}}


def joined(chunks):
    """The message of a stream."""
    m = {"role": "assistant", "content": "".join(c.message.content or "" for c in chunks)}
    thought = "".join(c.message.thinking or "" for c in chunks)
    calls = [t.model_dump() for c in chunks for t in c.message.tool_calls or []]
    return m | ({"thinking": thought} if thought else {}) | ({"tool_calls": calls} if calls else {})


def chats():
    for stream in (False, True):
        name = "ollama streaming" if stream else "ollama chat"
        history = [{"role": "system", "content": "Be short."}, {"role": "user", "content": first(name)}]
        for turn in range(3):
            r = client.chat(model=MODEL, messages=history, stream=stream, think=turn > 0)
            if stream:
                chunks = list(r)
                say(name.replace(" ", ": "), *chunks)
                history.append(joined(chunks))
            else:
                say(name.replace(" ", ": "), r)
                history.append(r.message)
            history.append({"role": "user", "content": f"And {turn}?"})
        chat(name, len(history) - 2)

    history = [{"role": "user", "content": first("ollama image"), "images": [PIXEL]}]
    say("ollama: image", client.chat(model=MODEL, messages=history))
    chat("ollama image", 2)


def tools():
    for stream in (False, True):
        name = "ollama tools streamed" if stream else "ollama tools"
        history = [{"role": "user", "content": first(name)}]
        for _ in range(2):
            r = client.chat(model=MODEL, messages=history, tools=[weather], stream=stream)
            chunks = list(r) if stream else [r]
            say(name.replace("ollama ", "ollama: ") + ", two calls at once", *chunks)
            history.append(joined(chunks) if stream else r.message)
            for c in [t for chunk in chunks for t in chunk.message.tool_calls or []]:
                history.append({"role": "tool", "tool_name": c.function.name, "content": "rain at " + c.function.arguments["city"]})
        chat(name, len(history))


def window():
    """The model behind Oriel cuts what exceeds num_ctx and says so, and the client does not see it."""
    for stream in (False, True):
        name = "ollama num_ctx streamed" if stream else "ollama num_ctx"
        history = [{"role": "user", "content": first(name)}]
        for i in range(40):
            history.append({"role": "user" if i % 2 else "assistant", "content": f"Part {i} of what is said. " + "The ferry leaves the pier at noon. " * 60})
        history.append({"role": "assistant", "content": "Yes."})
        for turn in range(2):
            history.append({"role": "user", "content": f"Are we at the limit, {turn}?"})
            r = client.chat(model=MODEL, messages=history, stream=stream, options={"num_ctx": 8192, "num_predict": 500})
            chunks = list(r) if stream else [r]
            say(name.replace("ollama ", "ollama: "), *chunks)
            history.append(joined(chunks))
        chat(name, len(history))


def errors():
    for status in (400, 429, 500):
        asked = [{"role": "user", "content": first(f"ollama error {status}", f"please fail with {status}")}]
        error(f"ollama: error {status}", lambda: client.chat(model=MODEL, messages=asked))
        chat(f"ollama error {status}", 1)


chats()
tools()
window()
errors()
