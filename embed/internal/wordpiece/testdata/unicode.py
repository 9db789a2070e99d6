#!/usr/bin/env python3
"""Writes ../unicode.txt and codepoints.txt, as the reference tokenizer has them.

    pip install tokenizers
    python testdata/unicode.py path/to/tokenizer.json

Run it in embed/internal/wordpiece with the tokenizer.json of an uncased BERT model.

unicode.txt is what the reference's normalizer makes of every code point; its
format is told in unicode.go. The reference mixes tables of several Unicode
versions, so this asks it about each code point rather than ask a standard.

codepoints.txt proves it: one line for every 1024 code points, with the first
eight bytes of the SHA-256 of the ids (little-endian, 32 bits) of each code
point c in the texts CONTEXTS, one after the other.
"""

import array
import hashlib
import sys

import tokenizers

CONTEXTS = ["a%sb", "%s", "\u00e9%sx", "1%s\u0301"]
BLOCK = 1024
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by rule in unicode.go
# Isolated by rule in unicode.go, where they are not mapped as well.
IDEOGRAPHS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
              (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]


def code_points():
    return (c for c in range(0x110000) if not 0xD800 <= c < 0xE000)


def facts(tok):
    """The facts of every code point that is not itself a letter: (c, fact)."""
    norm = tok.normalizer.normalize_str
    split = tok.pre_tokenizer.pre_tokenize_str
    for c in code_points():
        ch, out = chr(c), norm(chr(c))
        ideograph = any(lo <= c <= hi for lo, hi in IDEOGRAPHS)
        assert ideograph == (len(out) == 3 and out[0] == out[2] == " "), hex(c)
        if ideograph:
            out = out.strip(" ")
        alone = len(split("a" + out + "b")) == 3
        if c in HANGUL:
            continue
        elif out == "":
            yield c, "drop"
        elif out == " ":
            yield c, "space"
        elif out == ch:
            if alone:
                assert not ideograph
                yield c, "punct"
        else:
            # A mapped character is of the kind of what it is mapped to.
            assert not alone or len(out) == 1, hex(c)
            yield c, out


def marks(tok):
    """The combining marks that the normalizer keeps, but may reorder."""
    norm = tok.normalizer.normalize_str
    high, low = "\u302e", "\u1b44"  # kept, of combining classes 224 and 9
    for c in code_points():
        ch = chr(c)
        if norm(ch) == ch and (norm(high + ch) != high + ch or norm(ch + low) != ch + low):
            yield c


def lines(tok):
    """Joins neighbours of one fact, or of one distance to what they map to."""
    runs = []  # [lo, hi, fact, distance]
    for c, fact in facts(tok):
        far = ord(fact) - c if len(fact) == 1 else None
        if runs and runs[-1][1] == c - 1:
            lo, hi, f, d = runs[-1]
            if f == fact:
                runs[-1][1], runs[-1][3] = c, None
                continue
            if d is not None and d == far:
                runs[-1][1], runs[-1][2] = c, None
                continue
        runs.append([c, c, fact, far])
    for lo, hi, fact, far in runs:
        span = "%04X" % lo if lo == hi else "%04X-%04X" % (lo, hi)
        if fact is None:
            yield "%s %+d" % (span, far)
        elif fact in ("drop", "space", "punct"):
            yield "%s %s" % (span, fact)
        else:
            yield "%s %s" % (span, " ".join("%04X" % ord(x) for x in fact))
    run = None
    for c in list(marks(tok)) + [None]:
        if run and c == run[1] + 1:
            run[1] = c
            continue
        if run:
            yield ("%04X" % run[0] if run[0] == run[1] else "%04X-%04X" % tuple(run)) + " mark"
        run = [c, c]


def digests(tok):
    for lo in range(0, 0x110000, BLOCK):
        if 0xD800 <= lo < 0xE000:
            continue
        texts = [ctx % chr(c) for c in range(lo, lo + BLOCK) for ctx in CONTEXTS]
        ids = array.array("I")
        for e in tok.encode_batch(texts):
            ids.extend(e.ids)
        if sys.byteorder == "big":
            ids.byteswap()
        yield "%06X %s" % (lo, hashlib.sha256(ids.tobytes()).hexdigest()[:16])


def main():
    tok = tokenizers.Tokenizer.from_file(sys.argv[1])
    tok.no_padding()
    tok.no_truncation()
    made = "by testdata/unicode.py with tokenizers %s" % tokenizers.__version__
    with open("unicode.txt", "w") as f:
        f.write("# Made %s; do not edit. Format: unicode.go.\n" % made)
        f.writelines(line + "\n" for line in lines(tok))
    with open("testdata/codepoints.txt", "w") as f:
        f.write("# Made %s; do not edit.\n" % made)
        f.writelines(line + "\n" for line in digests(tok))


main()
