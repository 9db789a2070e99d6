"""What stands in the requests, the scores of answers, and the tables."""

import collections
import json
import math
import re

import text

# The frame of recalled text; see internal/prompt.
RECALLED = re.compile(r"\[Oriel: earlier parts of this conversation(?! are left out).*?\[Oriel: end of the quoted parts\]", re.S)


def look(prompts):
    """Returns for each set and arm what stands in its requests, in percent where nothing else is said.

    old_recalled is the share of characters in frames before the newest turn. newest_last
    counts the requests with recalled text in the newest turn that end with the question.
    """
    out = {}
    for name, rows in grouped(prompts.rows).items():
        found, old, whole, recalled, last = collections.defaultdict(list), 0, 0, 0, 0
        rows = [r for r in rows if "messages" in r]
        for row in rows:
            messages = prompts.messages(row)
            every = text.folded(" ".join(m["content"] for m in messages))
            for role, _, needle in row["evidence"]:
                found[role].append(text.folded(needle) in every)
            turn = 1 + max(i for i, m in enumerate(messages) if m["role"] == "assistant" or i == 0)
            whole += sum(len(m["content"]) for m in messages)
            old += sum(len(f) for m in messages[:turn] for f in RECALLED.findall(m["content"]))
            if any(RECALLED.search(m["content"]) for m in messages[turn:]):
                recalled += 1
                last += messages[-1]["content"].rstrip().endswith("Answer in a few words.")
        if rows:
            both = [x for v in found.values() for x in v]
            out[name] = {
                "requests": len(rows), "tokens": round(sum(r["tokens"] for r in rows) / len(rows)),
                "evidence": percent(both), "of_user": percent(found["user"]), "of_assistant": percent(found["assistant"]),
                "old_recalled": round(100 * old / max(1, whole), 1), "recalled_in": recalled, "newest_last": last,
            }
    return out


def percent(values):
    return round(100 * sum(values) / len(values), 1) if values else None


def grouped(rows):
    """Returns rows by set and arm, in the order in which they first come."""
    out = {}
    for row in rows:
        out.setdefault((row["set"], row["arm"]), []).append(row)
    return out


def score(row, answer):
    """Returns the row of a score; answer is the store's row."""
    said, gold, paths = answer["text"].strip(), row["gold"], row["set"] == "sessions"
    return {
        **{k: row[k] for k in ("set", "conversation", "arm", "kind", "question", "gold")},
        "answer": said, "f1": text.f1(said, gold, paths), "words": text.recall(said, gold, paths), "tokens": answer["tokens"], "read": answer["read"],
        "seconds": answer["seconds"],
    }


def mean(values):
    """Returns the mean and its standard error."""
    values = [v for v in values if v is not None]
    if not values:
        return None, None
    m = sum(values) / len(values)
    if len(values) < 2:
        return m, None
    return m, math.sqrt(sum((v - m) ** 2 for v in values) / (len(values) - 1) / len(values))


def summary(rows):
    """Returns a line for each set and arm."""
    out = []
    for (name, arm), group in grouped(rows).items():
        good = [r for r in group if "failed" not in r]
        line = {"set": name, "arm": arm, "n": len(good), "failed": collections.Counter(r["failed"] for r in group if "failed" in r)}
        for key in ("tokens", "f1", "words", "success", "steps", "read", "seconds"):
            if any(key in r for r in good):
                line[key], line[key + "_error"] = mean([r.get(key) for r in good])
        out.append(line)
    return out


COLUMNS = (("tokens", "tokens", 1), ("f1", "F1", 100), ("words", "words of the answer", 100), ("success", "success", 100),
           ("steps", "steps", 1), ("read", "tokens evaluated", 1), ("seconds", "seconds", 1))


def markdown(rows):
    """Returns the tables, one for each set."""
    out = []
    lines = summary(rows)
    for name in dict.fromkeys(line["set"] for line in lines):
        mine = [line for line in lines if line["set"] == name]
        columns = [c for c in COLUMNS if any(c[0] in line for line in mine)]
        out += [f"{name}:", "", "| request | n | " + " | ".join(title for _, title, _ in columns) + " |",
                "|---|--:|" + "--:|" * len(columns)]
        for line in mine:
            cells = [cell(line, key, by) for key, _, by in columns]
            notes = "; ".join(f"{n} {why}" for why, n in line["failed"].items())
            out.append(f"| {line['arm']} | {line['n']}{f' ({notes})' if notes else ''} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def cell(line, key, by):
    value, error = line.get(key), line.get(key + "_error")
    if value is None:
        return "–"
    digits = 0 if key in ("tokens", "read") else 1
    shown = f"{value * by:,.{digits}f}"
    return shown if error is None or key in ("tokens", "read", "steps") else f"{shown} ± {error * by:.{digits}f}"


def read_lines(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            rows += [json.loads(line) for line in f if line.strip()]
    return rows
