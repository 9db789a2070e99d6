"""The conversations of show_requests.py, written for it: four kinds of use.

A turn is what reaches the model, its scripted reply, and the name of the request if it is
printed. Windows are small, so that a whole request can be read.
"""

import json
from dataclasses import dataclass, field


@dataclass
class Turn:
    asked: dict
    reply: dict
    name: str = ""


@dataclass
class Conversation:
    name: str
    budget: int
    turns: list
    begin: list = field(default_factory=list)  # messages before the first turn
    fields: dict = field(default_factory=dict)  # of the body, beside model and messages
    follows: dict = field(default_factory=dict)  # requests that are printed as what differs from an earlier one
    diffs: tuple = ()  # requests of which only what differs between the versions is printed
    model: str = "gpt-4o"
    path: str = "/v1/chat/completions"
    profile: str = "full"


def said(texts, names):
    """Returns turns of a user and an assistant from texts in turn; names has the index of a turn for each name."""
    at = {turn: name for name, turn in names.items()}
    return [Turn({"role": "user", "content": texts[i]}, {"role": "assistant", "content": texts[i + 1]}, at.get(i // 2, ""))
            for i in range(0, len(texts), 2)]


# 1. Two friends write to each other. Who speaks and when stands in the texts.

FRIENDS = Conversation("friends", 600, said([
    "[2 March 2026] Mara: I signed for the workshop on Fennel Lane! Forty square metres, a skylight, and a stove that smokes. I get the keys on the 16th.",
    "[2 March 2026] Jonas: Congratulations! Have that stove looked at before you light it. What will you build there first?",
    "[2 March 2026] Mara: Violas. My teacher Odile gave me the moulds that she brought home from Cremona. And what is new with you?",
    "[2 March 2026] Jonas: Last week I began to bake for the café at the station, forty loaves every Saturday. My sister Runa drives them over in her van at half past five, so I only have to get up at two.",
    "[21 March 2026] Mara: The workshop is mine. The stove man said that the pipe was blocked by a jackdaw's nest. It draws well now.",
    "[21 March 2026] Jonas: A jackdaw! Is the nest gone, or did you keep it? I would have framed it.",
    "[21 March 2026] Mara: It sits on the shelf above the bench. I have glued the first ribs, and two of them cracked in the night because the air was too dry.",
    "[21 March 2026] Jonas: Put a bowl of water on the stove. That is what I do beside the oven, or the dough gets a skin.",
    "[12 April 2026] Mara: The bowl of water works. Nothing has cracked since. I carve the scroll now, which takes me four evenings.",
    "[12 April 2026] Jonas: Four evenings for something that nobody looks at! I have a new rye with caraway. The café wants ten of them on Wednesdays too.",
    "[12 April 2026] Mara: I look at it. Let's meet on 9 May, when Odile plays in St. Brannock's. She will bring her old viola, so that you can hear what mine should sound like.",
    "[12 April 2026] Jonas: I'll be there, and I'll bring a loaf for Odile. Which row do you like?",
    "[12 April 2026] Mara: The third. Close enough to hear the bow, far enough not to see her frown.",
    "[12 April 2026] Jonas: The third row then. I still can't decide between the rye and a white loaf for her.",
    "[10 May 2026] Mara: What an evening! Odile liked your loaf better than the applause. I heard her say so to the man who turned the pages.",
    "[10 May 2026] Jonas: She asked me for the recipe in the second half. I have never been whispered at in a church before.",
    "[10 May 2026] Mara: By the way, who did you say drives the bread to the station?",
    "[10 May 2026] Jonas: Runa, at half past five. Why?",
    "[10 May 2026] Mara: I have to move a bench from Odile's attic, and a van would be just the thing.",
    "[10 May 2026] Jonas: Ask her on a Sunday. On Saturdays she sleeps after the round.",
], {"talk-cut": 7, "talk-recall": 8, "talk-after": 9}), follows={"talk-after": "talk-recall"})

# 2. A person plans a trip with an assistant. Only the roles say who speaks.

TRIP = Conversation("trip", 740, said([
    "I want to walk from hut to hut for five days in September, with my father, who is 68 and has a bad knee. Where should we go?",
    "For his knee I would avoid descents of more than 600 metres a day and carry little. Do you prefer a round trip, or to walk from one place to another?",
    "A round trip, because of the car. From now on, keep every answer under sixty words and give heights in metres.",
    "Then take the lakes above Almbach: five days in a circle, huts every three to four hours, and no day above 2,100 metres.",
    "That sounds good. Which hut should we take for the second night?",
    "I suggest the Larch hut at 1,660 metres: a short day, a gentle path along the river, and small rooms that you can book. The Scree hut is nearer, but has only a dormitory, where your father would not sleep.",
    "Good. He likes to get up late. When should we leave the hut in the morning?",
    "At eight. Storms build up after two in the afternoon, and with stops you need five hours for a day that the signs give as four. Breakfast is from half past six.",
    "And what do we do if it rains on the third day, when we cross the pass?",
    "Stay low. Walk back along the river to the inn by the waterfall, take the bus to the valley, and come up again from the other side. You lose one hut and no knee.",
    "Which map do you recommend? He does not trust telephones.",
    "The sheet \"Almbach Lakes\", 1:25,000, of the alpine club. Draw the five days on it before you leave, with the bus stops, so that he can see where you may give up.",
    "He liked that. Can we bring the dog? She is small, eleven years old, and sleeps a lot.",
    "Two of the five huts allow dogs, in the drying room only. The lake path has cattle with calves in September, which is the real danger. I would leave her with a friend.",
    "She stays with my aunt then. What do we pay for a night with supper?",
    "About 60 euros each with half board, less 12 for members of an alpine club. Bring cash: three of the huts take no cards, and the next machine is in Almbach.",
    "My father wants to know what he has to carry.",
    "Six kilograms at most: a sleeping bag liner, rain jacket, one warm layer, two shirts, a litre of water, poles, blister plasters, his tablets. Food is in the huts.",
    "He has old wooden ski poles. Will they do?",
    "For a photograph, yes. For the knee, no: they are too long and cannot be shortened. Borrow telescopic poles and set them to 110 centimetres going up and 120 going down.",
    "And his boots? They are twenty years old and look like new.",
    "The soles are glued, and old glue fails without warning, often on the second day. Have them resoled now, which takes three weeks, or buy new ones and walk them in until August.",
    "He says that he will have them resoled.",
    "Good. Then the booking: write to the huts in June. Beds in September go first on Fridays and Saturdays, so begin on a Sunday. Name the date, two beds, and that one of you needs a lower bunk.",
    "Thanks, next.",
    "Next is the way there. The car park in Almbach is free until noon on Sundays; the bus to the trailhead leaves every hour from the church.",
    "Which hut did you suggest for the second night, and why that one?",
    "The Larch hut, for its small rooms and the gentle path.",
], {"chat-rule": 11, "chat-next": 12, "chat-suggested": 13}), follows={"chat-next": "chat-rule"})

# 3. A coding agent with tools, in the form of Claude Code.

SHELL = "You are a coding agent. You work in the user's repository with the tools that you have."
REMINDER = "<system-reminder>The task list is empty. Do not mention this to the user.</system-reminder>"


def tool(name, description, *arguments):
    return {"name": name, "description": description, "input_schema": {
        "type": "object", "properties": {a: {"type": "string"} for a in arguments}, "required": list(arguments)}}


def words(*texts):
    return {"role": "user", "content": [{"type": "text", "text": t} for t in texts]}


def result(id, text, *also, failed=False):
    part = {"type": "tool_result", "tool_use_id": id, "content": text}
    if failed:
        part["is_error"] = True
    return {"role": "user", "content": [part, *words(*also)["content"]]}


def call(id, name, text="", **arguments):
    use = {"type": "tool_use", "id": id, "name": name, "input": arguments}
    return {"role": "assistant", "content": [*words(*filter(None, [text]))["content"], use]}


def answer(text):
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


READER = '''1  import csv
2  TIMEOUT = 45  # seconds; the carrier's export is slow on Mondays
3  def parcels(path):
4      with open(path, newline="") as f:
5          rows = list(csv.DictReader(f))
6      for i in range(0, len(rows), CHUNK):
7          yield from rows[i:i + CHUNK]
8      yield rows[-1]  # flush'''
FAILED = '''FAILED tests/test_reader.py::test_last_row - AssertionError: 11 != 10
1 failed, 6 passed in 0.41s'''
LIMITER = '''1  import time
2
3  class Bucket:
4      def __init__(self, rate, size):
5          self.rate, self.size, self.level = rate, size, 0.0
6          self.at = time.time()
7
8      def take(self, n=1):
9          now = time.time()
10         self.level = max(0, self.level - (now - self.at) * self.rate)
11         self.at = now
12         if self.level + n > self.size:
13             return False
14         self.level += n
15         return True
16
17 class Window:
18     def __init__(self, most, seconds):
19         self.most, self.seconds, self.times = most, seconds, []
20
21     def take(self):
22         now = time.time()
23         self.times = [t for t in self.times if t > now - self.seconds]
24         if len(self.times) >= self.most:
25             return False
26         self.times.append(now)
27         return True'''
CLIENT = '''1  from parcels.limiter import Bucket
2  bucket = Bucket(rate=5, size=20)
3  def label(number):
4      if not bucket.take():
5          raise Busy("too many labels")
6      return urlopen(f"{BASE}/labels/{number}").read()'''
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."

CODE = Conversation("code", 2000, [
    Turn(words(REMINDER, "The importer counts the last parcel twice. Find out why and fix it."),
         call("t1", "Read", "I will read the importer.", file_path="parcels/reader.py")),
    Turn(result("t1", READER), call("t2", "Bash", command="pytest tests/test_reader.py")),
    Turn(result("t2", FAILED, failed=True),
         call("t3", "Edit", "Line 8 yields the last row a second time.", file_path="parcels/reader.py", old_string="    yield rows[-1]  # flush", new_string="")),
    Turn(result("t3", "The file parcels/reader.py has been updated."), call("t4", "Bash", command="pytest tests/test_reader.py")),
    Turn(result("t4", "7 passed in 0.39s"),
         answer("Fixed: `parcels` yielded the last row once with its chunk and once more at the end. I removed the second one; all 7 tests pass.")),
    Turn(words("Good. Now make the limiter safe to use from several threads. Never edit anything under migrations/."), call("t5", "Read", file_path="parcels/limiter.py")),
    Turn(result("t5", LIMITER), call("t6", "Bash", command="grep -rn Bucket parcels")),
    Turn(result("t6", "parcels/limiter.py:3:class Bucket:\nparcels/client.py:1:from parcels.limiter import Bucket\nparcels/client.py:2:bucket = Bucket(rate=5, size=20)"),
         call("t7", "Edit", "One lock around `take` is enough.", file_path="parcels/limiter.py",
              old_string="    def take(self, n=1):", new_string="    def take(self, n=1):\n        with self.lock:\n            return self._take(n)\n\n    def _take(self, n):")),
    Turn(result("t7", "The file parcels/limiter.py has been updated."), call("t8", "Bash", command="pytest -q")),
    Turn(result("t8", "AttributeError: 'Bucket' object has no attribute 'lock'\n1 failed, 18 passed in 1.02s", failed=True),
         call("t9", "Edit", file_path="parcels/limiter.py", old_string="        self.at = time.time()\n\n", new_string="        self.at = time.time()\n        self.lock = threading.Lock()\n\n")),
    Turn(result("t9", "The file parcels/limiter.py has been updated."), call("t10", "Bash", command="pytest -q"), "work-loop"),
    Turn(result("t10", "19 passed in 1.04s"), answer("`Bucket.take` now holds a lock. All 19 tests pass.")),
    Turn(words(REMINDER, "The client has no timeout at all. Have a look."), call("t11", "Read", file_path="parcels/client.py")),
    Turn(result("t11", CLIENT), call("t12", "Edit", file_path="parcels/client.py", old_string='{number}").read()', new_string='{number}", timeout=10).read()')),
    Turn(result("t12", REFUSED, "Not 10 seconds. Which TIMEOUT does the carrier's export have in parcels/reader.py? Use that.", failed=True),
         call("t13", "Edit", "The importer has 45 seconds.", file_path="parcels/client.py", old_string='{number}").read()', new_string='{number}", timeout=45).read()'), "work-refused"),
    Turn(result("t13", "The file parcels/client.py has been updated."), answer("The client now waits 45 seconds, as the importer does.")),
    Turn(words(REMINDER, "Which exception does the client raise when the bucket is full?"), answer("`Busy`, with the text \"too many labels\"."), "work-window"),
], fields={"system": SHELL, "max_tokens": 400, "tools": [
    tool("Read", "Read a file.", "file_path"), tool("Edit", "Replace a text in a file.", "file_path", "old_string", "new_string"),
    tool("Bash", "Run a command.", "command")]},
    model="claude-sonnet-4-5", path="/v1/messages", diffs=("work-window",))

# 4. Facts told in passing, then a task that needs them.


def function(name, description, *arguments):
    t = tool(name, description, *arguments)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": t["input_schema"]}}


def errand(id, asked, name, arguments, came, reply, shown=""):
    """Returns the two turns of a person who asks for one call of a tool."""
    use = {"role": "assistant", "content": None, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]}
    return [Turn({"role": "user", "content": asked}, use, shown),
            Turn({"role": "tool", "tool_call_id": id, "content": came}, {"role": "assistant", "content": reply})]


LOG = "".join(f"09:{n // 2:02}:{n * 17 % 60:02} INFO  departure {n} loaded, {n % 7 * 31} passengers, berth {n % 4 + 1}\n" for n in range(1, 26))


OPS = Conversation("ops", 1200, [
    *errand("o1", "Good morning. Please show me the log of ferry. Somebody on the quay said that no tickets were mailed since nine.",
            "tail_log", {"service": "ferry"}, LOG + "09:17:02 ERROR mail: connection refused (smtp.internal:25)\n09:17:32 INFO  mail: retry in 30 s",
            "ferry runs, but it cannot reach the mail server at smtp.internal:25. It tries again every 30 seconds."),
    *errand("o2", "Now the log of tollgate, it felt slow. By the way, the code word for this week's release of tollgate is brass-lantern-41.",
            "tail_log", {"service": "tollgate"}, "09:14:02 INFO  ready on :7040\n09:15:11 WARN  slow query, 812 ms: SELECT * FROM passes\n09:15:40 INFO  lease renewed, 30 s",
            "One query on `passes` took 812 ms; otherwise it is healthy."),
    *errand("o3", "How much room is left on the disks of dock-2?", "disk_usage", {"host": "dock-2"},
            "Filesystem  Size  Used  Avail  Use%\n/dev/vda1    80G   71G     9G   89%\n/dev/vdb1   500G  212G   288G   43%", "9 GB on the system disk, which is 89% full, and 288 GB on the data disk."),
    *errand("o4", "Clean the package cache there.", "run", {"host": "dock-2", "command": "apt-get clean"}, "done, 9.1G freed", "Done: 9.1 GB are free again, 18 GB in all."),
    *errand("o5", "Limit the journal on dock-2 to 2 GB as well. The auditors want to see the one of dock-1 next week.", "run",
            {"host": "dock-2", "command": "journalctl --vacuum-size=2G"}, "Vacuuming done, freed 12.0G of archived journals", "The journal of dock-2 has 2 GB now. 30 GB are free."),
    *errand("o6", "Does ferry mail tickets again?", "tail_log", {"service": "ferry"}, "09:52:10 INFO  mail: 64 tickets sent", "Yes, 64 tickets were sent at 09:52."),
    *errand("o7", "Can dock-2 reach the mail server as well?", "run", {"host": "dock-2", "command": "nc -z smtp.internal 25"},
            "Connection to smtp.internal 25 port [tcp/smtp] succeeded!", "Yes, it accepts connections on port 25."),
    *errand("o8", "Deploy tollgate with the code word of this week's release.", "deploy", {"service": "tollgate", "code_word": "brass-lantern-41"},
            "tollgate 5.2.0 deployed to dock-1, dock-2", "tollgate 5.2.0 runs on dock-1 and dock-2.", "fact"),
], begin=[{"role": "system", "content": "You help to run services. If a task asks for an action, call one tool."}], fields={"tools": [
    function("tail_log", "Show the last lines of a log.", "service"), function("disk_usage", "Show the disks of a host.", "host"),
    function("run", "Run a command on a host.", "host", "command"), function("deploy", "Deploy a service.", "service", "code_word")]},
    profile="thrifty")

CONVERSATIONS = (FRIENDS, TRIP, CODE, OPS)
