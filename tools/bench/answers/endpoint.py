"""An OpenAI-compatible address before a model, for libraries that write summaries.

Answers come from the store if the same request was made before, so a run that is
repeated makes no summary twice.
"""

import http.server
import json
import threading

import text
from model import WINDOW


class TooLong(Exception):
    """The request does not fit the model's window."""


def failure(message, code):
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


class Endpoint:
    """Serves Chat Completions of at most limit tokens; count returns the tokens of a request."""

    def __init__(self, model, store, limit, count):
        self.made, self.seconds = 0, 0.0
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, reply = 200, None
                try:
                    row = endpoint.answer(text.flatten(body["messages"]))
                    reply = {
                        "id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
                        "choices": [{"index": 0, "finish_reason": "stop",
                                     "message": {"role": "assistant", "content": row["text"]}}],
                        "usage": {"prompt_tokens": row["tokens"], "completion_tokens": row["written"],
                                  "total_tokens": row["tokens"] + row["written"]},
                    }
                except TooLong as e:
                    status, reply = 400, failure(str(e), "context_length_exceeded")
                except Exception as e:  # the library that asked reports it
                    status, reply = 400, failure(f"{type(e).__name__}: {e}", None)
                out = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

        self.model, self.store, self.limit, self.count = model, store, limit, count
        self.lock = threading.Lock()  # the model answers one request at a time
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, flat):
        request = {"messages": flat, "limit": self.limit, "engine": self.model.name}
        with self.lock:
            row = self.store.get(request)
            if row is None:
                if self.count(flat) + self.limit > WINDOW:
                    raise TooLong(f"This model's maximum context length is {WINDOW} tokens.")
                row = self.store.put(request, kind="summary", **self.model.chat(flat, self.limit))
                self.made += 1
                self.seconds += row["seconds"]
            return row

    def close(self):
        self.server.shutdown()
