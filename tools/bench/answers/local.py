#!/usr/bin/env python3
"""A real model at the end of the wire: llama.cpp's server with a small window.

  local.py ORIEL MODEL [--windows 4096,8192] [--kinds talk,agent] [--apis chat,messages]
                       [--arms oriel,direct] [--turns 24] [--out FILE]

For each window a server is started. A person's talk, and an agent that reads file after
file, grow to more than two windows, over Chat Completions and over Messages, streamed.
The arm direct sends everything to the server, until that refuses it; the arm oriel goes
through oriel serve, which is told nothing but the server's address. The model's own
words become part of the history. Where an answer has no call that can be read, the
agent's call is the one that was due.

A line of each run says: calls that were answered, refusals that the client saw, the most
prompt tokens by the server's count, cuts, how much of the prompt before was read from the
server's cache in calls without a cut, and the time to the first token early and late.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import tasks
from proxy import MODEL, free_port

ANSWER = 48  # tokens of an answer
FIRST, LAST = 5, 5  # calls whose time is early, late


@contextlib.contextmanager
def started(command, url, path, seconds=180):
    """Runs a server until the block ends; path answers when it is ready."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(4 * seconds):
                if process.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(f"{command[0]} ended: {log.read()[-500:].decode(errors='replace')}")
                try:
                    with urllib.request.urlopen(url + path, timeout=5):
                        break
                except OSError:
                    time.sleep(0.25)
            else:
                raise RuntimeError(f"{url} does not answer")
            yield url
        finally:
            if process.poll() is not None:
                log.seek(0)
                print(f"{command[1]} ended with {process.returncode}: {log.read()[-300:]!r}", file=sys.stderr)
            process.terminate()
            process.wait()


def oriel(program, upstream, data):
    """Returns a running Oriel before a server, with the settings of somebody who set none."""
    url = f"http://127.0.0.1:{free_port()}"
    return started([program, "serve", "--listen", url.removeprefix("http://"), "--data", data,
                    "--upstream-openai", upstream + "/v1", "--upstream-anthropic", upstream], url, "/oriel/healthz")


class Refused(Exception):
    """The server or Oriel did not answer the request."""


def events(url, body):
    """Yields the events of a streamed reply, each with the seconds since the request."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {
        "content-type": "application/json", "authorization": "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01"})
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=3600) as reply:
            for line in reply:
                if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                    yield time.monotonic() - begun, json.loads(line[6:])
    except urllib.error.HTTPError as e:
        raise Refused(f"{e.code} {e.read().decode(errors='replace')[:300]}") from e


class Chat:
    """Chat Completions."""

    def __init__(self, url):
        self.url = url + "/v1/chat/completions"

    def send(self, system, turns, tools):
        """Returns the text, prompt tokens, how many of them were cached, and the seconds to the first token."""
        body = {"model": MODEL, "max_tokens": ANSWER, "temperature": 0, "stream": True,
                "stream_options": {"include_usage": True},
                "messages": [{"role": "system", "content": system}, *(m for t in turns for m in self.messages(t))]}
        if tools:
            body["tools"] = tools
        text, first, usage = "", None, {}
        for at, event in events(self.url, body):
            if "error" in event:
                raise Refused(json.dumps(event)[:300])
            for choice in event.get("choices", ()):
                if part := choice["delta"].get("content"):
                    first, text = first or at, text + part
            usage = event.get("usage") or usage
        return text, usage["prompt_tokens"], usage.get("prompt_tokens_details", {}).get("cached_tokens", 0), first or at

    def messages(self, turn):
        if turn[0] == "call":
            _, id, text, path, result = turn
            call = {"id": id, "type": "function", "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
            return [{"role": "assistant", "content": text, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": id, "content": result}]
        return [{"role": turn[0], "content": turn[1]}]


class Messages:
    """Anthropic's Messages, which llama.cpp's server speaks, too."""

    def __init__(self, url):
        self.url = url + "/v1/messages"

    def send(self, system, turns, tools):
        body = {"model": MODEL, "max_tokens": ANSWER, "temperature": 0, "stream": True, "system": system,
                "messages": [m for t in turns for m in self.messages(t)]}
        if tools:
            body["tools"] = [{"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
                             for f in (t["function"] for t in tools)]
        text, first, tokens, cached = "", None, 0, 0
        for at, event in events(self.url, body):
            if event["type"] == "error":
                raise Refused(json.dumps(event)[:300])
            if part := event.get("delta", {}).get("text"):
                first, text = first or at, text + part
            usage = event.get("usage") or event.get("message", {}).get("usage") or {}
            if "input_tokens" in usage:
                cached = usage.get("cache_read_input_tokens", 0)
                tokens = usage["input_tokens"] + cached
        return text, tokens, cached, first or at

    def messages(self, turn):
        if turn[0] == "call":
            _, id, text, path, result = turn
            said = [{"type": "text", "text": text}] if text.strip() else []
            return [{"role": "assistant", "content": [*said, {"type": "tool_use", "id": id, "name": "read_file", "input": {"path": path}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}]
        return [{"role": turn[0], "content": turn[1]}]


TOOLS = [tasks.tool("read_file", "Reads a source file", "path")]
VERBS, NOUNS = ("walk", "count", "merge", "split", "load"), ("station", "ledger", "harbour", "meter", "parcel")


def report(number, size, r):
    """Returns what a person tells in one turn, about size tokens."""
    lines = [f"Report {number}. Note it and answer with one short sentence."]
    while len(lines) * 20 < size:
        lines.append(f"The {r.choice(NOUNS)} {r.choice(NOUNS)} {r.randint(100, 999)} was at {r.randint(10, 99)}.{r.randint(0, 9)} "
                     f"degrees when we {r.choice(VERBS)}ed it {r.randint(2, 60)} days ago.")
    return "\n".join(lines)


def talk(send, window, turns):
    """Yields what send returns for each turn of a person who reports."""
    r, history = random.Random(window), []
    for n in range(turns):
        history.append(("user", report(n + 1, window // 10, r)))
        reply = send("You keep a log for a person who reports from the field.", history, ())
        history.append(("assistant", reply[0] or "Noted."))
        yield reply


def agent(send, window, turns):
    """Yields what send returns for each call of an agent that reads files."""
    r, history = random.Random(window), [("user", "Read the files src/part1/main.go to the last one, one after the other. "
                                          "Call read_file for the next file each time, and say nothing else.")]
    for n in range(turns):
        reply = send("You are an agent that works with files.", history, TOOLS)
        called = tasks.parse(reply[0])
        path = next((a["path"] for name, a in called if name == "read_file" and isinstance(a.get("path"), str) and a["path"]),
                    f"src/part{n + 1}/main.go") if called else f"src/part{n + 1}/main.go"
        size, text = window // 10, ""
        while len(text) < 3 * size:
            text += tasks.source("src/part1/main.go", r.choice(VERBS), r.choice(NOUNS), r) + "\n"
        history.append(("call", f"call_{n}", "" if called else reply[0], path, text[:3 * size]))
        yield reply


KINDS, APIS = {"talk": talk, "agent": agent}, {"chat": Chat, "messages": Messages}


def run(kind, api, url, window, turns):
    """Returns the figures of one run."""
    calls, refused = [], []

    def send(*request):
        begun = time.monotonic()
        try:
            reply = api(url).send(*request)
        except Refused as e:
            refused.append(str(e))
            raise
        calls.append({"tokens": reply[1], "cached": reply[2], "first": reply[3], "seconds": time.monotonic() - begun})
        return reply

    with contextlib.suppress(Refused):
        for _ in KINDS[kind](send, window, turns):
            print(kind, len(calls), calls[-1], file=sys.stderr, flush=True)
    kept = [min(1, b["cached"] / a["tokens"]) for a, b in zip(calls, calls[1:]) if b["tokens"] >= a["tokens"]]
    seconds = [c["first"] for c in calls]
    return {"answered": len(calls), "refused": len(refused), "refusal": refused[:1], "most": max(c["tokens"] for c in calls),
            "cuts": sum(b["tokens"] < a["tokens"] for a, b in zip(calls, calls[1:])),
            "cache": round(statistics.mean(kept), 3) if kept else None, "cache_least": round(min(kept), 3) if kept else None,
            "first_early": round(statistics.median(seconds[1:1 + FIRST]), 2), "first_late": round(statistics.median(seconds[-LAST:]), 2),
            "first_all": round(statistics.median(seconds), 2), "calls": calls}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("oriel")
    p.add_argument("model")
    p.add_argument("--windows", type=lambda s: [int(n) for n in s.split(",")], default=[4096, 8192])
    for name, all_ in (("kinds", KINDS), ("apis", APIS), ("arms", ("oriel", "direct"))):
        p.add_argument("--" + name, type=lambda s: s.split(","), default=list(all_))
    p.add_argument("--turns", type=int, default=24)
    p.add_argument("--out", help="a file for one JSON object a line, with every call")
    o = p.parse_args()
    print("| window | kind | API | arm | answered | refused | most tokens | cuts | cached between cuts (least) | first token early / late, s |")
    print("|--:|---|---|---|--:|--:|--:|--:|--:|--:|")
    here = os.path.dirname(os.path.abspath(__file__))
    for window in o.windows:
        for kind, api, arm in ((k, a, r) for k in o.kinds for a in o.apis for r in o.arms):
            with contextlib.ExitStack() as stack:
                port = free_port()
                url = stack.enter_context(started([sys.executable, os.path.join(here, "model.py"), "serve", o.model, str(port), str(window)],
                                                  f"http://127.0.0.1:{port}", "/health"))
                if arm == "oriel":
                    data = stack.enter_context(tempfile.TemporaryDirectory())
                    url = stack.enter_context(oriel(o.oriel, url, data))
                row = {"window": window, "kind": kind, "api": api, "arm": arm, **run(kind, APIS[api], url, window, o.turns)}
            if o.out:
                with open(o.out, "a") as out:
                    out.write(json.dumps(row) + "\n")
            cache = "" if row["cache"] is None else f"{row['cache']:.1%} ({row['cache_least']:.1%})"
            print(f"| {window} | {kind} | {api} | {arm} | {row['answered']} of {o.turns} | {row['refused']} | {row['most']} | {row['cuts']} "
                  f"| {cache} | {row['first_early']} / {row['first_late']} |", flush=True)


if __name__ == "__main__":
    main()
