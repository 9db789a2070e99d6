"""The model in PyTorch on a GPU: the same weights, read from the GGUF file as bfloat16."""

import time

import numpy
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from transformers import Qwen2Config, Qwen2ForCausalLM

import text
from model import END, PAD, WINDOW, Tokenizer

LAYER = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}
TOP = {
    "token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
BATCH_ROWS, BATCH_TOKENS = 32, 120_000


class Torch:
    """Answers in batches of requests of about the same length."""

    name = "torch"

    def __init__(self, path):
        self.tokenizer = Tokenizer(path)
        self.model = load(path)

    def chat(self, flat, limit):
        return next(self.many([flat], limit))[1]

    def many(self, requests, limit):
        """Yields the index of a request and its answer, short requests first."""
        ids = [self.tokenizer.ids(text.render(flat)) for flat in requests]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        while order:
            rows = max(1, min(BATCH_ROWS, BATCH_TOKENS // max(1, len(ids[order[0]]))))
            batch, order = order[:rows], order[rows:]
            start = time.time()
            answers = self.generate([ids[i] for i in batch], limit)
            seconds = round((time.time() - start) / len(batch), 3)
            for i, tokens in zip(batch, answers):
                yield i, {"text": self.tokenizer.fast.decode(tokens), "tokens": len(ids[i]), "written": len(tokens),
                          "read": len(ids[i]), "seconds": seconds}

    @torch.inference_mode()
    def generate(self, batch, limit):
        width = max(map(len, batch))
        x = numpy.full((len(batch), width), PAD, numpy.int64)
        mask = numpy.zeros_like(x)
        for row, ids in enumerate(batch):
            x[row, width - len(ids):], mask[row, width - len(ids):] = ids, 1
        out = self.model.generate(
            torch.from_numpy(x).cuda(), attention_mask=torch.from_numpy(mask).cuda(), max_new_tokens=limit,
            do_sample=False, eos_token_id=[END, PAD], pad_token_id=PAD)
        return [[t for t in row[width:].tolist() if t not in (END, PAD)] for row in out]


def load(path):
    weights = {}
    for t in GGUFReader(path).tensors:
        part = t.name.split(".")
        name = TOP.get(t.name) or f"model.layers.{part[1]}.{LAYER[part[2]]}.{part[3]}"
        weights[name] = torch.from_numpy(numpy.array(dequantize(t.data, t.tensor_type))).to(torch.bfloat16)
    vocabulary, hidden = weights["model.embed_tokens.weight"].shape
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=vocabulary, hidden_size=hidden, intermediate_size=8960, num_hidden_layers=28,
        num_attention_heads=12, num_key_value_heads=2, max_position_embeddings=WINDOW, rope_theta=1e6,
        rms_norm_eps=1e-6, tie_word_embeddings="lm_head.weight" not in weights, attn_implementation="sdpa",
    )).to(torch.bfloat16)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise RuntimeError(f"weights do not match: {unexpected[:3]} are unexpected, {missing[:3]} are missing")
    return model.cuda().eval()
