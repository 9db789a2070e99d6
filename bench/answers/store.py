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
        torn = False
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                for line in f:
                    torn = not line.endswith("\n")
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue
                    self.kept[row["key"]] = row
        self.file = open(path, "a", encoding="utf-8")
        if torn:
            self.file.write("\n")

    def get(self, request):
        return self.kept.get(key(request))

    def put(self, request, **row):
        row["key"] = key(request)
        with self.lock:
            self.kept[row["key"]] = row
            self.file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self.file.flush()
        return row
