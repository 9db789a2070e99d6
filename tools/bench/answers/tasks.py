"""Facts told in passing, a stretch of other work, then tasks that need the facts.

Six projects have four facts each, 24 scenarios in all. A fact stands in a message that
asks for something else, among the first of the conversation. About 20,000 tokens of
reading files follow, with some tasks whose values are given, so that the model sees what
a task looks like and has other values before it. Then a task asks for a call of a tool with
an argument that only the fact has. Everything is made from a seed, so that values
cannot be guessed and are the same in every run.

The model works in a loop: a call of a tool for looking around gets a scripted result
and the loop goes on; a call of any other tool, or an answer without one, ends it.
"""

import json
import random
import re
from dataclasses import dataclass

SEED = 11
FILLER_TURNS = 35
ACTION_EVERY = 4  # turns
STEPS = 3  # calls of the model for one task
SYSTEM = ("You are an assistant for software work. You use the tools that you have. "
          "When a task asks for an action, answer with one tool call and its arguments.")
LOOKING = ("read_file", "search", "run_command")


def tool(name, description, *parameters):
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {
        "type": "object", "properties": {p: {"type": "string"} for p in parameters}, "required": list(parameters)}}}


TOOLS = [
    tool("read_file", "Read a file.", "path"),
    tool("search", "Search the files for a text.", "text"),
    tool("run_command", "Run a shell command.", "command"),
    tool("deploy", "Deploy a service. Needs the code word of the release.", "service", "code_word"),
    tool("set_port", "Set the port of a service.", "service", "port"),
    tool("create_branch", "Create a git branch.", "name"),
    tool("assign_review", "Ask a person to review a change.", "change", "person"),
    tool("book_meeting", "Book a meeting.", "person", "time"),
    tool("set_config", "Set a key of the configuration.", "key", "value"),
    tool("open_ticket", "Open a ticket in a queue.", "queue", "title"),
    tool("pin_version", "Pin the version of a package.", "package", "version"),
]


@dataclass
class Task:
    project: str
    kind: str
    told: str  # the sentence in passing
    text: str  # what is asked at the end
    name: str  # the tool that must be called
    argument: str
    value: str


@dataclass
class Project:
    name: str
    messages: list
    tasks: list


# kind: what is told, what is asked, the tool, the argument, and how the value is made.
FACTS = {
    "code word": ("By the way, the code word for this week's release of {service} is {value}.",
                  "Deploy {service} now, with the code word of this week's release.", "deploy", "code_word",
                  lambda r: f"{r.choice(BIRDS)}-{r.randint(100, 999)}"),
    "port": ("Oh, and ops moved {service} to port {value} last night, the old one is taken.",
             "Set the port of {service} to the one that ops moved it to.", "set_port", "port",
             lambda r: str(r.randint(20000, 49999))),
    "branch rule": ("Side note, in this team branches for fixes start with {value}/ and then the ticket.",
                    "Create a branch for a fix of ticket {ticket}, named by the rule of this team.", "create_branch", "name",
                    lambda r: r.choice(BIRDS) + r.choice(("fix", "patch", "repair"))),
    "reviewer": ("{value} looks after everything in billing now, since Marta left.",
                 "Ask the person who looks after billing now to review change {ticket}.", "assign_review", "person",
                 lambda r: r.choice(("Tomasz", "Ingrid", "Yusuf", "Kavita", "Lorenzo", "Beatriz"))),
    "meeting": ("{person} said that the only time that works for a call is {value}, because of the school run.",
                "Book a meeting with {person} at the time that works.", "book_meeting", "time",
                lambda r: f"{r.randint(10, 16)}:{r.choice(('05', '20', '35', '50'))}"),
    "limit": ("We agreed with the customer on {value} requests a minute as the limit for {service}, just so you know.",
              "Set the key {service}.rate_limit to the limit that we agreed on with the customer.", "set_config", "value",
              lambda r: str(r.randint(301, 989))),
    "queue": ("Tickets about certificates go to the queue {value}, not to the platform one, somebody told me.",
              "Open a ticket titled 'renew certificate' in the queue for tickets about certificates.", "open_ticket", "queue",
              lambda r: f"{r.choice(BIRDS)}-desk"),
    "version": ("Careful with the package {package}: only version {value} works on the old servers.",
                "Pin {package} to the version that works on the old servers.", "pin_version", "version",
                lambda r: f"{r.randint(2, 9)}.{r.randint(11, 38)}.{r.randint(1, 9)}"),
}
WISHES = (
    "Please read {path} and tell me what {function} does.", "Have a look at {path}, I want to know where the {noun} is handled.",
    "What is in {path}? I am after the part that can {verb} the {noun}.",
)
REPLIES = (
    "{function} goes through the {noun} once and stops at {n}.", "The {noun} is handled in the second function of {path}.",
    "It returns an error above {n}; the rest of the file is about limits.", "Nothing there can {verb} a {noun} by itself, callers do that.",
    "Five functions of the same shape. Only {function} matters for you.", "The loop adds up sizes, and {n} is where it gives up.",
)
BIRDS = ("heron", "osprey", "lapwing", "siskin", "dunlin", "bittern", "plover", "merlin", "wigeon", "curlew")
SERVICES = ("ledger", "checkout", "gateway", "mailer", "indexer", "scheduler")
PEOPLE = ("Hanna", "Oskar", "Priya", "Mateo", "Aiko", "Femi")
PACKAGES = ("yamlite", "pgdrive", "httpcore", "tinyxml", "fastlog", "cachekit")
VERBS = ("load", "parse", "write", "merge", "check", "split", "count", "flush", "retry", "encode")
NOUNS = ("orders", "batch", "header", "cursor", "window", "record", "token", "lease", "bucket", "report")


def projects():
    """Returns the six projects with their tasks."""
    kinds, out = list(FACTS), []
    for k, service in enumerate(SERVICES):
        r = random.Random(SEED * 100 + k)
        chosen = [kinds[(k * 4 + j) % len(kinds)] for j in range(4)]
        names = {"service": service, "person": PEOPLE[k], "package": PACKAGES[k], "ticket": f"T-{r.randint(1000, 9999)}"}
        out.append(project(service, [make_task(service, kind, names, r) for kind in chosen], r))
    return out


def make_task(project, kind, names, r):
    told, asked, name, argument, value = FACTS[kind]
    names = {**names, "value": value(r)}
    return Task(project, kind, told.format(**names), asked.format(**names), name, argument, names["value"])


def project(name, tasks, r):
    messages = [{"role": "system", "content": SYSTEM}]
    for i in range(FILLER_TURNS):
        id = f"call_{name}_{i}"
        if i > len(tasks) and i % ACTION_EVERY == 0:
            messages += action(id, r)
            continue
        path, verb, noun = f"internal/{r.choice(NOUNS)}/{r.choice(VERBS)}_{i}.go", r.choice(VERBS), r.choice(NOUNS)
        wish = r.choice(WISHES).format(path=path, verb=verb, noun=noun, function=verb + noun.title())
        if 1 <= i <= len(tasks):
            wish += " " + tasks[i - 1].told + " Anyway, the file first."
        said = r.choice(REPLIES).format(path=path, verb=verb, noun=noun, function=verb + noun.title(), n=r.randint(10, 99))
        messages += turn(id, wish, "read_file", {"path": path}, source(path, verb, noun, r), said)
    return Project(name, messages, tasks)


def turn(id, wish, name, arguments, result, said):
    """Returns the messages of a user's turn with one call."""
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "user", "content": wish}, {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": result}, {"role": "assistant", "content": said},
    ]


def action(id, r):
    """Returns a turn whose task has its value in it."""
    thing, value = r.choice(NOUNS) + "-worker", str(r.randint(5000, 9999))
    wish, name, arguments = r.choice((
        (f"Set the port of {thing} to {value}.", "set_port", {"service": thing, "port": value}),
        (f"Set the key {thing}.timeout to {value}.", "set_config", {"key": f"{thing}.timeout", "value": value}),
        (f"Create the branch spike/{thing}-{value}.", "create_branch", {"name": f"spike/{thing}-{value}"}),
        (f"Deploy {thing} with the code word test-{value}.", "deploy", {"service": thing, "code_word": f"test-{value}"}),
        (f"Open a ticket titled '{thing} is slow' in the queue platform.", "open_ticket", {"queue": "platform", "title": f"{thing} is slow"}),
    ))
    return turn(id, wish, name, arguments, "ok", r.choice(("Done.", "That is done.", "It went through.")))


def source(path, verb, noun, r):
    """Returns a made-up source file of about 500 tokens."""
    lines = [f"// {path}", f"package {path.split('/')[1]}", ""]
    for _ in range(5):
        f, g, n, m = r.choice(VERBS), r.choice(NOUNS), r.choice(NOUNS), r.randint(2, 900)
        lines += [
            f"// {f}{g.title()} will {f} each {n} of the {g} and stop at {m}.",
            f"func {f}{g.title()}(in []{n.title()}, max int) (int, error) {{",
            f"\ttotal := {m}", f"\tfor i, {n[0]} := range in {{",
            f"\t\tif {n[0]}.Size() > max*{r.randint(2, 64)} {{",
            f"\t\t\treturn total, fmt.Errorf(\"{f} {g} %d: {n} is above {m}\", i)", "\t\t}",
            f"\t\ttotal += {n[0]}.{r.choice(VERBS).title()}(i, {r.randint(1, 40)})", "\t}", "\treturn total, nil", "}", ""]
    return "\n".join(lines + [f"// {verb}{noun.title()} is called by the {r.choice(NOUNS)} worker."])


def parse(answer):
    """Returns the calls in an answer as pairs of name and arguments; the name is "" for bare arguments.

    A call is a JSON object, alone or in a text, or a function call in a text form.
    """
    found, decoder, at = [], json.JSONDecoder(), 0
    while (at := answer.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(answer, at)
        except ValueError:
            at += 1
            continue
        at = end
        if isinstance(value, dict):
            found.append(as_call(value))
    for name, inside in re.findall(r"\b([a-z_]+)\(([^()]*)\)", answer):
        if any(t["function"]["name"] == name for t in TOOLS):
            found.append((name, as_arguments(name, inside)))
    return found


def as_call(value):
    """Returns the call that an object is; one without a name and arguments of its own is bare arguments."""
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((value[k] for k in ("name", "tool", "function") if isinstance(value.get(k), str)), "")
    for key in ("arguments", "parameters", "args", "input"):
        arguments = value.get(key)
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                continue
        if isinstance(arguments, dict):
            return name, arguments
    return "", value


def as_arguments(name, inside):
    """Returns the arguments of a call like deploy(service="x", code_word="y"), by name or by place."""
    named = re.findall(r"(\w+)\s*[=:]\s*[\"']?([^\"',]+)", inside)
    if named:
        return {k: v.strip() for k, v in named}
    parameters = next(t for t in TOOLS if t["function"]["name"] == name)["function"]["parameters"]["required"]
    return dict(zip(parameters, (v.strip(" \"'") for v in inside.split(","))))


def done(task, calls):
    """Reports whether one of the calls does the task: the right tool, and the value in its argument."""
    for name, arguments in calls:
        if name in (task.name, "") and matches(task, arguments.get(task.argument)):
            return True
    return False


def matches(task, value):
    plain = re.sub(r"\s+", "", str(value)).lower().strip("\"'`.")
    want = task.value.lower()
    if task.kind == "branch rule":  # the rule is the beginning of a name
        return plain.startswith(want + "/")
    if task.kind in ("port", "limit"):
        return re.sub(r"\D", "", plain) == want
    if task.kind == "version":
        return plain.lstrip("v=") == want
    return plain == want


def reply(answer, place):
    """Returns an answer as a message: a call for looking around, or the text as it is. The place makes the call's id."""
    for name, arguments in parse(answer):
        if name in LOOKING:
            function = {"name": name, "arguments": json.dumps(arguments)}
            return {"role": "assistant", "content": "", "tool_calls": [{"id": f"look_{place}", "type": "function", "function": function}]}
    return {"role": "assistant", "content": answer}


def loop(task, messages, send):
    """Runs a task. send returns the model's answer to messages. Returns success, the steps and the last answer."""
    messages = [*messages, {"role": "user", "content": task.text}]
    for step in range(1, STEPS + 1):
        answer = send(messages)
        if done(task, parse(answer)):
            return True, step, answer
        said = reply(answer, len(messages))
        if "tool_calls" not in said or step == STEPS:
            return False, step, answer
        messages += [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "Nothing was found."}]
