"""Conversations with questions, and the requests in which a question reaches the model.

A row is one question in one arm. Rows of the arms that do not fit the model's window,
and of those where a library gave up, say so and have no messages.
"""

import hashlib
import json
from dataclasses import dataclass, field

import text
from model import WINDOW, answer_tokens

ASK = "Question: {}\nAnswer in a few words."


@dataclass
class Question:
    text: str
    gold: str
    kind: str
    # The messages that answer it: role, the text as the ceiling shows it, and the words
    # by which the text is found in a request.
    evidence: list = field(default_factory=list)


@dataclass
class Conversation:
    set: str
    name: str
    messages: list  # of Chat Completions, the system message first, an assistant's last
    questions: list
    tools: list = field(default_factory=list)


def ask(question):
    return {"role": "user", "content": ASK.format(question.text)}


def newest(messages, question, window, count):
    """Returns the system message and the newest messages that fit, without results whose call is gone."""
    none, size, first = count([]), count([messages[0], question]), len(messages)
    while first > 1 and (more := count([messages[first - 1]]) - none) + size <= window:
        first, size = first - 1, size + more
    while first < len(messages) and messages[first]["role"] == "tool":
        first += 1
    return [messages[0], *messages[first:], question]


def evidence(messages, question):
    """Returns the system message and the question with nothing but the evidence: the ceiling."""
    lines = "\n".join(f"{role}: {said}" for role, said, _ in question.evidence)
    return [messages[0], {"role": "user", "content": f"Earlier parts of this conversation:\n{lines}\n\n{ask(question)['content']}"}]


class Prompts:
    """The rows of a run. A text is kept once, as most rows share their messages."""

    def __init__(self):
        self.texts, self.rows = {}, []

    def add(self, conversation, question, arm, messages=None, tokens=None, failed=None, **more):
        row = {"set": conversation.set, "conversation": conversation.name, "arm": arm, "kind": question.kind,
               "question": question.text, "gold": question.gold, "evidence": question.evidence, **more}
        if messages is not None:
            flat = text.flatten(messages)
            row["tokens"] = tokens(flat)
            if row["tokens"] + answer_tokens(conversation.set) > WINDOW:
                failed = "does not fit"
            else:
                row["messages"] = [[m["role"], self.keep(m["content"])] for m in flat]
        if failed:
            row["failed"] = failed
        self.rows.append(row)

    def keep(self, content):
        name = hashlib.sha256(content.encode()).hexdigest()[:16]
        self.texts[name] = content
        return name

    def messages(self, row):
        return [{"role": role, "content": self.texts[name]} for role, name in row["messages"]]

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"texts": self.texts, "rows": self.rows}, f, ensure_ascii=False)

    @classmethod
    def load(cls, paths):
        """Returns the rows of several files together."""
        out = cls()
        for path in paths:
            with open(path, encoding="utf-8") as f:
                kept = json.load(f)
            out.texts.update(kept["texts"])
            out.rows.extend(kept["rows"])
        return out
