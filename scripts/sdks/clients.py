"""Talks to a model with the Python packages of OpenAI and Anthropic; see tools/check/sdks."""

import json
import sys

import anthropic
import openai

from report import CITY, PIXEL, chat, error, first, say

base = sys.argv[1]
one = openai.OpenAI(base_url=base + "/v1", api_key="sk-test")
two = anthropic.Anthropic(base_url=base, api_key="sk-test")


def openai_chat():
    history = [{"role": "system", "content": "Be short."}, {"role": "user", "content": first("openai chat")}]
    for turn in range(3):
        r = one.chat.completions.create(model="gpt-4o", messages=history)
        say("openai: chat", r)
        history += [r.choices[0].message, {"role": "user", "content": f"And {turn}?"}]
    chat("openai chat", len(history) - 2)

    history = [{"role": "user", "content": first("openai stream")}]
    for turn in range(2):
        chunks = list(one.chat.completions.create(model="gpt-4o", messages=history, stream=True, stream_options={"include_usage": True}))
        say("openai: streaming", *chunks)
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        history += [{"role": "assistant", "content": text}, {"role": "user", "content": f"And {turn}?"}]
    chat("openai stream", len(history) - 1)

    raw = one.chat.completions.with_raw_response.create(model="gpt-4o", messages=[{"role": "user", "content": first("openai raw")}])
    say("openai: raw response", raw.status_code, raw.headers["content-type"], raw.text)
    chat("openai raw", 2)

    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL, "detail": "low"}}
    history = [{"role": "user", "content": [{"type": "text", "text": first("openai image")}, picture]}]
    say("openai: image", one.chat.completions.create(model="gpt-4o", messages=history))
    chat("openai image", 2)


def openai_tools():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": CITY}}]
    for stream in (False, True):
        name = "openai tools streamed" if stream else "openai tools"
        history = [{"role": "user", "content": first(name)}]
        for _ in range(2):
            if stream:
                with one.chat.completions.stream(model="gpt-4o", messages=history, tools=tools) as events:
                    for _ in events:
                        pass
                    r = events.get_final_completion()
            else:
                r = one.chat.completions.create(model="gpt-4o", messages=history, tools=tools)
            say(name.replace("openai ", "openai: ") + ", two calls at once", r)
            m = r.choices[0].message
            calls = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in m.tool_calls or []]
            history.append({"role": "assistant", "content": m.content, **({"tool_calls": calls} if calls else {})})
            for c in m.tool_calls or []:
                history.append({"role": "tool", "tool_call_id": c.id, "content": "rain at " + json.loads(c.function.arguments)["city"]})
        chat(name, len(history))


def openai_responses():
    tools = [{"type": "function", "name": "weather", "parameters": CITY, "strict": False}]
    for stream in (False, True):
        name = "responses reasoning streamed" if stream else "responses reasoning"
        items = [{"role": "user", "content": first(name)}]
        for turn in range(3):
            extra = dict(model="gpt-5", input=items, reasoning={"effort": "low"}, include=["reasoning.encrypted_content"], store=False, tools=tools)
            if stream:
                events = list(one.responses.create(stream=True, **extra))
                say("openai: " + name, *events)
                r = events[-1].response
            else:
                r = one.responses.create(**extra)
                say("openai: " + name, r, r.output_text)
            items += [i.to_dict() for i in r.output]
            calls = [i for i in r.output if i.type == "function_call"]
            items += [{"type": "function_call_output", "call_id": c.call_id, "output": "rain"} for c in calls]
            if not calls:
                items.append({"role": "user", "content": f"And {turn}?"})
        chat(name, len(items) - 1)


def openai_socket():
    """Calls over a WebSocket send what is new, behind the response before them."""
    tools = [{"type": "function", "name": "weather", "parameters": CITY, "strict": False}]
    name = "responses websocket"
    fresh, before, said = [{"role": "user", "content": first(name)}], {}, 1
    with one.responses.connect() as connection:
        for turn in range(4):
            connection.response.create(model="gpt-5", input=fresh, reasoning={"effort": "low"}, include=["reasoning.encrypted_content"], store=False, tools=tools, **before)
            events = []
            for event in connection:
                events.append(event)
                if event.type in ("response.completed", "response.failed", "response.incomplete", "error"):
                    break
            say("openai: " + name, *events)
            r = events[-1].response
            before = {"previous_response_id": r.id}
            calls = [i for i in r.output if i.type == "function_call"]
            fresh = [{"type": "function_call_output", "call_id": c.call_id, "output": "rain"} for c in calls]
            fresh = fresh or [{"role": "user", "content": f"And {turn}?"}]
            said += len(r.output) + (len(fresh) if turn < 3 else 0)
    chat(name, said)


def anthropic_chat():
    ask = dict(model="claude-sonnet-4-5", max_tokens=2000)
    history = [{"role": "user", "content": first("anthropic chat")}]
    for turn in range(3):
        r = two.messages.create(system="Be short.", messages=history, **ask)
        say("anthropic: chat", r)
        history += [{"role": "assistant", "content": r.content}, {"role": "user", "content": f"And {turn}?"}]
    chat("anthropic chat", len(history) - 1)

    history = [{"role": "user", "content": first("anthropic stream")}]
    for turn in range(2):
        with two.messages.stream(messages=history, **ask) as stream:
            events = list(stream)
            r = stream.get_final_message()
        say("anthropic: streaming", r, *events)
        history += [{"role": "assistant", "content": r.content}, {"role": "user", "content": f"And {turn}?"}]
    chat("anthropic stream", len(history) - 1)

    for stream in (False, True):
        name = "anthropic thinking streamed" if stream else "anthropic thinking"
        history = [{"role": "user", "content": first(name)}]
        for turn in range(2):
            extra = dict(messages=history, thinking={"type": "enabled", "budget_tokens": 1024}, **ask)
            if stream:
                with two.messages.stream(**extra) as s:
                    r = s.get_final_message()
            else:
                r = two.messages.create(**extra)
            say(name.replace("anthropic ", "anthropic: "), r)
            history += [{"role": "assistant", "content": r.content}, {"role": "user", "content": f"And {turn}?"}]
        chat(name, len(history) - 1)

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    history = [{"role": "user", "content": [picture, {"type": "text", "text": first("anthropic image")}]}]
    say("anthropic: image", two.messages.create(messages=history, **ask))
    chat("anthropic image", 2)

    history = [{"role": "user", "content": first("anthropic tools")}]
    for _ in range(2):
        r = two.messages.create(messages=history, tools=[{"name": "weather", "input_schema": CITY}], **ask)
        say("anthropic: tools, two calls at once", r)
        history.append({"role": "assistant", "content": r.content})
        results = [{"type": "tool_result", "tool_use_id": b.id, "content": "rain at " + b.input["city"]} for b in r.content if b.type == "tool_use"]
        if results:
            history.append({"role": "user", "content": results})
    chat("anthropic tools", len(history))


def errors():
    for status in (400, 401, 429, 500):
        kept = 0 if status == 401 else 1  # who has no key leaves nothing
        o = [{"role": "user", "content": first(f"openai error {status}", f"please fail with {status}")}]
        error(f"openai: error {status}", lambda: one.with_options(max_retries=0).chat.completions.create(model="gpt-4o", messages=o))
        chat(f"openai error {status}", kept)
        a = [{"role": "user", "content": first(f"anthropic error {status}", f"please fail with {status}")}]
        error(f"anthropic: error {status}", lambda: two.with_options(max_retries=0).messages.create(model="claude-sonnet-4-5", max_tokens=10, messages=a))
        chat(f"anthropic error {status}", kept)
    o = [{"role": "user", "content": first("openai retry", "please fail at first")}]
    say("openai: tried again by the SDK", one.chat.completions.create(model="gpt-4o", messages=o))
    chat("openai retry", 2)
    a = [{"role": "user", "content": first("anthropic retry", "please fail at first")}]
    say("anthropic: tried again by the SDK", two.messages.create(model="claude-sonnet-4-5", max_tokens=10, messages=a))
    chat("anthropic retry", 2)


openai_chat()
openai_tools()
openai_responses()
openai_socket()
anthropic_chat()
errors()
