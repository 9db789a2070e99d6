"""A running Oriel before an upstream that keeps what it is sent."""

import http.server
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

MODEL = "qwen2.5-coder-1.5b-instruct"
INDEX_LIMIT = 600  # seconds that vectors of one conversation may take
POLL = 0.05  # seconds between two looks at the metrics
BUSY = 0.015  # seconds of processor time between two looks above which the process is at work
QUIET, QUIET_END = 3, 10  # so many looks in a row must find it idle: after a call, and after the last one


class Upstream:
    """A server for Chat Completions and Messages that gives the reply it was told to give.

    body is the last request. reply is a message, or a function that makes one for a body. count returns the prompt tokens of messages, so that
    Oriel learns the model's own counts from the usage, as it does in real use.
    """

    def __init__(self, count):
        self.body, self.reply = None, {"role": "assistant", "content": "ok"}
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                upstream.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                reply = upstream.reply(upstream.body) if callable(upstream.reply) else upstream.reply
                tokens = count(upstream.body["messages"], upstream.body.get("tools") or ())
                answer = message_answer if self.path.endswith("/messages") else chat_answer
                out = json.dumps(answer(upstream.body["model"], reply, tokens)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def chat_answer(model, reply, tokens):
    reason = "tool_calls" if reply.get("tool_calls") else "stop"
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{"index": 0, "finish_reason": reason, "message": reply}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3},
    }


def message_answer(model, reply, tokens):
    calls = any(part["type"] == "tool_use" for part in reply["content"])
    return {
        "id": "m", "type": "message", "model": model, **reply, "stop_sequence": None, "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": tokens, "output_tokens": 3},
    }


class Proxy:
    """oriel serve with a history of its own, for the time of a with statement."""

    def __init__(self, oriel, count, profile="full", extra=()):
        self.upstream = Upstream(count)
        self.data = tempfile.mkdtemp(prefix="oriel-answers-")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [oriel, "serve", "--listen", self.url.removeprefix("http://"), "--data", self.data, "--profile", profile,
             "--upstream-openai", f"http://127.0.0.1:{self.upstream.port}/v1",
             "--upstream-anthropic", f"http://127.0.0.1:{self.upstream.port}", *extra],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.log = []
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def __enter__(self):
        try:
            for _ in range(400):
                if self.process.poll() is not None:
                    raise RuntimeError("oriel ended: " + "".join(self.log[-5:]))
                try:
                    self.get("/oriel/healthz")
                    return self
                except OSError:
                    time.sleep(0.05)
            raise RuntimeError("oriel does not answer")
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.upstream.server.shutdown()
        shutil.rmtree(self.data, ignore_errors=True)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as r:
            return r.read().decode()

    def post(self, path, body, headers=None):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {
            "content-type": "application/json", "authorization": "Bearer k", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=3600) as r:
                return json.load(r)
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{path}: {e.code} {e.read().decode()[:500]}") from e

    def call(self, messages, conversation, window, reply=None, tools=()):
        """Sends a call and returns the body that reached the upstream."""
        self.upstream.reply = reply or {"role": "assistant", "content": "I see."}
        body = {"model": MODEL, "messages": messages}
        if tools:
            body["tools"] = list(tools)
        self.post("/v1/chat/completions", body, {"X-Oriel-Budget": str(window), "X-Oriel-Conversation": conversation})
        return self.upstream.body

    def replay(self, messages, conversation, window, tools=()):
        """Sends every call of a conversation: one for each assistant message.

        It waits after each, as there is time between the calls of people and agents: what
        a call recalls does not depend on how fast the machine is.
        """
        for i, m in enumerate(messages):
            if m["role"] == "assistant" and i > 0 and messages[i - 1]["role"] != "system":
                self.call(messages[:i], conversation, window, m, tools)
                self.wait(QUIET)
        self.wait(QUIET_END)

    def wait(self, polls):
        """Waits until every call is written and the vectors are made.

        Vectors are made beside the calls and no count of those that are missing is
        reported, so this waits until nothing is queued and the process uses no
        processor time.
        """
        end, quiet, before = time.time() + INDEX_LIMIT, 0, None
        while quiet < polls:
            if time.time() > end:
                raise RuntimeError(f"oriel is still busy after {INDEX_LIMIT} s")
            queued, cpu = self.metric("oriel_queue_calls"), self.metric("process_cpu_seconds_total")
            idle = queued == 0 and before is not None and cpu - before < BUSY
            quiet, before = (quiet + 1 if idle else 0), cpu
            time.sleep(POLL)

    def metric(self, name):
        for line in self.get("/oriel/metrics").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise RuntimeError(f"{name} is not among the metrics")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
