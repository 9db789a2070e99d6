"""Tests of what needs no model and no network: python3 -m unittest, in this folder."""

import json
import os
import tempfile
import unittest

import conversation
import report
import scripted
import sessions
import show_requests
import store
import talks
import tasks
import text


class Scores(unittest.TestCase):
    def test_f1_ignores_case_articles_and_punctuation(self):
        self.assertEqual(text.f1("The Sweden.", "sweden"), 1)
        self.assertEqual(text.f1("", "sweden"), 0)
        self.assertAlmostEqual(text.f1("in Sweden now", "Sweden"), 0.5)

    def test_f1_counts_a_repeated_word_once_for_each_time_it_is_wanted(self):
        self.assertAlmostEqual(text.f1("yes yes yes", "yes"), 0.5)

    def test_a_path_is_its_last_part_where_paths_are_asked_for(self):
        self.assertEqual(text.f1("`/home/x/cmd/main.go`", "cmd/main.go", paths=True), 1)
        self.assertEqual(text.f1("cmd/other.go", "cmd/main.go", paths=True), 0)
        self.assertEqual(text.words("and/or", paths=False), ["andor"])

    def test_words_of_the_answer_ignore_what_else_is_said(self):
        self.assertEqual(text.recall("it was 5 July 2023, I think", "5 July 2023"), 1)
        self.assertAlmostEqual(text.recall("in July", "5 July 2023"), 1 / 3)

    def test_the_standard_error_is_that_of_the_mean(self):
        self.assertEqual(report.mean([1, 1, 1, 1]), (1, 0))
        mean, error = report.mean([0, 1])
        self.assertEqual((mean, error), (0.5, 0.5))
        self.assertEqual(report.mean([3]), (3, None))

    def test_a_table_names_requests_that_do_not_fit(self):
        row = {"set": "locomo", "arm": "everything", "f1": 0.5, "words": 1.0, "tokens": 9, "seconds": 2.0}
        table = report.markdown([row, row, {"set": "locomo", "arm": "everything", "failed": "does not fit"}])
        self.assertIn("| everything | 2 (1 does not fit) | 9 | 50.0 ± 0.0 | 100.0 ± 0.0 | 2.0 ± 0.0 |", table)


class Flatten(unittest.TestCase):
    def test_results_of_one_turn_are_one_user_message(self):
        flat = text.flatten([
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            called("1", "Read", {"file_path": "x"}), result("1", "one"), result("2", "two"),
        ])
        self.assertEqual([m["role"] for m in flat], ["user", "assistant", "user"])
        self.assertEqual(flat[0]["content"], "a\nb")
        self.assertIn('<tool_call>\n{"name": "Read", "arguments": {"file_path": "x"}}\n</tool_call>', flat[1]["content"])
        self.assertEqual(flat[2]["content"], "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>")

    def test_tools_end_the_system_prompt(self):
        flat = text.flatten([{"role": "system", "content": "Help."}], tasks.TOOLS)
        self.assertTrue(flat[0]["content"].startswith("Help.\n\n# Tools"))


class Newest(unittest.TestCase):
    history = [{"role": "system", "content": "s"}, {"role": "user", "content": "u" * 50},
               {"role": "assistant", "content": "c" * 20}, {"role": "tool", "tool_call_id": "1", "content": "r" * 10},
               {"role": "assistant", "content": "a" * 10}]

    def roles(self, window):
        def count(messages):
            return 1 + sum(len(m["content"]) for m in messages)

        kept = conversation.newest(self.history, {"role": "user", "content": "q"}, window, count)
        self.assertLessEqual(count(kept), window)
        return [m["role"] for m in kept]

    def test_it_takes_what_fits(self):
        self.assertEqual(self.roles(43), ["system", "assistant", "tool", "assistant", "user"])
        self.assertEqual(self.roles(93), ["system", "user", "assistant", "tool", "assistant", "user"])

    def test_a_result_without_its_call_is_left_out(self):
        self.assertEqual(self.roles(42), ["system", "assistant", "user"])


class Rules(unittest.TestCase):
    def setUp(self):
        lines, self.last = [], None

        def add(role, *blocks):
            uuid = f"u{len(lines)}"
            lines.append({"type": role, "uuid": uuid, "parentUuid": self.last, "cwd": "/w",
                          "message": {"id": f"m{len(lines)}", "content": list(blocks)}})
            self.last = uuid

        def use(n, name, said="", failed=False, **arguments):
            add("assistant", {"type": "tool_use", "id": f"t{n}", "name": name, "input": arguments})
            add("user", {"type": "tool_result", "tool_use_id": f"t{n}", "content": said, "is_error": failed})

        add("user", {"type": "text", "text": "please fix the login page"})
        use(0, "Read", "text", file_path="/w/z.go")
        use(1, "Read", "text", file_path="/w/a.go")
        use(2, "Grep", "a.go", path="/w/pkg", pattern="func Login")
        use(3, "Edit", "done", file_path="/w/b.go", old_string="x := 1", new_string="x := 2")
        use(4, "Bash", "ok  all 12 passed", command="go test ./...")
        use(5, "Bash", "Exit code 1\nls: no such folder\nmore", True, command="ls /nowhere")
        use(6, "Bash", "Exit code 0", command='git commit -m "Fix the login page"')
        use(7, "Write", "done", file_path="/w/new.go", content="c")
        add("assistant", {"type": "text", "text": "Done.\nShall I push this to main?"})
        add("user", {"type": "text", "text": "no, keep it on the branch"})
        for n in range(20, 32):
            use(n, "Bash", "a\nb", command=f"echo {n}")
        add("assistant", {"type": "text", "text": "All done."})
        self.lines = lines

    def test_each_rule_knows_its_answer(self):
        asked = sessions.questions(sessions.build(self.lines), 9)
        got = {q.kind: q.gold for q in reversed(asked)}  # the first of each kind
        self.assertEqual(got, {
            "first-request": "please fix the login page", "edit-after-read": "b.go", "ran-after-edit": "go test ./...", "first-test": "go test ./...",
            "error": "ls: no such folder", "printed": "ok  all 12 passed", "searched": "func Login", "replaced": "x := 2",
            "created": "new.go", "answered": "no, keep it on the branch", "committed": "Fix the login page",
        })

    def test_the_history_is_valid(self):
        open_ = set()
        for m in sessions.build(self.lines).messages:
            if m["role"] == "tool":
                open_.remove(m["tool_call_id"])
                continue
            self.assertEqual(open_, set())
            open_ = {c["id"] for c in m.get("tool_calls", ())}

    def test_a_prompt_that_goes_back_removes_what_came_after(self):
        again = {"type": "user", "uuid": "again", "parentUuid": "u2", "message": {"content": "try something else"}}
        last = {"type": "assistant", "uuid": "last", "parentUuid": "again", "message": {"id": "m", "content": [{"type": "text", "text": "ok"}]}}
        history = sessions.build([*self.lines, again, last])
        self.assertEqual([m["role"] for m in history.messages], ["user", "assistant", "tool", "user", "assistant"])
        self.assertEqual([c.name for c in history.calls], ["Read"])


class Tasks(unittest.TestCase):
    def setUp(self):
        self.task = tasks.Task("p", "code word", "", "Deploy it.", "deploy", "code_word", "heron-42")

    def test_there_are_24_and_each_fact_is_told_once_and_early(self):
        projects = tasks.projects()
        self.assertEqual(sum(len(p.tasks) for p in projects), 24)
        for p in projects:
            for t in p.tasks:
                told = [i for i, m in enumerate(p.messages) if t.told in text.content(m)]
                self.assertEqual(len(told), 1)
                self.assertLess(told[0], 20)
                self.assertEqual(sum(t.value in json.dumps(m) for m in p.messages), 1)

    def test_they_are_the_same_in_every_run(self):
        self.assertEqual(tasks.projects(), tasks.projects())

    def test_calls_are_read_in_many_forms(self):
        for answer in (
                '<tool_call>\n{"name": "deploy", "arguments": {"service": "x", "code_word": "heron-42"}}\n</tool_call>',
                '```json\n{"tool": "deploy", "parameters": {"code_word": "Heron-42"}}\n```',
                '{"function": {"name": "deploy", "arguments": "{\\"code_word\\": \\"heron-42\\"}"}}',
                '{"service": "x", "code_word": "heron-42"}', 'I call deploy(service="x", code_word="heron-42").', "deploy('x', 'heron-42')"):
            self.assertTrue(tasks.done(self.task, tasks.parse(answer)), answer)
        for answer in ("heron-42", '{"name": "set_port", "arguments": {"code_word": "heron-42"}}', 'deploy(service="x", code_word="heron")',
                       '{"name": "deploy", "arguments": {"service": "heron-42"}}', "{", "{}"):
            self.assertFalse(tasks.done(self.task, tasks.parse(answer)), answer)

    def test_values_are_compared_by_their_kind(self):
        def matches(kind, want, value):
            return tasks.matches(tasks.Task("p", kind, "", "", "t", "a", want), value)

        self.assertTrue(matches("branch rule", "heronfix", "heronfix/T-1"))
        self.assertFalse(matches("branch rule", "heronfix", "fix/T-1"))
        self.assertTrue(matches("port", "31000", 31000))
        self.assertTrue(matches("limit", "450", "450/min"))
        self.assertTrue(matches("version", "4.16.3", "v4.16.3"))
        self.assertFalse(matches("version", "4.16.3", "4.16.30"))

    def test_looking_around_goes_on_and_anything_else_ends(self):
        answers = iter(['search("code word")', '{"name": "deploy", "arguments": {"code_word": "heron-42"}}'])
        seen = []

        def send(messages):
            seen.append([m["role"] for m in messages])
            return next(answers)

        self.assertEqual(tasks.loop(self.task, [], send)[:2], (True, 2))
        self.assertEqual(seen, [["user"], ["user", "assistant", "tool"]])
        self.assertEqual(tasks.loop(self.task, [], lambda _: "I do not know.")[:2], (False, 1))
        self.assertEqual(tasks.loop(self.task, [], lambda _: 'search("x")')[:2], (False, tasks.STEPS))


class Look(unittest.TestCase):
    def test_frames_of_the_newest_turn_are_not_old(self):
        frame = ("[Oriel: earlier parts of this conversation, quoted]\n"
                 "user> I moved from Sweden.\n[Oriel: end of the quoted parts]")
        asked = conversation.Question("Where from?", "Sweden", "k", [["user", "I moved from Sweden.", "I moved from Sweden."]])
        talk = conversation.Conversation("locomo", "0", [], [asked])
        prompts = conversation.Prompts()

        def add(arm, *messages):
            prompts.add(talk, asked, arm, [{"role": r, "content": c} for r, c in messages], lambda flat: 1)

        add("before", ("system", "s"), ("assistant", "a"), ("user", frame), ("user", "Where from?\nAnswer in a few words."))
        add("after", ("system", "s"), ("assistant", "a"), ("user", "Answer in a few words.\n" + frame))
        add("old", ("system", "s"), ("user", frame), ("assistant", "a"), ("user", "Answer in a few words."))
        found = report.look(prompts)
        self.assertEqual([found["locomo", a]["evidence"] for a in ("before", "after", "old")], [100, 100, 100])
        self.assertEqual([found["locomo", a]["newest_last"] for a in ("before", "after", "old")], [1, 0, 0])
        self.assertEqual([found["locomo", a]["old_recalled"] > 50 for a in ("before", "after", "old")], [False, False, True])


class Talks(unittest.TestCase):
    def test_speakers_are_the_user_and_the_assistant(self):
        talk = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "noon", "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "hello"}, {"speaker": "Ann", "dia_id": "D1:2", "text": "there"},
            {"speaker": "Bo", "dia_id": "D1:3", "text": "hi"}]}
        messages, said = talks.locomo_messages(talk)
        self.assertEqual(messages[1:], [{"role": "user", "content": "[noon] Ann: hello\nAnn: there"}, {"role": "assistant", "content": "Bo: hi"}])
        self.assertEqual(said["D1:2"], ["user", "[noon] Ann: there", "there"])


class Kept(unittest.TestCase):
    def test_a_torn_line_is_ignored(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s.jsonl")
            store.Store(path).put({"a": 1}, text="one")
            with open(path, "a", encoding="utf-8") as f:
                f.write('{"key": "x", "te')
            store.Store(path).put({"a": 2}, text="two")
            again = store.Store(path)
            self.assertEqual([again.get({"a": n})["text"] for n in (1, 2)], ["one", "two"])


def called(id, name, arguments):
    return {"role": "assistant", "content": "", "tool_calls": [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]}


def result(id, said):
    return {"role": "tool", "tool_call_id": id, "content": said}


class Requests(unittest.TestCase):
    def test_parts_of_a_message_stand_under_its_role(self):
        body = {"system": "Be brief.", "tools": [{"name": "Read"}], "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x\ny", "is_error": True}, {"type": "text", "text": "Why?"}]}]}
        self.assertEqual(show_requests.lines(body), [
            "system     Be brief.", "tools      Read", 'assistant  call Read {"path": "a"}',
            "user       failed result: x", "           y", "        +  Why?"])

    def test_a_request_that_is_the_same_is_printed_once(self):
        request = {"body": {"messages": [{"role": "user", "content": "Hi"}]}, "tokens before": "9", "tokens after": "9", "action": "none"}
        self.assertEqual(show_requests.block(request, request, False).count("Hi"), 1)

    def test_names_of_requests_are_used_once_and_exist(self):
        names = [t.name for c in scripted.CONVERSATIONS for t in c.turns if t.name]
        self.assertEqual(len(names), len(set(names)))
        for c in scripted.CONVERSATIONS:
            self.assertLessEqual({*c.diffs, *c.follows, *c.follows.values()}, set(names))


if __name__ == "__main__":
    unittest.main()
