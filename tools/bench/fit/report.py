"""Prints the table of the comparison and judges what every contender left.

Usage: BPE_RANKS=<folder> python report.py FOLDER BUDGET < RESULTS

Exits with 1 where a result is empty or no provider would take it.
"""

import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../internal/bpe/testdata"))
from reference import encoding  # noqa: E402
from valid import problems, text  # noqa: E402

SLIDE = 40  # messages that slides keep


def load(path):
    with open(path) as f:
        return json.load(f)["messages"]


def number(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}" if x >= 0.1 else f"{x:.3f}"


def main(folder, budget):
    enc = encoding("o200k_base")
    rows, failed, wrong = {}, {}, []
    for line in sys.stdin:
        r = json.loads(line)
        if r["role"] == "failed":
            failed[r["name"]] = r["error"]
            continue
        row = rows.setdefault(r["name"], {**r, "at": {}})
        at = row["at"].setdefault(r["messages"], {"ms": [], "first": r.get("first")})
        at["ms"] += r["ms"]
        left = load(r["out"])
        at["left"] = len(left)
        at["tokens"] = sum(len(enc.encode_ordinary(text(m))) for m in left)
        bad = problems(load(os.path.join(folder, f"in-{r['messages']}.json")), left)
        if r["counts"].startswith("BPE") and r["kind"] != "slide" and not r["name"].startswith("Headroom") and at["tokens"] > int(budget):
            bad.append(f"{at['tokens']} tokens, over the budget")
        wrong += [f"{r['name']}, {r['messages']} messages: {b}" for b in bad]

    sizes = sorted({n for r in rows.values() for n in r["at"]})

    def ms(row, n):
        return statistics.median(row["at"][n]["ms"]) if row and n in row["at"] else None

    def each(f):
        return " / ".join("-" if v is None else v for v in map(f, sizes))

    ours = {(r["kind"], r["role"]): r for r in rows.values() if r["role"] != "rival"}
    print(f"CPU ms per call at {' / '.join(f'{n:,}' for n in sizes)} messages: medians of as many runs. The first call on a")
    print("conversation counts for the cold rows of ours only; that of the others stands beside. Ratios are to ours of the")
    print(f"kind named under against (slide: {SLIDE} messages; trim: {int(budget):,} tokens; summary: as many, with a fake model; ladder: as many, with a digest of the")
    print("rest), once with parsing and once without, as the others are measured; above 1 ours takes less.\n")
    print("| | counts | ms | runs | range at 1,000 | first call, ms | messages left | tokens of text left | against | times ours, parsing | times ours |")
    print("|" + "---|" * 11)
    for name, r in rows.items():
        def times(role):
            own = ours.get((r["kind"], role))
            if r["role"] != "rival":
                return ""
            return each(lambda n: number(ms(r, n) / ms(own, n)) if ms(r, n) and ms(own, n) else None)

        middle = r["at"].get(1000)
        spread = f"{number(min(middle['ms']))}–{number(max(middle['ms']))}" if middle else ""
        print("|", " | ".join([
            name, r["counts"], each(lambda n: number(ms(r, n)) if n in r["at"] else None),
            each(lambda n: str(len(r["at"][n]["ms"])) if n in r["at"] else None), spread,
            each(lambda n: number(r["at"][n]["first"]) if n in r["at"] else None) if r["role"] == "rival" else "",
            each(lambda n: f"{r['at'][n]['left']:,}" if n in r["at"] else None),
            each(lambda n: f"{r['at'][n]['tokens']:,}" if n in r["at"] else None),
            r["kind"] if r["role"] == "rival" else "", times("parse"), times("fit"),
        ]), "|")
    for name, why in failed.items():
        print(f"| {name} | | could not be run: {why} |" + " |" * 8)
    for w in wrong:
        print("invalid:", w, file=sys.stderr)
    sys.exit(1 if wrong or not rows else 0)


main(*sys.argv[1:])
