"""ONNX Runtime's half of the comparison of embedders, and the texts of both.

Usage: python rival.py make TOKENIZER.json SOURCE.jsonl TEXTS.json
       python rival.py serve MODEL.onnx TOKENIZER.json THREADS TEXTS.json

make cuts texts of exactly so many tokens from the prose of SOURCE: eight of each
length, and a batch of 256 with the lengths of chats, which are log-normal around 32
tokens. serve speaks as the Go half does. What it times is what a program has to do
from text to vector: tokenise, run, take the mean over the tokens, scale to length 1.
"""

import json
import os
import random
import sys
import time

FIRST = "Where did I leave the keys?"
MOST = 256


def tokenizer(path):
    from tokenizers import Tokenizer

    t = Tokenizer.from_file(path)
    t.no_padding()
    t.enable_truncation(MOST)
    return t


def make(tokenizer_file, source, out):
    t = tokenizer(tokenizer_file)
    t.no_truncation()
    rand = random.Random(7)
    words = []
    with open(source, encoding="utf-8") as f:
        for line in f:
            text = json.loads(line).get("text", "")
            prose = text.split()
            if len(prose) > 8 and len(set(prose)) > len(prose) / 2 and text.isascii():
                words += prose
    size = {w: len(t.encode(w).ids) - 2 for w in set(words)}

    def exactly(n):
        while True:
            at, text, left = rand.randrange(len(words)), [], n - 2
            while left > 0:
                w = words[at % len(words)]
                if size[w] <= left:
                    text.append(w)
                    left -= size[w]
                at += 1
            if len(t.encode(" ".join(text)).ids) == n:
                return " ".join(text)

    cases = {str(n): [exactly(n) for _ in range(8)] for n in (16, 32, 64, 128, 256)}
    lengths = [min(MOST, max(4, round(rand.lognormvariate(3.4657, 0.8)))) for _ in range(256)]
    cases["batch"] = [exactly(n) for n in lengths]
    with open(out, "w") as f:
        json.dump(cases, f)
    print(f"The batch has {sum(lengths)} tokens: median {sorted(lengths)[128]} a text, from {min(lengths)} to {max(lengths)}.")


def resident():
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def serve(model, tokenizer_file, threads, texts):
    import numpy as np
    import onnxruntime
    import tokenizers  # noqa: F401  # before the clock starts

    os.environ["TOKENIZERS_PARALLELISM"] = "true" if int(threads) > 1 else "false"
    before, start = resident(), time.perf_counter_ns()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    t = tokenizer(tokenizer_file)
    names = [session.get_outputs()[0].name]

    def one(text):
        ids = np.array([t.encode(text).ids], np.int64)
        hidden = session.run(names, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0]
        v = hidden[0].mean(0)
        return v / np.linalg.norm(v)

    def many(batch):
        encoded = [e.ids for e in t.encode_batch_fast(batch)]
        order = sorted(range(len(batch)), key=lambda i: len(encoded[i]))
        out = np.empty((len(batch), 384), np.float32)
        for at in range(0, len(order), 32):
            part = order[at : at + 32]
            ids = np.zeros((len(part), len(encoded[part[-1]])), np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(part):
                ids[row, : len(encoded[i])] = encoded[i]
                mask[row, : len(encoded[i])] = 1
            hidden = session.run(names, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
            m = mask[:, :, None].astype(np.float32)
            v = (hidden * m).sum(1) / m.sum(1)
            out[part] = v / np.linalg.norm(v, axis=1, keepdims=True)
        return out

    one(FIRST)
    print("ready", time.perf_counter_ns() - start, flush=True)
    with open(texts) as f:
        cases = json.load(f)

    def call(name, i):
        if name == "batch-sorted":
            many(cases["batch"])
        elif name == "batch-each":
            for text in cases["batch"]:
                one(text)
        else:
            one(cases[name][i % len(cases[name])])

    for line in sys.stdin:
        words = line.split()
        if words[0] == "memory":
            print(resident() - before, flush=True)
            continue
        _, name, first, calls = words
        wall, used = time.perf_counter_ns(), time.process_time_ns()
        for i in range(int(calls)):
            call(name, int(first) + i)
        used, wall = time.process_time_ns() - used, time.perf_counter_ns() - wall
        print(wall, used, flush=True)


{"make": make, "serve": serve}[sys.argv[1]](*sys.argv[2:])
