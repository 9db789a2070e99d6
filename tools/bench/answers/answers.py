#!/usr/bin/env python3
"""What a real model makes of the requests that Oriel sends, beside other ways to fill a window.

  answers.py prompts  conversations go through a running proxy; keeps the request of each question in each arm
  answers.py look     what stands in the requests; asks no model
  answers.py answer   has llama.cpp's server answer the requests
  answers.py gpu      has PyTorch answer them on a GPU
  answers.py score    the answers' scores, one line each
  answers.py tasks    facts told in passing and tasks that need them, in a loop of tools
  answers.py table    tables in Markdown, or JSON

Every answer and every summary is kept in a store, so a run that was stopped goes on
where it was, and one that is repeated costs no time.
"""

import argparse
import contextlib
import json
import sys

import arms
import report
import run_tasks
import sessions
import talks
import tasks
from conversation import Prompts
from endpoint import Endpoint
from model import Llama, Tokenizer, answer_tokens
from proxy import Proxy
from store import Store, key

SUMMARY_TOKENS = 512
DEFAULT_ARMS = {
    "locomo": arms.ARMS, "beam": arms.ARMS,
    "sessions": ("nothing", "everything", "evidence", "newest", "langchain-trim", "strands-sliding", "oriel"),
}
DEFAULT_WINDOWS = {"locomo": "4000,8000,16000", "beam": "4000,8000,16000", "sessions": "8000,16000"}


def numbers(s):
    return [int(n) for n in s.split(",")]


def names(s):
    return s.split(",")


def conversations(o):
    if o.set == "locomo":
        return talks.locomo(o.data, o.which, o.questions or 80, o.first)
    if o.set == "beam":
        return talks.beam(o.data, o.which, o.questions or 10, o.first)
    return sessions.sessions(o.data, o.which, o.each, o.questions)


def engine(o):
    """Returns the model that answers, or None if no address is given."""
    if getattr(o, "gpu", False):
        from gpu import Torch

        return Torch(o.model)
    if not o.server:
        return None
    llama = Llama(o.server)
    llama.ready()
    return llama


def chosen_arms(o, default, known):
    for arm in o.arms or ():
        if arm not in known:
            sys.exit(f"answers.py: there is no arm {arm}; there are {', '.join(known)}")
    return o.arms or list(default)


def make_prompts(o):
    chosen = chosen_arms(o, DEFAULT_ARMS[o.set], arms.ARMS)
    tokenizer, prompts = Tokenizer(o.model), Prompts()
    with contextlib.ExitStack() as stack:
        proxy = stack.enter_context(Proxy(o.oriel, tokenizer.request, o.profile)) if "oriel" in chosen else None
        summaries, model = None, engine(o) if set(chosen) & set(arms.SUMMARIZING) else None
        if model:
            summaries = Endpoint(model, Store(o.store), SUMMARY_TOKENS, tokenizer.messages)
            stack.callback(summaries.close)
        builder = arms.Builder(proxy, tokenizer, summaries, chosen, o.windows or numbers(DEFAULT_WINDOWS[o.set]))
        for conversation in conversations(o):
            builder.build(conversation, prompts)
            prompts.save(o.out)  # what is there so far can be answered
        if summaries:
            print(f"{summaries.made} summaries were written in {summaries.seconds:.0f} s", file=sys.stderr)


def show_look(o):
    found = report.look(Prompts.load(o.prompts))
    if o.json:
        print(json.dumps({"/".join(k): v for k, v in found.items()}, indent=1))
        return
    for (name, arm), v in found.items():
        print(f"{name}/{arm}: " + ", ".join(f"{k} {x}" for k, x in v.items() if x is not None))


def selected(o):
    """Yields the requests to answer with their messages: those of an arm and conversation together."""
    prompts, times = Prompts.load(o.prompts), {}
    for row in prompts.rows:
        place = row["set"], row["conversation"], row["arm"]
        times[place] = times.get(place, 0) + 1
        if "messages" not in row or o.sample and times[place] > o.sample:
            continue
        if o.arms and row["arm"] not in o.arms or o.which and row["conversation"] not in o.which:
            continue
        yield row, prompts.messages(row)


def request_of(row, messages, name):
    return {"messages": messages, "limit": answer_tokens(row["set"]), "engine": name}


def answer(o):
    llama, store = engine(o), Store(o.store)
    asked, made = list(selected(o)), 0
    for n, (row, messages) in enumerate(asked, 1):
        request = request_of(row, messages, llama.name)
        if store.get(request) is None:
            store.put(request, kind="answer", **llama.chat(messages, request["limit"]))
            made += 1
            print(f"{n} of {len(asked)}: {row['set']} {row['conversation']} {row['arm']}", file=sys.stderr)
    print(f"{made} new answers, {len(asked) - made} were kept", file=sys.stderr)


def answer_gpu(o):
    torch, store = engine(o), Store(o.store)
    requests = [request_of(row, messages, torch.name) for row, messages in selected(o)]
    missing = {key(r): r for r in requests if store.get(r) is None}  # equal requests once
    for limit in sorted({r["limit"] for r in missing.values()}):
        batch = [r for r in missing.values() if r["limit"] == limit]
        for n, (i, row) in enumerate(torch.many([r["messages"] for r in batch], limit), 1):
            store.put(batch[i], kind="answer", **row)
            if n % 50 == 0:
                print(f"{n} of {len(batch)}", file=sys.stderr)


def score(o):
    prompts, store = Prompts.load(o.prompts), Store(o.store)
    with open(o.out, "w", encoding="utf-8") as out:
        for row in prompts.rows:
            if "failed" in row:
                line = {k: row[k] for k in ("set", "conversation", "arm", "kind", "question", "gold", "failed")}
            elif kept := store.get(request_of(row, prompts.messages(row), o.engine)):
                line = report.score(row, kept)
            else:
                continue
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def run_all_tasks(o):
    chosen = chosen_arms(o, run_tasks.ARMS, run_tasks.ARMS)
    tokenizer, model, store = Tokenizer(o.model), engine(o), Store(o.store)
    if model is None:
        sys.exit("answers.py: tasks need a model: name a server with --server, or say --gpu")
    projects = [p for k, p in enumerate(tasks.projects()) if o.which is None or k in o.which]
    with contextlib.ExitStack() as stack:
        proxy = stack.enter_context(Proxy(o.oriel, tokenizer.request, o.profile)) if "oriel" in chosen else None
        runner = run_tasks.Runner(proxy, model, tokenizer, store)
        out = stack.enter_context(open(o.out, "w", encoding="utf-8"))
        for row in runner.run(projects, chosen, o.windows, o.questions):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()


def table(o):
    rows = report.read_lines(o.scores)
    print(json.dumps(report.summary(rows), indent=1) if o.json else report.markdown(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name, run, *options):
        p = verbs.add_parser(name)
        p.set_defaults(run=run)
        for option in options:
            option(p)
        return p

    def flag(*names_, **how):
        return lambda p: p.add_argument(*names_, **how)

    model = flag("--model", required=True, help="the model's GGUF file")
    store = flag("--store", default="answers.jsonl", help="the file that keeps answers and summaries")
    oriel = flag("--oriel", default="oriel", help="the program")
    profile = flag("--profile", default="full", help="the profile of oriel serve")
    which = flag("--which", type=numbers, help="only these conversations, by number from 0")
    some_arms = flag("--arms", type=names, help="only these arms")
    gpu = flag("--gpu", action="store_true", help="ask PyTorch on a GPU instead of a server")
    out = flag("--out", required=True)
    prompt_files = flag("prompts", nargs="+", help="files of the verb prompts")
    as_json = flag("--json", action="store_true")
    sample = flag("--sample", type=int, help="the questions of each conversation")

    verb("prompts", make_prompts, flag("set", choices=list(DEFAULT_ARMS)), flag("data", help="the file or folder of the set"),
         model, store, oriel, profile, which, some_arms, gpu, out,
         flag("--windows", type=numbers), flag("--server", help="llama.cpp's server, for summaries"),
         flag("--questions", type=int, help="at most so many of each conversation"),
         flag("--each", type=int, default=4, help="questions of a kind in a coding session"),
         flag("--first", type=int, help="only the first messages of each talk, for trials"))
    verb("look", show_look, prompt_files, as_json)
    rows = flag("--which", type=names, help="only these conversations, by name")
    row_arms = flag("--arms", type=names, help="only these arms, with their window: oriel-4000")
    verb("answer", answer, prompt_files, store, sample, row_arms, rows, flag("--server", required=True))
    verb("gpu", answer_gpu, prompt_files, store, sample, row_arms, rows, model).set_defaults(gpu=True)
    verb("score", score, prompt_files, store, out, flag("--engine", default="llama", choices=("llama", "torch")))
    verb("tasks", run_all_tasks, model, store, oriel, profile, which, some_arms, gpu, out, flag("--server"),
         flag("--windows", type=numbers, default=[4000, 8000, 16000]), flag("--questions", type=int, help="tasks of each project"))
    verb("table", table, flag("scores", nargs="+", help="files of the verbs score and tasks"), as_json)
    o = parser.parse_args()
    o.run(o)


if __name__ == "__main__":
    main()
