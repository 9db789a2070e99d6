"""Prints what two versions of Oriel send to a model, as Markdown: docs/reference/requests.md.

The conversations are in scripted.py. Each is sent turn by turn through a running proxy, with
the scripted replies as answers of the model; the requests that have a name are printed.

    python3 show_requests.py BEFORE AFTER                            # two programs; prints all requests
    python3 show_requests.py BEFORE AFTER --page docs/reference/requests.md --page docs/requests.md

The second form writes them into pages. A page has the lines "<!-- request NAME -->", or
"<!-- sent NAME -->" where only the later version is shown, and "<!-- end -->" around each
request. The page's other text stays as it is.
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import textwrap
import urllib.request

import proxy
import scripted

WIDTH = 132  # columns of a printed line
INDENT = 11  # columns before the text of a part
HEADERS = {"tokens before": "X-Oriel-Tokens-Before", "tokens after": "X-Oriel-Tokens-After", "action": "X-Oriel-Action"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--page", type=pathlib.Path, action="append")
    parser.add_argument("--only", help="the name of one conversation")
    o = parser.parse_args()
    os.environ["ORIEL_RECALL_WAIT"] = "5s"  # what is recalled must not depend on how fast the machine is
    blocks = {}
    for conversation in scripted.CONVERSATIONS:
        if o.only in (None, conversation.name):
            before, after = (sent(oriel, conversation) for oriel in (o.before, o.after))
            for name in before:
                blocks["sent", name] = fence(lines(after[name]["body"]))
                if earlier := conversation.follows.get(name):
                    blocks["request", name] = follow(before[name], after[earlier], after[name])
                else:
                    blocks["request", name] = block(before[name], after[name], name in conversation.diffs)
    if not o.page:
        print("\n".join(f"## {name}\n\n{text}" for (mark, name), text in blocks.items() if mark == "request"))
        return
    texts = {page: page.read_text() for page in o.page}
    for name in (name for mark, name in blocks if mark == "request"):
        if not any(f"<!-- request {name} -->\n" in text for text in texts.values()):
            raise SystemExit(f"no page has a place for {name}")
    for page, text in texts.items():
        page.write_text(fill(text, blocks))


def fill(page, blocks):
    """Returns the text of a page with its requests replaced."""
    for (mark, name), text in blocks.items():
        page = re.sub(rf"(<!-- {mark} {name} -->\n).*?(<!-- end -->)", lambda m: m[1] + "\n" + text + "\n" + m[2], page, flags=re.S)
    return page


def sent(oriel, conversation):
    """Returns the requests with a name: what reached the upstream, and Oriel's headers."""
    out, messages = {}, list(conversation.begin)
    with proxy.Proxy(oriel, lambda *_: 0, conversation.profile) as p:
        for turn in conversation.turns:
            messages.append(turn.asked)
            headers = post(p, conversation, messages, turn.reply)
            p.wait(proxy.QUIET)
            if turn.name:
                out[turn.name] = {"body": p.upstream.body, **{key: headers[name] for key, name in HEADERS.items()}}
            messages.append(turn.reply)
    return out


def post(p, conversation, messages, reply):
    p.upstream.reply = reply
    body = {"model": conversation.model, **conversation.fields, "messages": messages}
    request = urllib.request.Request(p.url + conversation.path, json.dumps(body).encode(), {
        "content-type": "application/json", "authorization": "Bearer k",
        "X-Oriel-Budget": str(conversation.budget), "X-Oriel-Conversation": conversation.name})
    with urllib.request.urlopen(request, timeout=60) as r:
        r.read()
        return r.headers


def block(before, after, as_diff):
    """Returns the Markdown of one request: both versions whole, or what differs."""
    old, new = lines(before["body"]), lines(after["body"])
    if old == new:
        return f"Before and after are the same: {title(after)}.\n\n{fence(new)}"
    if as_diff:
        return f"Before (-): {title(before)}. After (+): {title(after)}.\n\n{fence(diff(old, new))}"
    return f"**Before:** {title(before)}.\n\n{fence(old)}\n**After:** {title(after)}.\n\n{fence(new)}"


def follow(before, earlier, after):
    """Returns the Markdown of a request as what differs from an earlier one of the same version."""
    changed = fence(diff(lines(earlier["body"]), lines(after["body"])))
    return f"Before: {title(before)}. After: {title(after)}; compared with the request above:\n\n{changed}"


def diff(old, new):
    out = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
    return ["…" if line.startswith("@@") else line for line in out]


def title(request):
    return f"{int(request['tokens before']):,} tokens came, {int(request['tokens after']):,} were sent, action `{request['action']}`"


def fence(text):
    return "```text\n" + "\n".join(text) + "\n```\n"


def lines(body):
    """Returns a body as lines of text: a part begins with its role, a further part of the same message with "+"."""
    out = []
    if system := body.get("system"):
        out += part("system", system if isinstance(system, str) else system[0]["text"])
    if tools := body.get("tools"):
        out += part("tools", ", ".join(t.get("name") or t["function"]["name"] for t in tools))
    for m in body["messages"]:
        label = m["role"]
        for text in parts(m):
            out += part(label, text)
            label = " " * (INDENT - 3) + "+"
    return out


def part(label, text):
    width, out = WIDTH - INDENT, []
    for line in text.split("\n"):
        out += textwrap.wrap(line, width, drop_whitespace=True, break_long_words=False, break_on_hyphens=False) or [""]
    return [(label.ljust(INDENT) if i == 0 else " " * INDENT) + line for i, line in enumerate(out)]


def parts(message):
    """Yields the texts of a message, calls and results among them, in the order of the request."""
    content = message.get("content") or []
    if message["role"] == "tool":
        yield "result: " + content
        return
    for p in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if p["type"] == "text":
            yield p["text"]
        elif p["type"] == "tool_use":
            yield f"call {p['name']} {json.dumps(p['input'], ensure_ascii=False)}"
        else:
            inner = p["content"] if isinstance(p["content"], str) else "\n".join(c["text"] for c in p["content"])
            yield ("failed result: " if p.get("is_error") else "result: ") + inner
    for call in message.get("tool_calls") or ():
        yield f"call {call['function']['name']} {call['function']['arguments']}"


if __name__ == "__main__":
    main()
