"""Talks to a model with Google's Python package; see tools/check/sdks."""

import base64
import json
import sys

from google import genai
from google.genai import types

from report import CITY, PIXEL, chat, error, first, say

MODEL = "gemini-2.5-pro"
client = genai.Client(api_key="AIzaTest", http_options=types.HttpOptions(base_url=sys.argv[1]))
thinking = types.ThinkingConfig(include_thoughts=True)
weather_tool = types.Tool(function_declarations=[
    types.FunctionDeclaration(name="weather", description="the weather", parameters_json_schema=CITY)])


def user(text):
    return types.Content(role="user", parts=[types.Part.from_text(text=text)])


def weather(city: str, days: int) -> str:
    """Returns the weather.

    Args:
        city: a city
        days: for how many days
    """
    return f"rain at {city} for {days} days"


def ended(name, talk, calls):
    """Writes a chat of the SDK, which sends each chunk of a stream back as a content of its own.

    Oriel records a reply as one message. The next call does not have that, so it begins a branch.
    """
    history = talk.get_history()
    streamed = any(a.role == b.role for a, b in zip(history, history[1:]))
    while history[-1].role == "model":
        history.pop()
    chat(name, len(history) + 1, calls if streamed else 1)


def chats():
    for stream in (False, True):
        name = "google streaming" if stream else "google chat"
        talk = client.chats.create(model=MODEL, config=types.GenerateContentConfig(system_instruction="Be short.", thinking_config=thinking))
        for turn in range(3):
            text = first(name) if turn == 0 else f"And {turn}?"
            chunks = list(talk.send_message_stream(text)) if stream else [talk.send_message(text)]
            say(name.replace(" ", ": "), *chunks)
        ended(name, talk, 3)

    picture = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
    say("google: image", client.models.generate_content(model=MODEL, contents=[first("google image"), picture]))
    chat("google image", 2)


def tools():
    for stream in (False, True):
        name = "google tools streamed" if stream else "google tools"
        history = [user(first(name))]
        for _ in range(2):
            ask = dict(model=MODEL, contents=history, config=types.GenerateContentConfig(tools=[weather_tool]))
            chunks = list(client.models.generate_content_stream(**ask)) if stream else [client.models.generate_content(**ask)]
            say(name.replace("google ", "google: ") + ", two calls at once", *chunks)
            parts = [p for c in chunks for p in c.candidates[0].content.parts]
            history.append(types.Content(role="model", parts=parts))
            results = [types.Part(function_response=types.FunctionResponse(id=p.function_call.id, name="weather", response={"output": "rain at " + p.function_call.args["city"]}))
                       for p in parts if p.function_call]
            if results:
                history.append(types.Content(role="user", parts=results))
        chat(name, len(history))

        name = "google called functions streamed" if stream else "google called functions"
        talk = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[weather]))
        for turn in range(2):
            text = first(name) if turn == 0 else "And now?"
            say(name.replace("google ", "google: "), *(talk.send_message_stream(text) if stream else [talk.send_message(text)]))
        ended(name, talk, 3)


def too_long():
    """The model behind Oriel refuses the first of these calls, and the client does not see it."""
    for stream in (False, True):
        name = "google too long streamed" if stream else "google too long"
        history = [user(first(name))]
        for i in range(60):
            role = "user" if i % 2 else "model"
            history.append(types.Content(role=role, parts=[types.Part.from_text(text=f"Part {i} of what is said. " + "The ferry leaves the pier at noon. " * 60)]))
        history.append(types.Content(role="model", parts=[types.Part.from_text(text="Yes.")]))
        for turn in range(2):
            history.append(user(f"Are we at the limit, {turn}?"))
            ask = dict(model=MODEL, contents=history)
            chunks = list(client.models.generate_content_stream(**ask)) if stream else [client.models.generate_content(**ask)]
            say(name.replace("google ", "google: ") + " for the model", *chunks)
            history.append(types.Content(role="model", parts=[p for c in chunks for p in c.candidates[0].content.parts]))
        chat(name, len(history))


def interactions():
    tool = {"type": "function", "name": "weather", "description": "the weather", "parameters": CITY}
    for stream in (False, True):
        name = "interactions streamed" if stream else "interactions"
        steps = [{"type": "user_input", "content": [{"type": "text", "text": first(name)}]}]
        for turn in range(3):
            ask = dict(model="gemini-2.5-flash", input=steps, tools=[tool], store=False, generation_config={"thinking_summaries": "auto"})
            if stream:
                events = list(client.interactions.create(stream=True, **ask))
                say("google: " + name, *events)
                said = whole(events)
            else:
                r = client.interactions.create(**ask)
                say("google: " + name, r)
                said = [s.model_dump(mode="json", exclude_none=True) for s in r.steps]
            steps += said
            calls = [s for s in said if s["type"] == "function_call"]
            steps += [{"type": "function_result", "call_id": c["id"], "name": c["name"], "result": "rain at " + c["arguments"]["city"]} for c in calls]
            if not calls and turn < 2:
                steps.append({"type": "user_input", "content": [{"type": "text", "text": f"And {turn}?"}]})
        chat(name, len(steps))


def whole(events):
    """The steps of a stream."""
    steps = []
    for e in (e.model_dump(mode="json", exclude_none=True) for e in events):
        if e["event_type"] == "step.start":
            steps.append(dict(e["step"]))
            arguments = ""
        elif e["event_type"] == "step.delta":
            s, d = steps[-1], e["delta"]
            if d["type"] == "text":
                s["content"] = [{"type": "text", "text": (s.get("content") or [{"text": ""}])[0]["text"] + d["text"]}]
            elif d["type"] == "thought_summary":
                s["summary"] = [{"type": "text", "text": (s.get("summary") or [{"text": ""}])[0]["text"] + d["content"]["text"]}]
            elif d["type"] == "thought_signature":
                s["signature"] = d["signature"]
            elif d["type"] == "arguments_delta":
                arguments += d["arguments"]
                s["arguments"] = json.loads(arguments) if arguments.endswith("}") else {}
    return steps


def errors():
    for status in (400, 401, 429, 500):
        kept = 0 if status == 401 else 1  # who has no key leaves nothing
        text = first(f"google error {status}", f"please fail with {status}")
        error(f"google: error {status}", lambda: client.models.generate_content(model=MODEL, contents=text))
        chat(f"google error {status}", kept)


chats()
tools()
too_long()
interactions()
errors()
