"""Judges what a context manager leaves of a conversation in Chat's form."""


def text(m):
    c = m.get("content")
    return c if isinstance(c, str) else "".join(p.get("text", "") for p in c or ())


def problems(before, after):
    """What is wrong with a result: a list, empty where nothing is."""
    if not after:
        return ["empty"]
    bad = []
    rest = [m for m in after if m["role"] != "system"]
    if not rest:
        return ["no messages beside the system prompt"]
    if rest[0]["role"] != "user":
        bad.append(f"begins with a message of role {rest[0]['role']}")
    if text(before[-1]) not in text(after[-1]):
        bad.append("the newest prompt is not the last message")
    if not all(text(m).strip() or m.get("tool_calls") for m in after):
        bad.append("a message says nothing")
    if sum(len(text(m)) for m in after) > sum(len(text(m)) for m in before):
        bad.append("larger than what came")
    waiting = []
    for m in after:
        if m["role"] == "tool":
            if m["tool_call_id"] not in waiting:
                bad.append(f"result {m['tool_call_id']} answers no call right before it")
            else:
                waiting.remove(m["tool_call_id"])
            continue
        if waiting:
            bad.append(f"calls without results: {waiting}")
        waiting = [c["id"] for c in m.get("tool_calls") or ()]
    if waiting:
        bad.append(f"calls without results: {waiting}")
    return bad
