"""Write classes.txt: the character class of every code point, as the regular
expression engine inside reference tiktoken sees it.

The classes come from tiktoken itself and not from a Unicode library, because
the two may follow different versions of the Unicode standard, and one letter
more or less moves token boundaries. An Encoding whose vocabulary is the 256
bytes and whose pattern is one class drops all text that the pattern does not
match, so encoding every code point at once returns the members of the class.

Usage: python classes.py > classes.txt        (needs the package tiktoken)
"""

import tiktoken

PATTERNS = [
    ("lower", r"\p{Ll}"),
    ("upper", r"[\p{Lu}\p{Lt}]"),
    ("letter", r"[\p{Lm}\p{Lo}]"),
    ("mark", r"\p{M}"),
    ("number", r"\p{N}"),
    ("space", r"[\s--[\r\n]]"),
    ("newline", r"[\r\n]"),
]

BYTES = {bytes([i]): i for i in range(256)}
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def members(pattern):
    enc = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    found = []
    for i in range(0, len(POINTS), 4096):
        text = "".join(map(chr, POINTS[i : i + 4096]))
        found += map(ord, bytes(enc.encode_ordinary(text)).decode())
    return found


def main():
    cls = {}
    for name, pattern in PATTERNS:
        for c in members(pattern):
            assert c not in cls, (hex(c), name, cls[c])
            cls[c] = name
    # The union classes that the patterns use must be what their parts add up to.
    unions = {
        r"\p{L}": {"lower", "upper", "letter"},
        r"\s": {"space", "newline"},
        r"[^\s\p{L}\p{N}]": {"mark", None},
        r"[^\r\n\p{L}\p{N}]": {"mark", "space", None},
    }
    for pattern, parts in unions.items():
        assert members(pattern) == [c for c in POINTS if cls.get(c) in parts], pattern
    print("# first last class; code points not listed are of class other")
    start = None
    for c in range(0x110001):
        name = cls.get(c)
        if start is not None and name != cls.get(start):
            print(f"{start:04X} {c - 1:04X} {cls[start]}")
            start = None
        if start is None and name is not None:
            start = c


main()
