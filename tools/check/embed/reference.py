"""What ONNX Runtime makes of texts, one at a time and so without padding.

Usage: python reference.py MODEL.onnx TOKENIZER.json TEXTS.jsonl VECTORS

VECTORS gets 384 little-endian float32 a text, VECTORS.tokens a JSON list of how
many tokens the model saw of each. A text is cut at 256 tokens, pooled by the mean
over all tokens and scaled to length 1.
"""

import json
import os
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


def main(model, tokenizer_file, texts, out):
    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    vectors, tokens = [], []
    with open(texts, encoding="utf-8") as f:
        for line in f:
            ids = np.array([tokenizer.encode(json.loads(line)["text"]).ids], np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            v = session.run(None, feed)[0][0].astype(np.float64).mean(0)
            vectors.append((v / np.linalg.norm(v)).astype("<f4"))
            tokens.append(ids.shape[1])
    np.stack(vectors).tofile(out)
    with open(out + ".tokens", "w") as f:
        json.dump(tokens, f)


main(*sys.argv[1:])
