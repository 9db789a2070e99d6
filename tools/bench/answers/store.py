"""Answers of a model, kept in a file of JSON lines by a hash of the request."""

import hashlib
import json
import os
import threading


def key(request):
    """Returns the hash of a request: its messages, its limit and the model's engine."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:24]


class Store:
    """The file; a line that was cut off when a run was stopped is ignored."""

    def __init__(self, path):
        self.path, self.kept, self.lock = path, {}, threading.Lock()
        if not os.path.exists(path):
            return
        line = "\n"
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                self.kept[row["key"]] = row
        if not line.endswith("\n"):
            self.append("\n")

    def get(self, request):
        return self.kept.get(key(request))

    def put(self, request, **row):
        row["key"] = key(request)
        with self.lock:
            self.kept[row["key"]] = row
            self.append(json.dumps(row, ensure_ascii=False) + "\n")
        return row

    def append(self, line):
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(line)
