"""Coding sessions with questions about earlier work whose answers are known by rule.

A session is a file of Claude Code: JSON lines, one event each. Its history becomes
Chat Completions: calls are tool_calls, results are messages of the role tool, thinking
and pictures are left out. Where the agent compacted its history, the longest stretch
between two compactions is used.

Every rule reads the calls in their order and makes questions that have one answer.
Rules are asked about the first 70% of a stretch: earlier work, not the newest.
"""

import collections
import json
import os
import re

import text
from conversation import Conversation, Question

EARLY = 0.7
SHORT, LONG = 12, 30  # words of an answer that is a value, and of a sentence
COMMAND = 160  # characters of a command that a question quotes
SYSTEM = ("You are a coding agent. When the user asks about earlier work in this session, "
          "answer in a few words from what was said and done.")
TESTS = re.compile(r"\b(go test|pytest|cargo test|npm (run )?test|make test|mise run test\S*|python3? -m unittest)\b")
MADE = ("<", "[Request", "Caveat:", "This session is being continued")  # how messages begin that the agent writes
EDITS = ("Edit", "Write", "MultiEdit")


class Call:
    """A call of a tool with its result; at is the index of its message."""

    def __init__(self, at, id, name, arguments):
        self.at, self.id, self.name, self.arguments = at, id, name, arguments
        self.result, self.failed = None, False

    def file(self):
        return self.arguments.get("file_path") or ""

    def command(self):
        return (self.arguments.get("command") or "").strip() if self.name == "Bash" else ""


class History:
    """The messages of a stretch, its calls, and the folder of the session."""

    def __init__(self):
        self.messages, self.calls, self.folder = [], [], ""

    def short(self, path):
        """Returns a path relative to the session's folder."""
        return path.removeprefix(self.folder + "/") if self.folder else path

    def early(self):
        """Returns the calls in the part that is asked about."""
        last = EARLY * len(self.messages)
        return [c for c in self.calls if c.at < last]


def load(path):
    """Returns the longest history between two compactions."""
    stretches, lines = [[]], []
    with open(path, encoding="utf-8") as f:
        for raw in f:
            try:
                lines.append(json.loads(raw))
            except ValueError:
                continue  # the last line may be incomplete
    for line in lines:
        if line.get("isSidechain") or line.get("isApiErrorMessage"):
            continue
        if line.get("type") == "system" and line.get("subtype") == "compact_boundary":
            stretches.append([])
        elif line.get("type") in ("user", "assistant") and line.get("message"):
            stretches[-1].append(line)
    return build(max(stretches, key=len))


def build(lines):
    """Returns the history of the lines of a stretch. A prompt that follows an older line
    than the newest goes back to that line: what came after it is not part of the history."""
    h, after, last = History(), {}, None
    for line in lines:
        blocks = line["message"].get("content")
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        blocks = blocks or []
        parent = line.get("parentUuid")
        prompt = line["type"] == "user" and not any(b.get("type") == "tool_result" for b in blocks)
        if prompt and parent in after and parent != last and after[parent] < len(h.messages):
            del h.messages[after[parent]:]
            h.calls = [c for c in h.calls if c.at < len(h.messages)]
        h.folder = h.folder or line.get("cwd") or ""
        (add_user if line["type"] == "user" else add_assistant)(h, line, blocks)
        last = line.get("uuid")
        after[last] = len(h.messages)
    finish(h)
    return h


def add_user(h, line, blocks):
    said = []
    for b in blocks:
        if b.get("type") == "tool_result":
            add_result(h, b)
        elif b.get("type") == "text" and b["text"].strip():
            said.append(b["text"])
    if said:
        h.messages.append({"role": "user", "content": "\n".join(said), "meta": bool(line.get("isMeta"))})


def add_result(h, block):
    call = next((c for c in reversed(h.calls) if c.id == block.get("tool_use_id")), None)
    if call is None or call.result is not None:
        return
    c = block.get("content") or ""
    if not isinstance(c, str):
        c = "\n".join(p.get("text", f"[{p.get('type')}]") for p in c)
    call.result, call.failed = c, bool(block.get("is_error"))
    # The pieces of a reply may come after the result of its first call.
    at = call.at + 1
    while at < len(h.messages) and h.messages[at]["role"] == "tool":
        at += 1
    h.messages.insert(at, {"role": "tool", "tool_call_id": call.id, "content": c})


def add_assistant(h, line, blocks):
    id = line["message"].get("id")
    at = next((i for i in range(len(h.messages) - 1, -1, -1) if h.messages[i]["role"] == "assistant"), None)
    joined = at is not None and id and h.messages[at].get("id") == id
    message = h.messages[at] if joined else {"role": "assistant", "content": "", "id": id}
    new = []
    for b in blocks:
        if b.get("type") == "text" and b["text"].strip():
            message["content"] += ("\n" if message["content"] else "") + b["text"].strip()
        elif b.get("type") == "tool_use":
            message.setdefault("tool_calls", []).append({
                "id": b["id"], "type": "function",
                "function": {"name": b["name"], "arguments": json.dumps(b["input"], ensure_ascii=False)}})
            new.append(Call(at if joined else len(h.messages), b["id"], b["name"], b["input"]))
    if not joined and (message["content"] or message.get("tool_calls")):
        h.messages.append(message)
    h.calls += new


def finish(h):
    """Leaves out calls without a result and what belongs to the file only, and finds the place of each call anew."""
    answered = {c.id for c in h.calls if c.result is not None}
    kept = []
    for m in h.messages:
        if "tool_calls" in m:
            m["tool_calls"] = [c for c in m["tool_calls"] if c["id"] in answered]
            if not m["tool_calls"]:
                del m["tool_calls"]
            if not m.get("tool_calls") and not m["content"]:
                continue
        m.pop("id", None)
        kept.append(m)
    while kept and kept[-1]["role"] != "assistant" or kept and kept[-1].get("tool_calls"):
        kept.pop()
    h.messages = kept
    place = {c["id"]: i for i, m in enumerate(kept) for c in m.get("tool_calls", ())}
    h.calls = [c for c in h.calls if c.id in place]
    for c in h.calls:
        c.at = place[c.id]


def words(s):
    return len(s.split())


def spoken(m):
    """Reports whether a message is what a person typed."""
    return m["role"] == "user" and not m.get("meta") and not m["content"].lstrip().startswith(MADE)


def by_call(c, shown):
    """Returns the evidence that a call and its result are."""
    said = text.call_text(c.name, c.arguments)
    result = c.result if len(c.result) <= 600 else c.result[:300] + "\n...\n" + c.result[-300:]
    return ["assistant", said[:1200] + "\n" + result, shown]


def early_once(h, key):
    """Returns the early calls whose key no other call of the history has."""
    times = collections.Counter(map(key, h.calls))
    return [c for c in h.early() if key(c) and times[key(c)] == 1]


def quotable(c):
    return c.command() and len(c.command()) <= COMMAND and "\n" not in c.command()


# Each rule yields questions of its kind for a history, oldest first.

def first_request(h):
    first = next((m for m in h.messages if m["role"] == "user" and not m.get("meta")), None)
    if first and spoken(first):
        said = " ".join(first["content"].split()[:LONG])
        yield Question("What did I ask you to do first in this session?", said, "first-request", [["user", first["content"][:1200], said]])


def edit_after_read(h):
    files = [c for c in h.calls if c.name == "Read" or c.name in EDITS]
    reads = collections.Counter(c.file() for c in files if c.name == "Read")
    for read, edit in zip(files, files[1:]):
        if read not in h.early() or read.name != "Read" or edit.name == "Read" or edit.file() == read.file():
            continue
        if reads[read.file()] == 1:
            x, y = h.short(read.file()), h.short(edit.file())
            yield Question(f"Which file did you edit or write right after you read {x}?", y, "edit-after-read",
                           [by_call(read, x), by_call(edit, y)])


def ran_after_edit(h):
    seen = set()
    for edit, then in zip(h.early(), h.calls[1:]):
        if edit.name not in EDITS or edit.file() in seen:
            continue
        seen.add(edit.file())
        if quotable(then):
            yield Question(f"Which command did you run right after you edited {h.short(edit.file())} for the first time?", then.command(),
                           "ran-after-edit", [by_call(edit, h.short(edit.file())), by_call(then, then.command())])


def first_test(h):
    c = next((c for c in h.calls if TESTS.search(c.command())), None)
    if c and c in h.early() and len(c.command()) <= COMMAND:
        yield Question("What was the first command that you used to run tests?", c.command(), "first-test", [by_call(c, c.command())])


def error(h):
    for c in early_once(h, Call.command):
        if not c.failed or not quotable(c):
            continue
        lines = [s.strip() for s in c.result.splitlines() if s.strip() and not re.match(r"Exit code|\$", s.strip())]
        if lines and 2 <= words(lines[0]) <= SHORT * 2 and "doesn't want" not in lines[0]:
            yield Question(f"The command `{c.command()}` failed. What was the first line that it printed?", lines[0], "error", [by_call(c, lines[0])])


def printed(h):
    for c in early_once(h, Call.command):
        line = c.result.strip()
        if c.failed or not quotable(c) or "\n" in line or line.startswith("Shell cwd was reset"):
            continue
        if 1 <= words(line) <= SHORT:
            yield Question(f"What did the command `{c.command()}` print?", line, "printed", [by_call(c, line)])


def searched(h):
    for c in early_once(h, lambda c: c.name == "Grep" and c.arguments.get("path")):
        pattern = c.arguments.get("pattern") or ""
        if 1 <= words(pattern) <= SHORT:
            yield Question(f"Which pattern did you search for in {h.short(c.arguments['path'])}?", pattern, "searched", [by_call(c, pattern)])


def replaced(h):
    for c in h.early():
        old, new = (str(c.arguments.get(k) or "").strip() for k in ("old_string", "new_string"))
        if c.failed or c.name != "Edit" or "\n" in old + new or old == new:
            continue
        if 1 <= words(old) <= SHORT and 1 <= words(new) <= SHORT and sum(old in str(x.arguments.get("old_string")) for x in h.calls) == 1:
            yield Question(f"With what did you replace `{old}` in {h.short(c.file())}?", new, "replaced", [by_call(c, new)])


def created(h):
    c = next((c for c in h.calls if c.name == "Write" and not c.failed), None)
    if c and c in h.early():
        yield Question("Which file did you create or write as a whole first?", h.short(c.file()), "created", [by_call(c, h.short(c.file()))])


def answered(h):
    times = collections.Counter(map(last_line, h.messages))
    for m, then in zip(h.messages[:int(EARLY * len(h.messages))], h.messages[1:]):
        line = last_line(m)
        if not line.endswith("?") or times[line] > 1 or not 4 <= words(line) <= LONG:
            continue
        if spoken(then) and 2 <= words(then["content"]) <= LONG:
            yield Question(f"You asked me: \"{line}\" What did I say to that?", " ".join(then["content"].split()), "answered",
                           [["assistant", line, line], ["user", then["content"], then["content"]]])


def last_line(m):
    lines = m["content"].split("\n") if m["role"] == "assistant" else [""]
    return lines[-1].strip()


def committed(h):
    for c in h.calls:
        m = re.search(r"git commit\b.*?-m \"(?:\$\(cat <<'?EOF'?\n)?([^\"\n]+)", c.command(), re.S)
        if m and not c.failed:
            if c in h.early() and words(m[1]) <= SHORT * 2:
                yield Question("What was the subject of the first commit that you made?", m[1].strip(), "committed", [by_call(c, m[1].strip())])
            return


RULES = (first_request, edit_after_read, ran_after_edit, first_test, error, printed, searched, replaced, created, answered, committed)


def questions(history, each):
    """Returns at most so many questions of each kind, spread over the session."""
    out = []
    for rule in RULES:
        found = list(rule(history))
        if len(found) > each:
            found = [found[i * len(found) // each] for i in range(each)]
        out += found
    return out


def sessions(path, which=None, each=4, limit=None):
    """Yields the sessions of a file or folder, in the order of their names."""
    files = [path]
    if os.path.isdir(path):
        files = sorted(os.path.join(path, n) for n in os.listdir(path) if n.endswith(".jsonl"))
    for k, file in enumerate(files):
        if which is not None and k not in which:
            continue
        history = load(file)
        asked = questions(history, each)[:limit]
        plain = [{k: v for k, v in m.items() if k != "meta"} for m in history.messages]
        name = os.path.basename(file).removesuffix(".jsonl")
        yield Conversation("sessions", name, [{"role": "system", "content": SYSTEM}, *plain], asked)
