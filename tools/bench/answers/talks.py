"""Talks with questions: LoCoMo, with one speaker as the user and the other as the assistant, and BEAM's chats."""

import json
import os
import random
import re

from conversation import Conversation, Question

SEED = 5  # of the choice of questions
ADVERSARIAL = 5  # LoCoMo's category of questions without an answer
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
# BEAM's kinds whose answer is a few words of the chat; the others are judged by rubrics.
BEAM_KINDS = ("information_extraction", "knowledge_update", "multi_session_reasoning", "temporal_reasoning", "event_ordering")


def locomo(path, which=None, questions=80, first=None):
    """Yields the talks of a LoCoMo file; first keeps only so many messages of each."""
    choice = random.Random(SEED)
    with open(path, encoding="utf-8") as f:
        talks = json.load(f)
    for k, talk in enumerate(talks):
        if which is not None and k not in which:
            continue
        messages, said = locomo_messages(talk["conversation"], first)
        asked = [q for q in talk["qa"] if q.get("category") != ADVERSARIAL and "answer" in q and known(q, said)]
        choice.shuffle(asked)
        yield Conversation("locomo", str(k), messages, [
            Question(q["question"], str(q["answer"]), CATEGORIES.get(q["category"], str(q["category"])),
                     [said[e] for e in q["evidence"]])
            for q in asked[:questions]])


def known(question, said):
    return question.get("evidence") and all(e in said for e in question["evidence"])


def locomo_messages(talk, first=None):
    """Returns a talk as messages, and the evidence that each turn is, by its id."""
    user, other = talk["speaker_a"], talk["speaker_b"]
    messages, said = [{"role": "system", "content": (
        f"This is a talk between {user} and {other}. "
        "When a question about it is asked, answer in a few words from what was said.")}], {}
    sessions = sorted((s for s in talk if re.fullmatch(r"session_\d+", s)), key=lambda s: int(s[8:]))
    for session in sessions:
        date = f"[{talk[session + '_date_time']}] "
        for j, turn in enumerate(talk[session]):
            role = "user" if turn["speaker"] == user else "assistant"
            if messages[-1]["role"] != role and first and len(messages) > first:
                return closed(messages), said
            line = turn["speaker"] + ": " + (turn["text"] or ".")
            said[turn["dia_id"]] = [role, date + line, turn["text"] or "."]
            line = (date if j == 0 else "") + line
            if messages[-1]["role"] == role:
                messages[-1]["content"] += "\n" + line
            else:
                messages.append({"role": role, "content": line})
    return closed(messages), said


def closed(messages):
    """Returns messages that begin with the user and end with the assistant."""
    if messages[1]["role"] != "user":
        messages.insert(1, {"role": "user", "content": "(beginning)"})
    if messages[-1]["role"] == "user":
        messages.append({"role": "assistant", "content": "ok"})
    return messages


def beam(folder, which=None, questions=10, first=None):
    """Yields the chats of a BEAM folder, one folder a chat."""
    names = sorted((n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n))), key=lambda n: (len(n), n))
    for k, name in enumerate(names):
        if which is not None and k not in which:
            continue
        with open(os.path.join(folder, name, "chat.json"), encoding="utf-8") as f:
            messages, said = beam_messages(json.load(f), first)
        with open(os.path.join(folder, name, "probing_questions.json"), encoding="utf-8") as f:
            asked = json.load(f)
        chosen = [
            Question(q["question"], str(q["answer"]), kind, [said[i] for i in sorted(ids(q.get("source_chat_ids"))) if i in said])
            for kind in BEAM_KINDS for q in asked.get(kind, ()) if q.get("answer") and covered(q, said)]
        yield Conversation("beam", name, messages, chosen[:questions])


def covered(question, said):
    return all(i in said for i in ids(question.get("source_chat_ids")))


def ids(source):
    """Returns the ids of a list or of an object of lists."""
    if isinstance(source, dict):
        return {i for v in source.values() for i in ids(v)}
    if isinstance(source, list):
        return {i for v in source for i in ids(v)}
    return {source} if isinstance(source, int) else set()


def beam_messages(batches, first=None):
    messages, said = [{"role": "system", "content": (
        "You are a helpful assistant. When a question about this conversation is asked, "
        "answer in a few words from what was said.")}], {}
    for batch in batches:
        for turn in batch["turns"]:
            for m in turn:
                content = re.sub(r"\s*->->.*$", "", m["content"], flags=re.S) if m["role"] == "user" else m["content"]
                if messages[-1]["role"] == m["role"]:
                    messages[-1]["content"] += "\n" + content
                elif first and len(messages) > first:
                    return closed(messages), said
                else:
                    messages.append({"role": m["role"], "content": content})
                said[m["id"]] = [m["role"], content, content]
    return closed(messages), said
