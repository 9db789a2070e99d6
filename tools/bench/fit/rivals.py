"""The rivals of the comparison of context managers.

Usage: BPE_RANKS=<folder> python rivals.py RIVAL FOLDER BUDGET REPEATS SIZE...

Each rival is a library that works on objects, so the conversation is parsed and
put into the library's own form before the clock starts. Output is as that of the
Go half: a line of JSON for each measurement, or one that says why there is none.
"""

import importlib.util
import json
import os
import sys
import time
from functools import lru_cache
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../internal/bpe/testdata"))

LEAST = 0.03  # seconds of processor time of one sample, at the least
SLOW = 20  # seconds of a call that is measured three times only
WINDOW = 40  # messages of a slide


def encoder():
    import reference  # has tiktoken's rank files come from BPE_RANKS  # noqa: F401
    import tiktoken

    return tiktoken.get_encoding("o200k_base")


def langchain(body, budget):
    """trim_messages as its documentation has it: whole turns, the system message stays."""
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    messages = convert_to_messages(body["messages"])
    enc = encoder()

    def counter(count):
        def total(msgs):
            n = 3
            for m in msgs:
                n += 3 + count(m.type) + count(m.content)
                for c in getattr(m, "tool_calls", ()):
                    n += count(c["name"]) + count(json.dumps(c["args"]))
            return n

        return total

    def count(text):
        return len(enc.encode(text, disallowed_special=()))

    ways = [
        ("LangChain trim_messages, tiktoken", "BPE", counter(count)),
        ("LangChain trim_messages, tiktoken with lru_cache", "BPE, cached", counter(lru_cache(maxsize=None)(count))),
        ("LangChain trim_messages, approximate", "characters", count_tokens_approximately),
    ]
    for name, counts, count_list in ways:
        def call(count_list=count_list):
            return trim_messages(
                messages, max_tokens=budget, token_counter=count_list, strategy="last",
                start_on="human", end_on=("human", "tool"), include_system=True,
            )

        yield name, "trim", counts, call, None, convert_to_openai_messages


def summary(body, budget):
    """SummarizationMiddleware with a model that answers at once."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages

    messages = convert_to_messages(body["messages"][1:])  # agents keep the system prompt apart
    for name, keep in (("20 messages", ("messages", 20)), ("tokens", ("tokens", budget))):
        middleware = SummarizationMiddleware(
            model=FakeListChatModel(responses=["A summary."]), trigger=("tokens", budget), keep=keep
        )

        def call(middleware=middleware):
            return middleware.before_model({"messages": messages}, None)

        def back(update):
            return convert_to_openai_messages(update["messages"][1:])  # the first says: remove all

        yield "LangChain SummarizationMiddleware, keep " + name, "summary", "characters", call, None, back


def strands(body, budget):
    """SlidingWindowConversationManager on messages of the Converse form.

    That form has the results of one turn in one message, so there are fewer.
    """
    from strands.agent.conversation_manager import SlidingWindowConversationManager

    messages = []
    for m in body["messages"][1:]:
        if m["role"] == "tool":
            block = {"toolResult": {"toolUseId": m["tool_call_id"], "status": "success", "content": [{"text": m["content"]}]}}
            if messages[-1]["role"] == "user":
                messages[-1]["content"].append(block)
            else:
                messages.append({"role": "user", "content": [block]})
            continue
        content = [{"text": m["content"]}]
        for c in m.get("tool_calls", ()):
            content.append({"toolUse": {"toolUseId": c["id"], "name": c["function"]["name"], "input": json.loads(c["function"]["arguments"])}})
        messages.append({"role": m["role"], "content": content})
    manager = SlidingWindowConversationManager(window_size=WINDOW)

    def call(agent):
        manager.apply_management(agent)
        return agent.messages

    def fresh():  # the list is cut in place
        return SimpleNamespace(messages=list(messages))

    def back(msgs):
        out = []
        for m in msgs:
            text = "".join(b.get("text", "") for b in m["content"])
            calls = [
                {"id": b["toolUse"]["toolUseId"], "function": {"name": b["toolUse"]["name"], "arguments": json.dumps(b["toolUse"]["input"])}}
                for b in m["content"] if "toolUse" in b
            ]
            for b in m["content"]:
                if "toolResult" in b:
                    r = b["toolResult"]
                    out.append({"role": "tool", "tool_call_id": r["toolUseId"], "content": r["content"][0]["text"]})
            if text or calls:
                out.append({"role": m["role"], "content": text, "tool_calls": calls})
        return out

    yield "Strands SlidingWindowConversationManager", "slide", "nothing", call, fresh, back


def headroom(body, budget):
    """compress(): as it comes, and with the least work that it allows.

    Its model for prose is not fetched. With ONNX Runtime installed, as its proxy
    has it, a model finds out what kind of text each message is.
    """
    os.environ["HEADROOM_OFFLINE"] = "1"
    encoder()
    from headroom import compress

    messages = body["messages"]
    compress(messages[:8], model=body["model"])  # what it loads when first used

    def done(result):
        if result.tokens_before <= 0:
            raise RuntimeError("compress gave up and returned its input")
        return result.messages

    if importlib.util.find_spec("onnxruntime"):
        ways = [("Headroom compress, default, with ONNX Runtime", {})]
    else:
        ways = [
            ("Headroom compress, default", {}),
            ("Headroom compress, no text model, all but the last 9 messages frozen",
             {"kompress_model": "disabled", "frozen_message_count": len(messages) - 9}),
        ]
    for name, options in ways:
        def call(options=options):
            return compress(messages, model=body["model"], model_limit=budget, **options)

        yield name, "ladder", "BPE", call, None, done


RIVALS = {"langchain": langchain, "summary": summary, "strands": strands, "headroom": headroom, "headroom-onnx": headroom}


def measure(call, fresh, repeats):
    """The first result, and milliseconds of processor time per call: of the first
    one, and of each repetition."""
    def spend(calls):
        args = [(fresh(),) if fresh else () for _ in range(calls)]
        start = time.process_time()
        for a in args:
            result = call(*a)
        return result, (time.process_time() - start) / calls

    result, first = spend(1)
    calls, each = 1, first
    while each * calls < LEAST:
        calls *= 2
        each = spend(calls)[1]
    if each > SLOW:
        repeats = min(repeats, 3)
    return result, first * 1000, [spend(calls)[1] * 1000 for _ in range(repeats)]


def main(rival, folder, budget, repeats, *sizes):
    for size in map(int, sizes):
        with open(os.path.join(folder, f"in-{size}.json")) as f:
            body = json.load(f)
        for i, (name, kind, counts, call, fresh, back) in enumerate(RIVALS[rival](body, int(budget))):
            row = {"name": name, "kind": kind, "counts": counts, "role": "rival", "messages": size}
            row["out"] = os.path.join(folder, "out", f"{rival}-{i}-{size}.json")
            result, row["first"], row["ms"] = measure(call, fresh, int(repeats))
            with open(row["out"], "w") as f:
                json.dump({"messages": back(result)}, f)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as e:  # said in the table, with what there is of it
        print(json.dumps({"name": sys.argv[1], "role": "failed", "error": f"{type(e).__name__}: {e}"}))
