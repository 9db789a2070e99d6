"""The model in PyTorch on a GPU: the same weights, read from the GGUF file as bfloat16.

  gpu.py serve FILE PORT     answers as llama.cpp's server does, many requests at a time

Requests of one arm and conversation begin alike. What they have in common is read once,
and their ends are read and continued side by side: each token looks at the common part and
at its own request's end, and the two results are added with their weights.
"""

import http.server
import json
import queue
import sys
import threading
import time

import numpy
import torch
from gguf import GGUFReader
from gguf.quants import dequantize

import text
from model import END, PAD, Tokenizer

LAYERS, HEADS, KV_HEADS, SIZE, EPSILON, THETA = 28, 12, 2, 128, 1e-6, 1e6
GROUP = HEADS // KV_HEADS
ROWS = 96  # requests that are answered side by side
LONG = 1536  # tokens of an end above which its tokens are read row by row
KEPT = 1_000_000  # tokens of the ends that are kept at a time


class Torch:
    """Answers requests greedily; its answers do not depend on which requests stand beside a request."""

    name = "torch"

    def __init__(self, path, device="cuda"):
        self.tokenizer = Tokenizer(path)
        self.model = Model(path, device)

    def chat(self, flat, limit):
        return next(self.many([flat], limit))[1]

    def many(self, requests, limit):
        """Yields the index of a request and its answer, those that begin alike together."""
        encoded = self.tokenizer.fast.encode_batch([text.render(flat) for flat in requests], add_special_tokens=False)
        ids = [numpy.array(e.ids, ">i4") for e in encoded]  # bytes that sort as the numbers do
        for rows in groups(ids):
            start = time.time()
            answers = self.model.generate([ids[i].tolist() for i in rows], [limit] * len(rows))
            seconds = round((time.time() - start) / len(rows), 3)
            for i, tokens in zip(rows, answers):
                yield i, {"text": self.tokenizer.fast.decode(tokens), "tokens": len(ids[i]), "written": len(tokens),
                          "read": len(ids[i]), "seconds": seconds}


def common(a, b):
    """Returns the length of the common beginning of two sequences."""
    n = min(len(a), len(b))
    differ = numpy.nonzero(numpy.asarray(a[:n]) != numpy.asarray(b[:n]))[0]
    return int(differ[0]) if len(differ) else n


def groups(ids):
    """Returns lists of indices: requests that share most of their tokens, at most ROWS together."""
    out = []
    for i in sorted(range(len(ids)), key=lambda i: ids[i].tobytes()):
        if out and len(out[-1]) < ROWS:
            first = ids[out[-1][0]]
            shared = common(first, ids[i])
            if len(ids[i]) - shared <= LONG and len(first) - shared <= LONG:
                out[-1].append(i)
                continue
        out.append([i])
    return out


class Model:
    """Qwen2 of 1.5B parameters."""

    def __init__(self, path, device):
        self.device, self.w = device, {}
        for t in GGUFReader(path).tensors:
            self.w[t.name] = torch.from_numpy(numpy.array(dequantize(t.data, t.tensor_type))).to(device, torch.bfloat16)
        self.head = self.w.get("output.weight", self.w["token_embd.weight"])
        self.frequencies = THETA ** (-torch.arange(0, SIZE, 2, device=device).float() / SIZE)

    @torch.inference_mode()
    def generate(self, ids, limits):
        """Returns the answers' tokens. ids are whole requests."""
        shared = min((common(ids[0], other) for other in ids[1:]), default=0)
        shared = min(shared, min(map(len, ids)) - 1)
        if max(map(len, ids)) - shared > LONG:
            shared = 0
        ends, rows, width = [r[shared:] for r in ids], len(ids), max(map(len, ids)) - shared
        limit = max(limits)
        before = None
        if shared:
            x = torch.tensor([ids[0][:shared]], device=self.device)
            before = self.empty(1, shared)
            self.read(x, torch.zeros(1, dtype=torch.long, device=self.device), before, None, 0)
        own = self.empty(rows, width + limit)
        lengths = torch.tensor([len(e) for e in ends], device=self.device)
        if shared or width <= LONG:
            x = torch.full((rows, width), PAD, device=self.device)
            for r, e in enumerate(ends):
                x[r, :len(e)] = torch.tensor(e, device=self.device)
            hidden = torch.cat([
                self.read(x[a:b], torch.full((b - a,), shared, device=self.device), [(k[a:b], v[a:b]) for k, v in own], before, 0)[
                    torch.arange(b - a, device=self.device), lengths[a:b] - 1]
                for a, b in chunks(rows, width)])
        else:
            hidden = torch.cat([
                self.read(torch.tensor([e], device=self.device), torch.zeros(1, dtype=torch.long, device=self.device),
                          [(k[r:r + 1], v[r:r + 1]) for k, v in own], None, 0)[:, -1]
                for r, e in enumerate(ends)])
        out = [[] for _ in ids]
        open_, starts = set(range(rows)), lengths.clone()
        for step in range(limit):
            tokens = (hidden @ self.head.T).argmax(-1)
            for r, token in enumerate(tokens.tolist()):
                if r in open_:
                    if token in (END, PAD):
                        open_.discard(r)
                        continue
                    out[r].append(token)
                    if len(out[r]) >= limits[r]:
                        open_.discard(r)
            if not open_:
                break
            hidden = self.read(tokens[:, None], shared + starts, own, before, starts)[:, 0]
            starts = starts + 1
        return out

    def empty(self, rows, width):
        return [tuple(torch.zeros(rows, KV_HEADS, width, SIZE, device=self.device, dtype=torch.bfloat16) for _ in "kv")
                for _ in range(LAYERS)]

    def read(self, x, positions, own, before, at):
        """Reads tokens and returns their last hidden states.

        positions are those of the rows' first tokens. Keys and values are written to own: from its beginning
        if at is 0, else one for each row at its index in at. before is what all rows have before them.
        """
        rows, width = x.shape
        w, h = self.w, self.w["token_embd.weight"][x]
        angles = (positions[:, None] + torch.arange(width, device=self.device))[..., None].float() * self.frequencies
        cos, sin = (torch.cat((f, f), -1)[:, None].to(h.dtype) for f in (angles.cos(), angles.sin()))
        for i in range(LAYERS):
            p = f"blk.{i}."
            a = norm(h, w[p + "attn_norm.weight"])
            q, k, v = (linear(a, w, p + "attn_" + n).view(rows, width, -1, SIZE).transpose(1, 2) for n in "qkv")
            q, k = turn(q, cos, sin), turn(k, cos, sin)
            keys, values = own[i]
            if isinstance(at, int):
                keys[:, :, :width], values[:, :, :width] = k, v
                o = self.look(q, k, v, before and before[i], None)
            else:
                row = torch.arange(rows, device=self.device)
                keys[row, :, at], values[row, :, at] = k[:, :, 0], v[:, :, 0]
                used = int(at.max()) + 1
                seen = torch.arange(used, device=self.device) <= at[:, None]
                o = self.look(q, keys[:, :, :used], values[:, :, :used], before and before[i], seen)
            h = h + linear(o.transpose(1, 2).reshape(rows, width, -1), w, p + "attn_output")
            a = norm(h, w[p + "ffn_norm.weight"])
            h = h + linear(torch.nn.functional.silu(linear(a, w, p + "ffn_gate")) * linear(a, w, p + "ffn_up"), w, p + "ffn_down")
        return norm(h, w["output_norm.weight"])

    def look(self, q, k, v, before, seen):
        """Returns what the queries read of keys and values: of those up to their own, or of those that seen names, and
        of all that all rows have before them."""
        rows, _, width, _ = q.shape
        if before is None and seen is None and rows == 1:
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        grouped = q.reshape(rows, KV_HEADS, GROUP * width, SIZE)
        scores = (grouped @ k.transpose(-1, -2)).float() * SIZE ** -0.5
        scores = scores.view(rows, KV_HEADS, GROUP, width, -1)
        if seen is None:
            hidden = torch.ones(width, width, dtype=torch.bool, device=q.device).triu(1)
            scores.masked_fill_(hidden, float("-inf"))
        else:
            scores.masked_fill_(~seen[:, None, None, None], float("-inf"))
        weight = scores.logsumexp(-1)
        o = (scores.softmax(-1).to(v.dtype).view(rows, KV_HEADS, GROUP * width, -1) @ v).view(rows, KV_HEADS, GROUP, width, SIZE)
        if before is not None:
            # No query of any row is before these keys, so that all are one list of queries.
            flat = q.view(rows, KV_HEADS, GROUP, width, SIZE).permute(1, 2, 0, 3, 4).reshape(1, KV_HEADS, -1, SIZE)
            first, first_weight = whole(flat, *before)
            first = first.view(KV_HEADS, GROUP, rows, width, SIZE).permute(2, 0, 1, 3, 4)
            first_weight = first_weight.view(KV_HEADS, GROUP, rows, width).permute(2, 0, 1, 3)
            share = torch.sigmoid(weight - first_weight)[..., None].to(o.dtype)
            o = o * share + first * (1 - share)
        return o.reshape(rows, HEADS, width, SIZE)


def whole(q, k, v):
    """Returns attention without a mask, and the logarithms of its weights."""
    if q.is_cuda:
        out = torch.ops.aten._scaled_dot_product_flash_attention(q.contiguous(), k.contiguous(), v.contiguous(), 0.0, False, False)
        return out[0], out[1]
    scores = (q @ k.transpose(-1, -2)).float() * SIZE ** -0.5
    return scores.softmax(-1).to(v.dtype) @ v, scores.logsumexp(-1)


def chunks(rows, width):
    """Yields ranges of rows whose scores take at most about 8 GB."""
    n = max(1, int(8e9 / (HEADS * 4 * max(width, 64) ** 2)))
    return [(a, min(rows, a + n)) for a in range(0, rows, n)]


def norm(x, weight):
    f = x.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + EPSILON)).to(x.dtype) * weight


def linear(x, w, name):
    return torch.nn.functional.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Batches:
    """Takes requests of many threads and answers those that wait together."""

    def __init__(self, engine):
        self.engine, self.waiting = engine, queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def ask(self, prompt, limit):
        asked = {"ids": self.engine.tokenizer.ids(prompt), "limit": limit, "done": threading.Event()}
        self.waiting.put(asked)
        asked["done"].wait()
        if "error" in asked:
            raise asked["error"]
        return asked

    def run(self):
        while True:
            batch = [self.waiting.get()]
            time.sleep(0.05)  # others that finished the same step come now
            size = len(batch[0]["ids"])
            while not self.waiting.empty() and len(batch) < ROWS and size < KEPT:
                batch.append(self.waiting.get())
                size += len(batch[-1]["ids"])
            try:
                answers = self.engine.model.generate([b["ids"] for b in batch], [b["limit"] for b in batch])
                for b, tokens in zip(batch, answers):
                    b["tokens"] = tokens
            except Exception as e:
                for b in batch:
                    b["error"] = e
            for b in batch:
                b["done"].set()


def serve(path, port):
    engine = Torch(path)
    batches = Batches(engine)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_GET(self):
            self.send({"status": "ok"})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = batches.ask(body["prompt"], body["n_predict"])
            self.send({"content": engine.tokenizer.fast.decode(asked["tokens"]), "tokens_evaluated": len(asked["ids"]),
                       "tokens_predicted": len(asked["tokens"]), "timings": {"prompt_n": len(asked["ids"])}})

        def send(self, value):
            out = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.request_queue_size = 256
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] != ["serve"] or len(sys.argv) != 4:
        sys.exit(__doc__)
    serve(*sys.argv[2:])
