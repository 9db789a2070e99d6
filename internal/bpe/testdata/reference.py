"""Reference encodings: the package tiktoken with rank files from a folder.

tiktoken fetches its rank files over the network; here they come from the
folder named by the variable BPE_RANKS, and the split patterns from tiktoken's
own list of encodings, so that nothing but the place of the files differs.
"""

import base64
import os

import tiktoken
import tiktoken_ext.openai_public as public


def load(path):
    ranks = {}
    with open(path, "rb") as f:
        for line in f.read().splitlines():
            if line:
                token, rank = line.split()
                ranks[base64.b64decode(token)] = int(rank)
    return ranks


def _local(url, expected_hash=None):
    return load(os.path.join(os.environ["BPE_RANKS"], url.rsplit("/", 1)[1]))


public.load_tiktoken_bpe = _local


def encoding(name):
    spec = public.ENCODING_CONSTRUCTORS[name]()
    return tiktoken.Encoding(
        name, pat_str=spec["pat_str"], mergeable_ranks=spec["mergeable_ranks"], special_tokens={}
    )
