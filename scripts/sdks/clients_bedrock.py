"""Talks to Claude on Amazon Bedrock with boto3; see tools/check/sdks."""

import base64
import json
import sys

import boto3
import botocore
from botocore.config import Config

from report import CITY, PIXEL, chat, first, say

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=sys.argv[1], config=Config(retries={"max_attempts": 0}, signature_version=botocore.UNSIGNED))


def authorize(request, **_):
    """boto3 sends a key of its own accord over HTTPS only."""
    request.headers["Authorization"] = "Bearer ABSKtest"


client.meta.events.register("before-send.bedrock-runtime", authorize)
tool_config = {"tools": [{"toolSpec": {"name": "weather", "description": "the weather", "inputSchema": {"json": CITY}}}]}


def plain(r):
    return {k: v for k, v in r.items() if k != "ResponseMetadata"}


def ask(check, stream, **body):
    """The message of a reply of Converse."""
    if not stream:
        r = client.converse(modelId=MODEL, **body)
        say(check, plain(r))
        return r["output"]["message"]
    events = list(client.converse_stream(modelId=MODEL, **body)["stream"])
    say(check, *events)
    blocks = {}
    for e in events:
        if start := e.get("contentBlockStart"):
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
        if delta := e.get("contentBlockDelta"):
            d = delta["delta"]
            b = blocks.setdefault(delta["contentBlockIndex"], {"text": ""})
            if "toolUse" in d:
                b["toolUse"]["input"] += d["toolUse"]["input"]
            else:
                b["text"] += d["text"]
    for b in blocks.values():
        if "toolUse" in b:
            b["toolUse"]["input"] = json.loads(b["toolUse"]["input"])
    return {"role": "assistant", "content": [blocks[i] for i in sorted(blocks)]}


def chats():
    for stream in (False, True):
        name = "boto3 stream" if stream else "boto3 chat"
        history = [{"role": "user", "content": [{"text": first(name)}, {"image": {"format": "png", "source": {"bytes": base64.b64decode(PIXEL)}}}]}]
        for turn in range(3):
            history.append(ask(name.replace(" ", ": "), stream, messages=history, system=[{"text": "Be short."}]))
            history.append({"role": "user", "content": [{"text": f"And {turn}?"}, {"cachePoint": {"type": "default"}}]})
        chat(name, len(history) - 1)

        name = "boto3 tools streamed" if stream else "boto3 tools"
        history = [{"role": "user", "content": [{"text": first(name)}]}]
        for _ in range(2):
            m = ask(name.replace(" ", ": ", 1), stream, messages=history, toolConfig=tool_config)
            history.append(m)
            results = [{"toolResult": {"toolUseId": b["toolUse"]["toolUseId"], "content": [{"text": "rain at " + b["toolUse"]["input"]["city"]}]}} for b in m["content"] if "toolUse" in b]
            if results:
                history.append({"role": "user", "content": results})
        chat(name, len(history))


def long():
    for stream in (False, True):
        name = "boto3 too long" + (" streamed" if stream else "")
        history = [{"role": "user", "content": [{"text": first(name)}]}]
        for i in range(40):
            history.append({"role": "user" if i % 2 else "assistant", "content": [{"text": f"Part {i} of what is said. " + "The ferry leaves the pier at noon. " * 60}]})
        history.append({"role": "assistant", "content": [{"text": "Yes."}]})
        for turn in range(2):
            history.append({"role": "user", "content": [{"text": f"Are we at the limit, {turn}?"}]})
            history.append(ask(name.replace(" ", ": ", 1), stream, messages=history))
        chat(name, len(history))


def failed(name, call):
    try:
        say(name, call())
    except Exception as e:  # the very error is what is compared
        say(name, type(e).__name__, getattr(e, "status_code", None), str(e))


def errors():
    for status in (400, 429, 500):
        text = first(f"bedrock error {status}", f"please fail with {status}")
        failed(f"boto3: error {status}", lambda: plain(client.converse(modelId=MODEL, messages=[{"role": "user", "content": [{"text": text}]}])))
        chat(f"bedrock error {status}", 1)


chats()
long()
errors()
