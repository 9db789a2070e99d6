"""What the programs beside this file write, and pictures and tools for them; see tools/check/sdks."""

import base64
import json

PIXEL = base64.b64encode(bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082")).decode()
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


def plain(value):
    if hasattr(value, "model_dump"):  # Google's responses have the headers too, and those the date
        return value.model_dump(mode="json", warnings=False, exclude={"sdk_http_response"})
    return value


def say(check, *results):
    print(json.dumps({"check": "py " + check, "result": [plain(r) for r in results]}, sort_keys=True))


def chat(name, messages, branches=1):
    print(json.dumps({"chat": "py " + name, "messages": messages, "branches": branches}))


def first(name, text="What is new?"):
    return f"[py {name}] {text}"


def error(check, call):
    try:
        say(check, call())
    except Exception as e:  # the very error is what is compared
        status = getattr(e, "status_code", getattr(e, "code", None))
        say(check, type(e).__name__, status, getattr(e, "body", None), str(e))
