"""How other libraries fill a window: LangChain and Strands Agents.

Each is driven call by call, as an agent uses it, with the model's own tokenizer as its
counter. LangChain cuts or summarises before a call. Strands reduces its history when
the model refuses a call as too long, here one that is above the window. Summaries are
written by the same model that answers.
"""

import json
import logging
from types import SimpleNamespace

KEEP = 0.5  # the share of the window that LangChain's summary leaves as it is


class LangChainTrim:
    """trim_messages: the newest messages that fit, from a user's message on.

    An agent's history may have none for a long time, so there it may begin with a reply.
    """

    def __init__(self, conversation, window, count, summaries=None):
        self.messages, self.window, self.count = conversation.messages, window, count
        agent = any(m["role"] == "tool" for m in self.messages)
        self.start = ("human", "ai") if agent else "human"

    def request(self, question):
        from langchain_core.messages import convert_to_messages, trim_messages

        kept = trim_messages(
            convert_to_messages([*self.messages, question]), max_tokens=self.window, strategy="last",
            token_counter=lambda messages: self.count(from_langchain(messages)),
            start_on=self.start, end_on=("human", "tool"), include_system=True)
        return from_langchain(kept)


class LangChainSummary:
    """SummarizationMiddleware, which summarises all but the newest messages at the window's end.

    It reads all that it summarises: its default leaves out all but the newest 4,000 tokens.
    """

    def __init__(self, conversation, window, count, summaries):
        from langchain.agents.middleware import SummarizationMiddleware
        from langchain_core.messages import convert_to_messages
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(base_url=summaries.url, api_key="none", model="local", temperature=0, timeout=3600, max_retries=0)
        self.system = conversation.messages[0]
        room = window - count([self.system])
        self.middleware = SummarizationMiddleware(
            model=model, trigger=("tokens", room), keep=("tokens", int(room * KEEP)), trim_tokens_to_summarize=None,
            token_counter=lambda messages: count(from_langchain(messages)))
        self.state = []
        for m in convert_to_messages(conversation.messages[1:]):
            if m.type == "ai":
                self.state = self.before(self.state)
            self.state = [*self.state, m]

    def before(self, messages):
        update = self.middleware.before_model({"messages": messages}, None)
        return update["messages"][1:] if update else messages  # the first one removes all

    def request(self, question):
        from langchain_core.messages import convert_to_messages

        return [self.system, *from_langchain(self.before([*self.state, *convert_to_messages([question])]))]


def from_langchain(messages):
    from langchain_core.messages import convert_to_openai_messages

    return convert_to_openai_messages(list(messages))


class Strands:
    """A conversation manager of Strands Agents in the loop of its Agent.

    The loop calls reduce_context for a refused call until the call fits, and
    apply_management after each one.
    """

    def __init__(self, conversation, window, count, summaries, manager):
        logging.getLogger("strands").setLevel(logging.CRITICAL)
        self.system, self.window, self.count, self.manager = conversation.messages[0], window, count, manager
        model = summarizer(summaries) if summaries else None
        self.agent = SimpleNamespace(messages=[], model=model, aux_model=model)
        for m in to_strands(conversation.messages[1:]):
            if m["role"] == "assistant":
                self.fit()
            self.agent.messages.append(m)
            if m["role"] == "assistant":
                self.manager.apply_management(self.agent)

    def fit(self):
        from strands.types.exceptions import ContextWindowOverflowException

        while self.count(self.chat()) > self.window:
            before = self.chat()
            self.manager.reduce_context(self.agent, e=ContextWindowOverflowException("input is too long"))
            if self.chat() == before:
                raise RuntimeError("the manager cannot reduce the history further")

    def chat(self):
        return [self.system, *from_strands(self.agent.messages)]

    def request(self, question):
        kept = list(self.agent.messages)
        try:
            self.agent.messages.extend(to_strands([question]))
            self.fit()
            return self.chat()
        finally:
            self.agent.messages[:] = kept


def strands_sliding(conversation, window, count, summaries=None):
    """SlidingWindowConversationManager; tokens bound it, not its number of messages."""
    from strands.agent.conversation_manager import SlidingWindowConversationManager

    return Strands(conversation, window, count, None, SlidingWindowConversationManager(window_size=1_000_000))


def strands_summarizing(conversation, window, count, summaries):
    """SummarizingConversationManager with its defaults: the oldest 30%, never the newest 10 messages."""
    from strands.agent.conversation_manager import SummarizingConversationManager

    return Strands(conversation, window, count, summaries, SummarizingConversationManager())


def summarizer(summaries):
    from strands.models.openai import OpenAIModel

    return OpenAIModel(client_args={"base_url": summaries.url, "api_key": "none", "timeout": 3600, "max_retries": 0},
                       model_id="local", stream=False)


def to_strands(messages):
    """Returns messages of the Converse form, which has the results of a turn in one message."""
    out = []
    for m in messages:
        if m["role"] == "tool":
            block = {"toolResult": {"toolUseId": m["tool_call_id"], "status": "success", "content": [{"text": m["content"]}]}}
            if out and any("toolResult" in b for b in out[-1]["content"]):
                out[-1]["content"].append(block)
            else:
                out.append({"role": "user", "content": [block]})
            continue
        blocks = [{"text": m["content"]}] if m.get("content") else []
        for c in m.get("tool_calls") or ():
            f = c["function"]
            blocks.append({"toolUse": {"toolUseId": c["id"], "name": f["name"], "input": json.loads(f["arguments"])}})
        out.append({"role": m["role"], "content": blocks})
    return out


def from_strands(messages):
    out = []
    for m in messages:
        for b in m["content"]:
            if "toolResult" in b:
                r = b["toolResult"]
                said = "\n".join(c.get("text", "") for c in r["content"])
                out.append({"role": "tool", "tool_call_id": r["toolUseId"], "content": said})
        said = "\n".join(b["text"] for b in m["content"] if "text" in b)
        calls = [
            {"id": b["toolUse"]["toolUseId"], "type": "function", "function": {
                "name": b["toolUse"]["name"], "arguments": json.dumps(b["toolUse"]["input"], ensure_ascii=False)}}
            for b in m["content"] if "toolUse" in b]
        if said or calls:
            out.append({"role": m["role"], "content": said, **({"tool_calls": calls} if calls else {})})
    return out


RIVALS = {
    "langchain-trim": LangChainTrim, "langchain-summary": LangChainSummary,
    "strands-sliding": strands_sliding, "strands-summarizing": strands_summarizing,
}
SUMMARIZING = ("langchain-summary", "strands-summarizing")
