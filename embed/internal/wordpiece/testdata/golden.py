#!/usr/bin/env python3
"""Writes golden.jsonl: texts, and the ids that the reference gives them.

    pip install tokenizers
    python testdata/golden.py path/to/tokenizer.json

Run it in embed/internal/wordpiece with the tokenizer.json of an uncased BERT model.
A line has "text" or, where the text is no UTF-8, "bytes" in base64; "max" where
the ids were truncated; and "ids".
"""

import base64
import json
import sys

import tokenizers

PLAIN = r"""
Hello, world!
The quick brown fox jumps over the lazy dog.
HELLO hElLo hello
It's a dog's life, isn't it? "Don't," she said.
unaffable untokenizable antidisestablishmentarianism
supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis
Dr. Smith paid $1,234.56 (incl. 19% VAT) on 2024-02-29 at 13:37:00Z.
e.g. i.e. etc. a.m. p.m. U.S.A. Ph.D.
3.14159 1e-10 0xDEADBEEF 0b1010 1_000_000 1/2 50% #1 @user &amp; ~tilde ^caret `tick`
well-known state-of-the-art re-use co-operate mother-in-law
one--two---three — four – five ‒ six ― seven
... … .. . ?! !? ¿Qué? ¡Olé!
a b c d e f g h i j k l m n o p q r s t u v w x y z
A1B2C3 x86_64 h264 utf8 UTF-8 sha256sum k8s i18n l10n
lorem ipsum dolor sit amet, consectetur adipiscing elit
zzzzzzzzzzqqqqqqqqqqxxxxxxxxxx jjjjkkkkwwww
the the the the the the
##ing ##s # ## ### ##a a##b
hashtag #golang #100DaysOfCode
snake_case camelCase PascalCase kebab-case SCREAMING_SNAKE_CASE
func main() { fmt.Println("hello, 世界") }
for i := range 10 { defer func() { recover() }() }
type Store interface { Get(ctx context.Context, key string) ([]byte, error) }
if err != nil { return fmt.Errorf("open %q: %w", path, err) }
ch := make(chan<- struct{}, 1<<4); x &^= y; z |= ^w
def f(x: int = 0, *args, **kwargs) -> dict[str, Any]: return {"x": x, **kwargs}
print(f"{value!r:>10}") # comment
lambda x: x if x else [i ** 2 for i in range(10) if i % 2 == 0]
const f = async ({a, b = 1, ...rest}) => await fetch(`/api/${a}?b=${b}`);
document.querySelector('#id > .class[data-x="y"]')?.addEventListener('click', e => e.preventDefault());
fn main() -> Result<(), Box<dyn Error>> { let x: &'static str = "a"; println!("{x:?}"); Ok(()) }
template <typename T> constexpr auto max(T&& a, T&& b) noexcept { return a < b ? b : a; }
#include <stdio.h> int main(void) { printf("%d\n", 42); return 0; }
public static void main(String[] args) throws IOException { System.out.println("x"); }
SELECT u.id, COUNT(*) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id WHERE u.email LIKE '%@example.com' GROUP BY 1 HAVING n > 3;
CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY, body BLOB NOT NULL);
find . -name '*.go' -print0 | xargs -0 grep -n "TODO" 2>/dev/null | wc -l
sudo systemctl restart nginx && journalctl -u nginx --since "10 min ago"
<div class="container"><a href="/x?y=1&amp;z=2">link</a><br/></div>
{"role": "user", "content": [{"type": "text", "text": "hi\n"}]}
key: value # yaml comment
[package] name = "crate" version = "0.1.0"
FROM golang:1.26-alpine AS build RUN go build -trimpath -ldflags="-s -w" ./...
^\s*(?P<name>[A-Za-z_]\w*)\s*=\s*(?:"([^"\\]|\\.)*"|\d+)$
\begin{equation} \int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} \end{equation}
https://example.com/path/to/page.html?query=one&other=two#fragment
http://user:pass@[::1]:8080/%7Efoo/../bar;v=1
ftp://files.example.org/pub/README.TXT mailto:someone@example.com
C:\Users\me\Documents\file.txt /usr/local/bin/oriel ~/.config ./a/../b
192.168.0.1 fe80::1%eth0 00:1b:44:11:3a:b7 550e8400-e29b-41d4-a716-446655440000
2024-01-01T00:00:00.000Z ERROR [main] c.e.App - Failed: java.lang.NullPointerException at com.example.App.run(App.java:42)
goroutine 1 [running]: main.main() /tmp/x.go:5 +0x1d
café résumé naïve façade jalapeño Ångström Škoda Łódź
CAFÉ RÉSUMÉ NAÏVE FAÇADE JALAPEÑO ÅNGSTRÖM ŠKODA ŁÓDŹ
Größe Straße GROẞE STRASSE ß ẞ ä ö ü Ä Ö Ü
Æsir œuvre ŒUVRE ﬁnance ﬂow ĳ Ĳ ǆ ǅ Ǆ ŉ ſ
İstanbul ISTANBUL ıstanbul Iğdır
đ Đ ħ Ħ ł Ł ø Ø þ Þ ð Ð ŋ Ŋ
tiếng Việt có dấu, Nguyễn Văn Thượng
Čeština má háčky a čárky: příliš žluťoučký kůň úpěl ďábelské ódy
Zażółć gęślą jaźń
Árvíztűrő tükörfúrógép
Pchnąć w tę łódź jeża lub ośm skrzyń fig
Þórður sagði: það er ágætt
Ελληνικά κείμενα με τόνους: άέήίόύώ ΐΰ ΆΈΉ ς Σ ΣΑΣ
ᾳ ᾼ ὠ ὦ ᾧ Ὦ ᾯ ΐ Ω K Å
Русский текст с буквами ё и й, Ё и Й
Українська: їжак, ґанок, Євген
Съешь ещё этих мягких французских булок, да выпей чаю
Ѐ Ѝ Ў ѐ ѝ ў Ѳ ѵ Ѷ ѷ
Հայերեն տեքստ և ԵՎ ուղիղ
ქართული ტექსტი ᲥᲐᲠᲗᲣᲚᲘ Ⴀ ⴀ
עברית עם נִקּוּד וּבְלִי
שָׁלוֹם עֲלֵיכֶם ״גרשיים״ מק־ף
العربية مع تَشْكِيل، وبدون؟
ﷺ ﻻ ـــ كـــتاب ٠١٢٣٤٥٦٧٨٩ ۰۱۲۳
فارسی: می‌خواهم کتاب‌ها را بخوانم
اردو زبان میں ایک جملہ۔
हिन्दी में एक वाक्य है। क्या आप ठीक हैं?
क़ ख़ ग़ ज़ ड़ ढ़ फ़ य़ ऩ ऱ ऴ
বাংলা ভাষা কো কৌ ড় ঢ় য়
ਪੰਜਾਬੀ ਲਿਖਤ ਖ਼ ਗ਼
ગુજરાતી લખાણ
ଓଡ଼ିଆ କୋ କୌ
தமிழ் உரை கொ கோ கௌ ஔ
తెలుగు వచనం కై
ಕನ್ನಡ ಪಠ್ಯ ಕೀ ಕೊ ಕೋ
മലയാളം കൊ കോ കൌ
සිංහල කේ කො කෝ කෞ
ภาษาไทย ไม่มีช่องว่าง น้ำ
ພາສາລາວ ນ້ຳ
བོད་ཡིག གྷ ཌྷ ཱི
မြန်မာဘာသာ ဦး
ភាសាខ្មែរ កម្ពុជា
አማርኛ ጽሑፍ።
ᏣᎳᎩ Ꭰ ꭰ Ᏸ ᏸ
ᚠᚢᚦᚨᚱᚲ ᚛ᚑᚌᚐᚋ᚜
ᬅᬆ ᬇᬈ ᬉᬊ ᬋᬌ ᬍᬎ ᬑᬒ ᭀ ᭁ
Монгол ᠮᠣᠩᠭᠣᠯ
中文文本，没有空格。繁體字也可以！
我叫小明today我去school
日本語のテキスト、カタカナとひらがな。
がぎぐげご ガギグゲゴ ぱぴぷぺぽ パピプペポ ヴ ゞ ヾ
ｶﾞｷﾞｸﾞ ﾊﾟﾋﾟﾌﾟ 半角カナ
Ｆｕｌｌｗｉｄｔｈ　ＴＥＸＴ　１２３！？
한국어 문장입니다. 안녕하세요!
가 각 갂 힣 값 뷁 쀍
한글 ㅎㅏㄴㄱㅡㄹ
豈 更 車 賈 滑 串 句 龜 﨎 﨏 﨑 﨓 﨔 﨟
𠀀 𠀁 𪛖 𪜀 𫝀 𫠠 𬺰 𰀀 丽 𪘀
々 〆 〇 〡 〰 〽 ㊗ ㊙ ㍿ ㌔ ⼀ ⺀
「引用」『二重』【括弧】〈山〉《二重山》〔亀甲〕・中点～波線
😀 😃😄 👍👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ ☺️ 🇩🇪🇫🇷 1️⃣ #️⃣
I ❤ Go 🐹! done✅ fail❌ warn⚠️ →next ←back ⇒ ⇔
text😀text a👍b 🤷🏿‍♀️shrug
🫠 🫡 🩷 🪿 🫨 🫩
𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕄𝕒𝕥𝕙 𝒮𝒸𝓇𝒾𝓅𝓉 𝐁𝐨𝐥𝐝 𝑖𝑡𝑎𝑙𝑖𝑐 𝟘𝟙𝟚 ℝ ℂ ℵ ℏ ℓ ℘
∀x∈ℝ ∃y: x² + y³ ≤ z ≠ 0 ∧ ¬(a ∨ b) ⊂ ⊄ ∅ ∞ ∑ ∏ √ ∂ ∇
≠ ≮ ≯ ≰ ≱ ⊀ ⊁ ∄ ∉ ∌ ⫝̸
½ ⅓ ¼ x₁ H₂O E=mc² ① ② Ⅳ ⅳ Ⓐ ⓐ ㈠ № ™ ® © ℃ ℉
€100 £5 ¥200 ₹50 ₽ ₿ ¢ ¤ § ¶ † ‡ • ‣ · ‰ ′ ″
“curly” ‘single’ „German“ «French» ‹angle› ‚low‛ "straight" 'single'
 ̀ ́ ̂ ́a ̧ combining alone
é à ñ ö ç ạ̈ q̣̇ q̣̇ ộ
ḍ̇ ḍ̇ ḍ̇ s̩̍ ẛ̣ ẛ̣
Z̷̨̲͖̦̿̊͝ą̵̛̣̤̉l̶̢̩̗̈́g̸̰̀͜o̵̮̪̅ t̸e̶x̵t̷
ʰʲʷ ˈstɹɛs ˌaɪpʰiːˈeɪ ʔ ə ŋ ʃ ʒ θ ð
´ ` ¨ ^ ˜ ¯ ¸ ΄ ΅ ῀ ῁ ᾽ ᾿ ` ´
; · ` 〈〉 ⟨⟩ ⁅⁆ ⸨⸩ ⁓ ‿ ⁔ ﹏ ﹍ ＿
𝅗𝅥 𝅘𝅥 𝅘𝅥𝅮 𝅘𝅥𝅯 𝆹𝅥 𝆺𝅥𝅯 music
〮a 〯b 〮〯 ᬄ᭄ ꦀ꧀
𐐀𐐨 Deseret 𐓐 𞤀𞤢 𐲀𐳀 𑢠𑣀 𖹀
𐎀 𒀀 𓀀 𓂀 𝄞 🀄 🂡 🃏
ⰀⰁ ⲀⲁⲂ Ⳁ ꙀꙁꙂ ꚀꚁꜢꜣ Ꞌ ꞌ Ɡ Ꟶ
[CLS] [SEP] [MASK] [UNK] [PAD]
[cls] [Sep] [mask] [Unk] [pad]
a[CLS]b x[SEP]y z[MASK]w
[CLS][SEP][MASK]
[[CLS]] [ CLS ] [CLS [SEP CLS] SEP]
[MASK]ing un[MASK]able [MASK]. "[MASK]"
[MASK]é́ é[MASK]́
[unused0] [unused99] [UNUSED0]
［ＣＬＳ］ [СLS]
The capital of France is [MASK].
<s> </s> <pad> <unk> <mask> <|endoftext|>
"""

SPACES = ["\t", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", " ", "\x85", "\xa0",
          "\u1680", "\u180e", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
          "\u2007", "\u2008", "\u2009", "\u200a", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f",
          "\u2060", "\u3000", "\ufeff"]

DROPPED = ["\x00", "\x01", "\x07", "\x08", "\x1b", "\x7f", "\x80", "\x9f", "\xad", "\u0600", "\u061c",
           "\u06dd", "\u070f", "\u08e2", "\u200c", "\u200d", "\u200e", "\u202a", "\u202e", "\u2061",
           "\u206f", "\ufff9", "\ufffc", "\ufffd", "\ufffe", "\uffff", "\ue000", "\uf8ff", "\U000f0000",
           "\U0010ffff", "\U000e0001", "\U000e0041", "\U000e0100", "\ufe0f", "\u0378",
           "\U0001d173", "\U000110bd", "\U000110cd", "\U00013430"]

BYTES = [b"\xff", b"a\xffb", b"caf\xe9", b"\xc3(", b"ab\xc3", b"\xe2\x82", b"x\xe2\x82y", b"\xf0\x9f\x98",
         b"\xed\xa0\x80z", b"a\xed\xb0\x80b", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
         b"[C\xffLS]", b"\xff[CLS]\xff", b"good \x80\x81 bad", b"\xfe\xffh\x00i\x00", b"a" * 100 + b"\xff",
         b"e\xff\xcc\x81"]

LONG = ("It was a bright cold day in the valley, and the clocks of the unreconstructed "
        "observatory – 天文台 – were striking thirteen; naïve visitors [MASK] misunderstood. ")


def words(n):
    """Words about the limit of characters, counted after normalization."""
    yield "a" * n
    yield "x" + "a" * n + " y"
    yield "é" * n
    yield "e\u0301" * n
    yield "A\u200b" * n
    yield "я" * n
    yield "😀" * n
    yield "가" * (n // 2)
    yield "각" * (n // 3)
    yield "кот" + "a" * (n - 3) + ".b"
    yield "the " + "internationalization" * (n // 20) + "z" * (n % 20) + " end"
    yield "\u0301" * n + "a"


def texts():
    for line in PLAIN.strip("\n").split("\n"):
        yield line, None
    for s in ("[CLS\u200b]", "[M\u200bASK]", "[MASK]\u0301", "a[MASK\u0301]", "[\x00SEP] [SEP\x00]"):
        yield s, None
    for s in SPACES:
        yield "a" + s + "b", None
    for s in DROPPED:
        yield "a" + s + "b c" + s, None
    yield "", None
    for s in (" ", "\n\n", " \t\r\n\u3000\u2003 ", "\x00", "\u200d\u200d", "\u0301", " \u0301 ", "  a  ", "a "):
        yield s, None
    for n in (50, 99, 100, 101, 102, 200):
        for w in words(n):
            yield w, None
    for b in BYTES:
        yield b, None
    for n in (2, 3, 8, 16, 256):
        for s in ("", "one two three", LONG, LONG * 12, "unbelievablylongishness " * 40, "漢字" * 200,
                  "a" * 99 + "\U0001f9ff" + " b", "[SEP]" * 300, "qq" * 49 + "\u0378 tail"):
            yield s, n


def main():
    tok = tokenizers.Tokenizer.from_file(sys.argv[1])
    tok.no_padding()
    with open("testdata/golden.jsonl", "w", encoding="ascii") as f:
        for text, limit in texts():
            tok.no_truncation()
            if limit:
                tok.enable_truncation(limit)
            line = {"text": text}
            if isinstance(text, bytes):
                line = {"bytes": base64.b64encode(text).decode()}
                text = text.decode(errors="replace")
            if limit:
                line["max"] = limit
            line["ids"] = tok.encode(text).ids
            f.write(json.dumps(line, separators=(",", ":")) + "\n")


main()
