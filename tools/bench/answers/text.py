"""Messages as text for a small model, and the scores of an answer.

A message has the form of Chat Completions. The model's chat template knows three
roles with text, so tools are written as Qwen 2.5's own template writes them: a call
is a <tool_call> with JSON at the end of the assistant's text, the results of one turn
are <tool_response> blocks in a user message, and definitions end the system prompt.
"""

import collections
import json
import re
import string

TOOLS_BEFORE = """

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>"""
TOOLS_AFTER = """
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""


def content(message):
    """Returns the text of a message; a part that is not text is named."""
    c = message.get("content") or ""
    if isinstance(c, str):
        return c
    return "\n".join(p.get("text", f"[{p.get('type')}]") for p in c)


def call_text(name, arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) + "\n</tool_call>"


def flatten(messages, tools=()):
    """Returns messages of the roles system, user and assistant with plain text."""
    out = []
    for m in messages:
        role, text = m["role"], content(m)
        if role == "developer":
            role = "system"
        if role == "tool":
            block = f"<tool_response>\n{text}\n</tool_response>"
            if out and out[-1].get("results"):
                out[-1]["content"] += "\n" + block
            else:
                out.append({"role": "user", "content": block, "results": True})
            continue
        for c in m.get("tool_calls") or ():
            f = c["function"]
            try:
                arguments = json.loads(f["arguments"])
            except ValueError:
                arguments = f["arguments"]
            text += ("\n" if text else "") + call_text(f["name"], arguments)
        out.append({"role": role, "content": text})
    if tools:
        lines = "".join("\n" + json.dumps(t, ensure_ascii=False) for t in tools)
        if not out or out[0]["role"] != "system":
            out.insert(0, {"role": "system", "content": "You are a helpful assistant."})
        out[0]["content"] += TOOLS_BEFORE + lines + TOOLS_AFTER
    return [{"role": m["role"], "content": m["content"]} for m in out]


def render(messages):
    """Returns flat messages as the chat template writes them, up to the answer."""
    return "".join(map(render_one, messages)) + "<|im_start|>assistant\n"


def render_one(message):
    return f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n"


PATH = re.compile(r"[\w.~-]*(?:/[\w.@-]+)+")


def words(text, paths=False):
    """Returns the words that are compared: lower case, no punctuation, no articles.

    If paths is set, a path is its last part: it may be given from the root or not.
    """
    if paths:
        text = PATH.sub(lambda m: m[0].rsplit("/", 1)[1], text)
    text = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(a|an|the|and)\b", " ", text).split()


def f1(answer, gold, paths=False):
    """Returns the F1 of words, from 0 to 1."""
    a, g = words(answer, paths), words(gold, paths)
    common = sum((collections.Counter(a) & collections.Counter(g)).values())
    return 2 * common / (len(a) + len(g)) if common else 0.0


def recall(answer, gold, paths=False):
    """Returns the share of the gold answer's words that the answer has."""
    g = set(words(gold, paths))
    return len(set(words(answer, paths)) & g) / max(1, len(g))


def folded(text):
    """Returns a text for searching: lower case, only word characters."""
    return re.sub(r"\W+", " ", text.lower()).strip()
