"""Write the golden files of the tests of internal/bpe with reference tiktoken.

  texts.json   texts with their token ids in every encoding
  splits.json  short texts with the lengths in bytes of their pieces
  points.json  checksums of the ids of every code point in several settings

Usage: BPE_RANKS=<folder of the rank files> python goldens.py
Needs the package tiktoken (0.14.0 made the files that are here).
"""

import base64
import json
import random
import struct
import zlib

import tiktoken
from reference import encoding, public

ENCODINGS = ["cl100k_base", "o200k_base", "p50k_base", "r50k_base"]
PATTERNS = ["cl100k_base", "o200k_base", "r50k_base"]
TEMPLATES = ["a{c}b", " {c}{c}", "A{c}a'S{c}1", "!{c}\n\t{c}B"]
BLOCK = 0x1000

PROSE = [
    "The quick brown fox jumps over the lazy dog. It wasn't, they'd say, what we'll've expected; I'm sure you're right!",
    "Der Fluß überquert die Straße; Äpfel, Öl und Übermut. Donaudampfschifffahrtsgesellschaftskapitän",
    "Où êtes-vous allé cet été ? L'œuvre d'art coûte 1 234,56 € — c'est « très » cher…",
    "¿Dónde está el niño? ¡Mañana! Información útil según José Ángel Núñez.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. МОСКВА Привет'с",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΟΔΥΣΣΕΥΣ ὦ ἄνδρες Ἀθηναῖοι",
    "敏捷的棕色狐狸跳过了懒狗。今天天气很好,我们去公园散步吧!GPT-4模型的上下文窗口是128K。",
    "いろはにほへと ちりぬるを。東京タワーの高さは333メートルです。カタカナｱｲｳ",
    "다람쥐 헌 쳇바퀴에 타고파. 안녕하세요, 세계! 2026년 3월",
    "نص حكيم له سر قاطع وذو شأن عظيم ٠١٢٣٤٥٦٧٨٩ مَرْحَبًا بِالعَالَمِ",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם עוֹלָם",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश १२३४५६७८९०",
    "আমি বাংলায় গান গাই। ০১২৩৪৫৬৭৮৯",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ๐๑๒๓๔๕๖๗๘๙",
    "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் ௧௨௩",
    "Ο Ελληνικός λόγος, ქართული ენა ძველია, Հայերեն լեզու, አማርኛ ቋንቋ, ខ្មែរ, မြန်မာ, ລາວ, སྐད་",
    "Tiếng Việt có nhiều dấu: ă â đ ê ô ơ ư ắ ằ ẳ ẵ ặ; e\u0301 a\u0300\u0323 o\u0302\u0301",
    "ǅ ǈ ǋ ǲ ᾈ ΐ ŉ ſ ß ẞ İ ı ﬁ ﬂ Ǆungla ᴬᴮ ʰʲ ªº ℵ ℶ ⅷ Ⅻ ② ½ ² ³ ㊿ 𝟘𝟙 𝒜𝒷 ꟲ Ꟛ \u1c89\u1c8a",
]

CODE = [
    "func (e *Encoding) Count(s string) int {\n\tif len(s) == 0 {\n\t\treturn 0\n\t}\n\n\tfor i := 0; i < len(s); i++ {\n\t\tn += tbl[s[i]] // why\n\t}\n\treturn n\n}\n",
    "def f(x: int = 0, *args, **kw) -> dict[str, Any]:\n    \"\"\"Doc.\"\"\"\n    return {k: v for k, v in kw.items() if v != x}\n\n\nclass HTTPServerXMLParser(BaseHandler):\n    pass\n",
    "<div class=\"row\">\r\n  <a href='https://example.com/a/b?c=d&e=%20f#g'>link</a>\r\n\r\n</div>\r\n",
    '{"id":"call_0a1b2c3d","type":"function","arguments":"{\\"path\\":\\"/srv/app/main.go\\",\\"n\\":-12.5e+3}","ok":true,"x":null}',
    '{\n  "a": [1, 22, 333, 4444, 55555],\n  "b": {\n    "c": "d\\n\\t\\u00e9"\n  }\n}\n',
    "2026-03-14T15:09:26.535Z ERROR [worker-7] /srv/app/x.go:123: connection reset by peer (took 8123ms)\n\tat com.example.Foo$Bar.baz(Foo.java:42)\n",
    "SELECT u.id, COUNT(*) FROM users u LEFT JOIN orders o ON o.user_id=u.id WHERE u.name LIKE '%O''Brien%' GROUP BY 1;--x",
    "#include <stdio.h>\n#define MAX(a,b) ((a)>(b)?(a):(b))\nint main(void){printf(\"%d\\n\",MAX(1,2));return 0;}\n",
    "    \t  mixed indent\n\t    \tmore\n        eight\n                                                                                         many\n",
    "|---|:---:|--:|\n| a | b | c |\n\n* item\n  * sub\n\n```go\nx := 1\n```\n> quote\n\n---\n\n# H1\n## H2\n",
    "diff --git a/x b/x\n@@ -1,3 +1,4 @@\n-old\n+new\n \n \n+\t\n",
    "https://user:pw@sub.example.co.uk:8080/path/to/page.html?query=value&x[]=1&y=%E4%BD%A0#frag",
    "#!/bin/sh\nset -eu\nfor f in *.txt; do echo \"$f\" | sed 's/a/b/g' >> \"${OUT:-/dev/null}\" 2>&1; done\n",
]

EDGES = [
    "", " ", "  ", "   a", "a ", "a  ", "a\n", "a\n ", "a \n", "a\n\n", "a\r\n\r\n b", "a\n\t\n\tb", "a \n \n b", "\n\t\n", " \n \n b",
    "\t\t\tx", " \t x", "\t x", "x\t", "\u00a0x", "\u00a0\u00a0x", "\u3000x\u3000\u3000", "a\u0085b", "a\u2028b\u2029\u2029c", "\u200bx", "\ufeffBOM text", "\ufeff",
    "\r", "\r\r\n\n\r", " \r \n ", "x \r", "\v\f x", "\x00", "\x00\x00a\x00", "\x7f\x1b[31mred\x1b[0m", "\ufffd\ufffd", "\U0010ffff",
    "<|endoftext|>", "a<|fim_prefix|>b<|endofprompt|> <|start|>user<|message|>", "<|im_start|>system\nHi<|im_end|>",
    "I'm you're he's we'll they've I'd don't", "I'M YOU'RE HE'S WE'LL THEY'VE I'D DON'T", "'s 'S 'ſ '\u017fx a'ſ b'ſt 'K'\u212a",
    "it'Sx 'lL 'Ll 'vE 'Ve 'rE 're'll 'l 'v 'r '", "''s '''t \"'s\" x''d", "can't've", "'twas 'til rock'n'roll O'Neil", "a'\u017f\u017f",
    "中A", "中AB中Cd", "A中a中A", "\u0301", "\u0301A", "!\u0301A", "!!\u0301a", "e\u0301E\u0301!", " \u0301\u0301A'sB", "Aa\u0301'S",
    "HTTPServer iPhone XMLHttpRequest getURLFor aB AbC ABc ABCdEF", "ÀÉÎõü ÀÉ ÉaÉa", "ǅa aǅ Aǅb",
    "1 12 123 1234 12345 1234567890 3.14159 1e-10 0xDEADBEEF", "١٢٣٤٥ १२३४ 一二三四 ⅠⅡⅢⅣ ½¼ ²³¹ 1²", "a1b22c333d4444", "1a 1 a 1. .1",
    "👍", "👍🏽", "👨‍👩‍👧‍👦 family", "🏳️‍🌈🏴‍☠️🇩🇪🇫🇷", "❤️‍🔥x❤", "🤷🏻‍♀️\n🤷", "©®™ ← → ⇒ ∀x∈ℝ ∑∏∫√∞≠≤≥", "…—–‘’“”«»„‚",
    "...", "!?", "?!?!?!", "----------", "==========\n", "////\n//", "a//b\n/\n//", ";\n\n", ");\n\n\n\t}", "}\r\n\r\n}", "/*\n*/\n", "_ __ ___ a_b _a",
    "z" * 100, "ab" * 60, " " * 200, "\n" * 130, "\t" * 90 + "x", "-" * 150, "=" * 81, "1" * 50, "中" * 70, "👍" * 40, "é" * 120, "Z" * 99,
    " " * 1300 + "x", "a" * 3000, "ab" * 1500, "\n" * 1500 + " ", "文" * 900, "!" * 2500, "xyzzy" * 700, "\t \t" * 700,
    "Lopadotemachoselachogaleokranioleipsanodrimhypotrimmatosilphiokarabomelitokatakechymenokichlepikossyphophattoperisteralektryonoptekephalliokigklopeleiolagoiosiraiobaphetraganopterygon",
]

ATOMS = (
    list("abzABZ019 .'/!-_\n\r\t")
    + ["  ", "\r\n", "'s", "'S", "'ll", "'LL", "'re", "'ſ", "ſ", "é", "É", "ß", "ǅ", "中", "文", "あ", "ア", "ー", "한", "я", "Я", "α", "Ω", "ʰ", "ª"]
    + ["\u0301", "\u0903", "\u20dd", "\u200d", "\ufe0f", "👍", "🏽", "½", "²", "٣", "४", "Ⅳ", "〇", "\u00a0", "\u0085", "\u2003", "\u2028", "\u3000", "\u200b", "\ufeff", "\x00"]
    + ["the", " and", "ing", "tion", "HTTP", "x1", "://", ");\n", "€", "…", "“"]
)


def base64_text(rnd, n):
    return base64.b64encode(rnd.randbytes(n)).decode()


def pieces(pattern, text):
    """The pieces of a text: every substring is a token, so every piece is one."""
    raw = text.encode()
    vocab = {bytes([i]): i for i in range(256)}
    for i in range(len(raw)):
        for j in range(i + 2, len(raw) + 1):
            vocab.setdefault(raw[i:j], len(vocab))
    enc = tiktoken.Encoding("pieces", pat_str=pattern, mergeable_ranks=vocab, special_tokens={})
    return [len(enc.decode_single_token_bytes(t)) for t in enc.encode_ordinary(text)]


def write(name, value):
    with open(name, "w") as f:
        json.dump(value, f, separators=(",", ":"), sort_keys=True)
        f.write("\n")


def main():
    rnd = random.Random(20260315)
    encs = {name: encoding(name) for name in ENCODINGS}

    texts = PROSE + CODE + EDGES + [base64_text(rnd, 600), "".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=2500))]
    texts += ["".join(rnd.choices(ATOMS, k=rnd.randint(2, 20))) for _ in range(500)]
    write("texts.json", [{"text": t, "ids": {n: e.encode_ordinary(t) for n, e in encs.items()}} for t in texts])

    pats = {n: public.ENCODING_CONSTRUCTORS[n]()["pat_str"] for n in PATTERNS}
    shorts = [t for t in EDGES if len(t.encode()) <= 60]
    shorts += ["".join(rnd.choices(ATOMS, k=rnd.randint(2, 12))) for _ in range(1500)]
    write("splits.json", [{"text": t, "sizes": {n: pieces(p, t) for n, p in pats.items()}} for t in shorts])

    points = {}
    for name in PATTERNS:
        enc = encs[name]
        for template in TEMPLATES:
            sums = []
            for block in range(0, 0x110000, BLOCK):
                ids = []
                for c in range(block, block + BLOCK):
                    if not 0xD800 <= c <= 0xDFFF:
                        ids += enc.encode_ordinary(template.replace("{c}", chr(c)))
                sums.append(zlib.crc32(struct.pack(f"<{len(ids)}I", *ids)))
            points.setdefault(name, {})[template] = sums
    write("points.json", points)


main()
