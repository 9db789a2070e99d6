"""Runs the tasks with a model: the loop of tasks.py in every arm."""

import sys

import tasks
import text
from conversation import newest
from model import WINDOW

TASK_TOKENS = 80  # of one answer
ARMS = ("nothing", "everything", "newest", "oriel", "evidence")
WINDOWED = ("newest", "oriel")


class Runner:
    """proxy runs Oriel; the store keeps the model's answers."""

    def __init__(self, proxy, model, tokenizer, store):
        self.proxy, self.model, self.tokenizer, self.store = proxy, model, tokenizer, store

    def run(self, projects, arms, windows, limit):
        """Yields a row for each task and arm; limit is the tasks of a project."""
        for project in projects:
            for arm in arms:
                for window in windows if arm in WINDOWED else (None,):
                    send = self.sender(arm, project, window)
                    for task in project.tasks[:limit]:
                        yield self.one(task, project, arm, window, send)
                    print("tasks", project.name, arm, window or "", file=sys.stderr)

    def one(self, task, project, arm, window, send):
        self.asked = []
        row = {"set": "tasks", "conversation": project.name, "arm": f"{arm}-{window}" if window else arm, "kind": task.kind,
               "question": task.text, "gold": task.value}
        messages = project.messages
        if arm in ("nothing", "evidence"):
            messages = messages[:1]
        if arm == "evidence":
            task = tasks.Task(**{**vars(task), "text": f"{task.told}\n\n{task.text}"})
        try:
            row["success"], row["steps"], row["answer"] = tasks.loop(task, messages, send)
        except Oversize:
            return {**row, "failed": "does not fit"}
        return {**row, "tokens": max(a["tokens"] for a in self.asked), "seconds": sum(a["seconds"] for a in self.asked)}

    def sender(self, arm, project, window):
        """Returns the function that sends an arm's messages to the model."""
        if arm == "newest":
            room = window - self.tokenizer.request([], tasks.TOOLS)
            return lambda messages: self.ask(cut(messages, room, self.tokenizer.request))
        if arm != "oriel":
            return self.ask
        name = f"tasks-{project.name}-{window}"
        self.proxy.replay(project.messages, name, window, tasks.TOOLS)

        def send(messages):
            answer = []

            def reply(body):
                answer.append(self.ask(body["messages"]))
                return tasks.reply(answer[0], len(messages))

            self.proxy.call(messages, name, window, reply, tasks.TOOLS)
            return answer[0]

        return send

    def ask(self, messages):
        flat = text.flatten(messages, tasks.TOOLS)
        if self.tokenizer.messages(flat) + TASK_TOKENS > WINDOW:
            raise Oversize
        request = {"messages": flat, "limit": TASK_TOKENS, "engine": self.model.name}
        row = self.store.get(request) or self.store.put(request, kind="task", **self.model.chat(flat, TASK_TOKENS))
        self.asked.append(row)
        return row["text"]


class Oversize(Exception):
    """The request does not fit the model's window."""


def cut(messages, room, count):
    """Returns the newest messages; those since the task was asked are always among them."""
    asked = max(i for i, m in enumerate(messages) if m["role"] == "user")
    kept = newest(messages[:asked], messages[asked], room - count(messages[asked + 1:]), count)
    return kept + messages[asked + 1:]
