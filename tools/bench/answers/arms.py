"""Builds the requests of every arm for a conversation."""

import sys

from conversation import ask, evidence, newest
from rivals import RIVALS, SUMMARIZING

PLAIN = ("nothing", "everything", "evidence")
WINDOWED = ("newest", *RIVALS, "oriel")
ARMS = (*PLAIN, *WINDOWED)


class Builder:
    """proxy runs Oriel, tokenizer counts, summaries is the address of a summariser or None."""

    def __init__(self, proxy, tokenizer, summaries, arms, windows):
        self.proxy, self.tokenizer, self.summaries = proxy, tokenizer, summaries
        self.arms, self.windows = arms, windows

    def build(self, conversation, prompts):
        """Adds the rows of a conversation: all questions of an arm together, for the prompt cache."""
        for arm in self.arms:
            for window in self.windows if arm in WINDOWED else (None,):
                name = f"{arm}-{window}" if window else arm
                try:
                    request = self.start(arm, conversation, window)
                except Exception as e:  # a library that gives up gets a row that says why
                    if arm not in RIVALS:
                        raise
                    request = failing(e)
                for question in conversation.questions:
                    messages, failed = None, None
                    try:
                        messages = request(question)
                    except Exception as e:
                        if arm not in RIVALS:
                            raise
                        failed = reason(e)
                    prompts.add(conversation, question, name, messages, self.tokenizer.messages, failed, window=window)
                print(conversation.set, conversation.name, name, len(conversation.questions), "questions", file=sys.stderr)

    def start(self, arm, conversation, window):
        """Returns the function that makes an arm's request for a question."""
        count, messages = self.tokenizer.request, conversation.messages
        if arm == "nothing":
            return lambda q: [messages[0], ask(q)]
        if arm == "everything":
            return lambda q: [*messages, ask(q)]
        if arm == "evidence":
            return lambda q: evidence(messages, q)
        if arm == "newest":
            return lambda q: newest(messages, ask(q), window, count)
        if arm == "oriel":
            name = f"{conversation.set}-{conversation.name}-{window}"
            self.proxy.replay(messages, name, window, conversation.tools)
            return lambda q: self.proxy.call([*messages, ask(q)], name, window, tools=conversation.tools)["messages"]
        if arm in SUMMARIZING and self.summaries is None:
            raise RuntimeError("no model for summaries; name one with --server")
        rival = RIVALS[arm](conversation, window, count, self.summaries)
        return lambda q: rival.request(ask(q))


def failing(error):
    def request(question):
        raise error

    return request


def reason(error):
    return f"{type(error).__name__}: {error}"[:200]
