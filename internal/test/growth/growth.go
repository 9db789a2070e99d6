// Package growth makes requests that grow in one respect: many calls, many marks, many
// parts, one id for all. Work on a request may grow with its size, and not with the
// square of it; the tests of this package count the steps of the packages that read,
// cut and record requests.
package growth

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

// Request is a shape of requests.
type Request struct {
	Name string
	// Format defaults to Anthropic.
	Format wire.Format
	// Bodies returns requests of size n that are sent one after another.
	Bodies func(n int) []string
	// Pinned, if not nil, reports which messages are pinned, by depth from 1
	// on.
	Pinned func(depth int) bool
	// Whole reports that the request cannot be cut.
	Whole bool
}

// Uncut reports whether a request of size n may be too large to be cut to Budget.
func (r *Request) Uncut(n int) bool { return r.Whole || n > usual }

// usual is the size at which all but the whole ones fit.
const usual = 40

// Budget is the size in tokens to which the requests are cut.
const Budget = 2000

func join(n int, each func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = each(i)
	}
	return strings.Join(all, ",")
}

func request(messages ...string) string {
	return `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + strings.Join(messages, ",") + `]}`
}

func msg(role, content string) string {
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, content)
}

func part(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func toolUse(id, path string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Read","input":{"file_path":%q}}`, id, path)
}

func toolResult(id, content string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, id, content)
}

const (
	filler    = "the quick brown fox jumps over the lazy dog and goes on to the river bank "
	unchanged = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current."
)

// long is a result that is worth leaving out.
var long = strings.Repeat(filler, 6)

// readsOf returns n calls of Read with their results.
func readsOf(n int, path func(i int) string, answer string) string {
	return join(n, func(i int) string {
		id := fmt.Sprint("t", i)
		return msg("assistant", "["+toolUse(id, path(i))+"]") + "," + msg("user", "["+toolResult(id, answer)+"]")
	})
}

// then returns two requests: the first messages, and one with two more.
func then(head ...string) []string {
	more := append(head[:len(head):len(head)], msg("assistant", `"x"`), msg("user", `"y"`))
	return []string{request(head...), request(more...)}
}

// Requests are the shapes of requests.
var Requests = []Request{
	{Name: "notes that point at many older reads", Bodies: func(n int) []string {
		head := msg("user", `"go"`) + "," + readsOf(n, func(i int) string { return fmt.Sprint("f", i) }, long)
		notes := msg("assistant",
			"["+join(n/4, func(i int) string { return toolUse(fmt.Sprint("n", i), fmt.Sprint("f", i)) })+"]") + "," +
			msg("user", "["+join(n/4, func(i int) string { return toolResult(fmt.Sprint("n", i), unchanged) })+"]")
		return []string{request(head, msg("user", `"next"`)), request(head, msg("user", `"next"`), notes)}
	}},
	{Name: "parallel calls", Bodies: func(n int) []string {
		head := msg("user", `"go"`) + "," +
			msg("assistant", "["+join(n, func(i int) string { return toolUse(fmt.Sprint("a", i), fmt.Sprint("f", i)) })+
				"]") + "," +
			msg("user", "["+join(n, func(i int) string { return toolResult(fmt.Sprint("a", i), long) })+"]") + "," +
			msg("assistant", `"done"`)
		return []string{request(head, msg("user", `"next"`)),
			request(head, msg("user", `"next"`), msg("assistant", `"x"`), msg("user", `"y"`))}
	}},
	{Name: "parts of the newest message", Bodies: func(n int) []string {
		return []string{request(msg("user", "["+join(n, func(i int) string { return part(fmt.Sprint(filler, i)) })+
			"]"))}
	}},
	{Name: "parts of an old message", Bodies: func(n int) []string {
		return []string{request(msg("user", "["+join(n, func(i int) string { return part(fmt.Sprint(filler, i)) })+"]"),
			msg("assistant", `"yes"`), msg("user", `"so"`))}
	}},
	{Name: "one id for all calls", Bodies: func(n int) []string {
		head := msg("user", `"go"`) + "," + join(n, func(i int) string {
			return msg("assistant", "["+toolUse("same", fmt.Sprint("f", i))+"]") + "," +
				msg("user", "["+toolResult("same", long)+"]")
		})
		return []string{request(head), request(head, msg("assistant", `"x"`), msg("user", `"y"`))}
	}},
	{Name: "calls of one id without results", Bodies: func(n int) []string {
		return []string{request(msg("user", `"go"`),
			join(n, func(i int) string { return msg("assistant", "["+toolUse("same", "f")+"]") }), msg("user", `"y"`))}
	}},
	{Name: "results without calls", Bodies: func(n int) []string {
		return []string{request(msg("user", `"go"`), join(n, func(i int) string {
			return msg("assistant", `"a"`) + "," + msg("user", "["+toolResult(fmt.Sprint("x", i), long)+"]")
		}), msg("user", `"y"`))}
	}},
	{Name: "pins", Bodies: func(n int) []string {
		head := join(n, func(i int) string {
			return msg("user", strconv.Quote(fmt.Sprint(filler, i))) + "," + msg("assistant", `"yes"`)
		})
		return []string{request(head, msg("user", `"y"`)), request(head, msg("user", `"y"`), msg("assistant", `"x"`),
			msg("user", `"y"`))}
	}, Pinned: func(depth int) bool { return depth%2 == 1 }},
	{Name: "reminders as parts", Bodies: func(n int) []string {
		return []string{request(msg("user",
			"["+join(n, func(i int) string { return part("<system-reminder>" + filler + "</system-reminder>") })+","+
				part("hello")+"]"))}
	}},
	{Name: "reminders between turns", Format: wire.Chat, Bodies: func(n int) []string {
		return []string{`{"model":"gpt-4o","messages":[` + join(n, func(i int) string {
			return msg("user", strconv.Quote(fmt.Sprint(filler, i))) + "," + msg("system", strconv.Quote(filler))
		}) + "," + msg("user", `"y"`) + "]}"}
	}},
	{Name: "questions without replies", Bodies: func(n int) []string {
		return []string{request(join(n,
			func(i int) string { return msg("user", strconv.Quote(fmt.Sprint(filler, i))) }))}
	}},
	{Name: "replies without questions", Bodies: func(n int) []string {
		return []string{request(msg("user", `"go"`),
			join(n, func(i int) string { return msg("assistant", strconv.Quote(fmt.Sprint(filler, i))) }),
			msg("user", `"y"`))}
	}},
	{Name: "tools", Bodies: func(n int) []string {
		tools := join(n, func(i int) string {
			return fmt.Sprintf(
				`{"name":"t%d","description":%q,"input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
				i, filler)
		})
		return []string{`{"model":"claude-sonnet-4-5","tools":[` + tools + `],"messages":[` + msg("user", `"go"`) +
			"]}"}
	}, Whole: true},
	{Name: "cache marks", Bodies: func(n int) []string {
		head := join(n, func(i int) string {
			return msg("user", fmt.Sprintf(`[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}]`,
				filler)) + "," + msg("assistant", `"yes"`)
		})
		return []string{request(head, msg("user", `"y"`)), request(head, msg("user", `"y"`), msg("assistant", `"x"`),
			msg("user", `"y"`))}
	}},
	{Name: "cache marks behind a message that takes none", Bodies: func(n int) []string {
		head := msg("user", "["+join(n, func(i int) string { return `{"type":"text","text":""}` })+"]") + "," +
			join(n, func(i int) string {
				return msg("assistant", fmt.Sprintf(`[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}]`,
					filler)) + "," + msg("user", strconv.Quote(filler))
			})
		return []string{request(head, msg("assistant", `"x"`), msg("user", `"y"`))}
	}},
	{Name: "thinking that binds", Bodies: func(n int) []string {
		head := msg("user", `"go"`) + "," + join(n, func(i int) string {
			return msg("assistant", `[{"type":"thinking","thinking":"hm","signature":"c2ln"},`+part(filler)+`]`) + "," +
				msg("user", `"and"`)
		})
		return []string{strings.Replace(request(head), "claude-sonnet-4-5", "claude-fable-5-1", 1),
			strings.Replace(request(head, msg("assistant", `"x"`), msg("user", `"y"`)), "claude-sonnet-4-5",
				"claude-fable-5-1", 1)}
	}},
	{Name: "Oriel's own digests sent back", Bodies: func(n int) []string {
		return []string{request(join(n, func(i int) string {
			return msg("user", strconv.Quote("[Oriel digest of 3 earlier messages]\nTask:\n- "+
				filler+strconv.Itoa(i))) + "," + msg("assistant", `"yes"`)
		}), msg("user", `"y"`))}
	}},
	{Name: "Oriel's own markers sent back", Bodies: func(n int) []string {
		return []string{request(join(n, func(i int) string {
			return msg("user", "["+part("[Oriel: 3 earlier messages (7 tokens) are not shown]")+","+part(filler)+"]") +
				"," + msg("assistant", `"yes"`)
		}), msg("user", `"y"`))}
	}},
	{Name: "elements that never close", Bodies: func(n int) []string {
		return []string{request(msg("user", strconv.Quote(strings.Repeat("<a-b> ", n))), msg("assistant", `"yes"`),
			msg("user", `"y"`))}
	}},
	{Name: "elements of many names that never close", Bodies: func(n int) []string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<a-%s> ", strings.Map(func(r rune) rune { return r + 'a' - '0' }, strconv.Itoa(i)))
		}
		return []string{request(msg("user", strconv.Quote(b.String())), msg("assistant", `"yes"`), msg("user", `"y"`))}
	}},
	{Name: "code fences", Bodies: func(n int) []string {
		return []string{request(msg("user", strconv.Quote(strings.Repeat("```x```\n", n))), msg("assistant", `"yes"`),
			msg("user", `"y"`))}
	}},
	{Name: "quoted lines", Bodies: func(n int) []string {
		return []string{request(msg("user", strconv.Quote(strings.Repeat("> "+filler+"\n", n))),
			msg("assistant", `"yes"`), msg("user", `"y"`))}
	}},
	{Name: "sentences", Bodies: func(n int) []string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "Always use number %d here. We decided on plan %d. ", i, i)
		}
		return []string{request(msg("user", strconv.Quote(b.String())), msg("assistant", strconv.Quote(b.String())),
			msg("user", `"y"`))}
	}},
	{Name: "instructions", Bodies: func(n int) []string {
		return []string{request(join(n, func(i int) string {
			return msg("user", strconv.Quote(fmt.Sprintf("Always use number %d here. %s", i, filler))) + "," +
				msg("assistant", `"yes"`)
		}), msg("user", `"y"`))}
	}},
	{Name: "files of one folder", Bodies: func(n int) []string {
		return []string{request(msg("user", `"go"`),
			readsOf(n, func(i int) string { return fmt.Sprintf("/a/b/%d/c%d", i%10, i) }, long), msg("user", `"y"`))}
	}},
	{Name: "errors", Bodies: func(n int) []string {
		return []string{request(msg("user", `"go"`), join(n, func(i int) string {
			id := fmt.Sprint("t", i)
			return msg("assistant",
				fmt.Sprintf(`[{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"make x"}}]`, id)) + "," +
				msg("user", fmt.Sprintf(
					`[{"type":"tool_result","tool_use_id":%q,"is_error":true,"content":"Error: exit %s"}]`, id,
					strings.Repeat("x", i%50)))
		}), msg("user", `"y"`))}
	}},
	{Name: "one large text", Bodies: func(n int) []string {
		return []string{request(msg("user", strconv.Quote(strings.Repeat(filler, n))))}
	}},
	{Name: "one large text without spaces", Bodies: func(n int) []string {
		return []string{request(msg("user", strconv.Quote(strings.Repeat("a", 50*n))))}
	}},
	{Name: "calls in Chat", Format: wire.Chat, Bodies: func(n int) []string {
		return []string{`{"model":"gpt-4o","messages":[` + msg("user", `"go"`) +
			`,{"role":"assistant","content":null,"tool_calls":[` + join(n, func(i int) string {
			return fmt.Sprintf(
				`{"id":"c%d","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"f%d\"}"}}`, i, i)
		}) + `]},` + join(n,
			func(i int) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i, long) }) +
			"," + msg("user", `"y"`) + "]}"}
	}},
	{Name: "items of Responses", Format: wire.Responses, Bodies: func(n int) []string {
		return []string{`{"model":"gpt-5","input":[` + msg("user", `"go"`) + `,` + join(n, func(i int) string {
			return fmt.Sprintf(`{"type":"reasoning","id":"r%d","summary":[]},{"type":"function_call","call_id":"c%d","name":"Read","arguments":"{\"file_path\":\"f%d\"}"},{"type":"function_call_output","call_id":"c%d","output":%q}`, i, i, i, i, long)
		}) + "," + msg("user", `"y"`) + "]}"}
	}},
	{Name: "calls within calls", Format: wire.Responses, Bodies: func(n int) []string {
		return []string{`{"model":"gpt-5","input":[` + msg("user", `"go"`) + `,` + join(n, func(i int) string {
			return fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"Read","arguments":"{}"}`, i)
		}) + "," + join(n, func(i int) string {
			return fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":%q}`, n-1-i, long)
		}) + "," + msg("user", `"y"`) + "]}"}
	}},
	{Name: "fields of the body", Bodies: func(n int) []string {
		return []string{`{"model":"claude-sonnet-4-5",` +
			join(n, func(i int) string { return fmt.Sprintf(`"f%d":{"a":1}`, i) }) + `,"messages":[` +
			msg("user", `"go"`) + "]}"}
	}, Whole: true},
	{Name: "fields of a part", Bodies: func(n int) []string {
		return then(msg("user", `[{"type":"text","text":"go",`+
			join(n, func(i int) string { return fmt.Sprintf(`"f%d":1`, i) })+"}]"), msg("assistant", `"yes"`),
			msg("user", `"so"`))
	}, Whole: true},
	{Name: "parts of a system prompt", Bodies: func(n int) []string {
		return []string{`{"model":"claude-sonnet-4-5","system":[` +
			join(n, func(i int) string { return part(filler) }) + `],"messages":[` + msg("user", `"go"`) + "]}"}
	}, Whole: true},
	{Name: "parts of a result", Bodies: func(n int) []string {
		return then(msg("user", `"go"`), msg("assistant", "["+toolUse("t", "f")+"]"),
			msg("user", `[{"type":"tool_result","tool_use_id":"t","content":[`+
				join(n, func(i int) string { return part(fmt.Sprint(filler, i)) })+"]}]"))
	}},
	{Name: "a head that the client trims", Bodies: func(n int) []string {
		talk := func(from, to int) string {
			return join(to-from, func(i int) string {
				return msg("user", strconv.Quote(fmt.Sprint(filler, from+i))) + "," + msg("assistant", `"yes"`)
			})
		}
		return []string{
			request(talk(0, n), msg("user", `"y"`)),
			request(join(n/2, func(i int) string {
				return msg("user", strconv.Quote(fmt.Sprint("summary ", filler, i))) + "," + msg("assistant", `"yes"`)
			}), talk(n/2, n), msg("user", `"y"`), msg("assistant", `"x"`), msg("user", `"z"`)),
		}
	}},
	{Name: "a deep path", Bodies: func(n int) []string {
		return then(msg("user", `"go"`),
			readsOf(20, func(i int) string { return fmt.Sprint(strings.Repeat("/a", n), i) }, long))
	}},
	{Name: "a digest that the client made", Bodies: func(n int) []string {
		text := "[Oriel digest of 3 earlier messages]\nDecisions:\n" + strings.Repeat("- user: plan it\n", n) +
			"Task:\n" + strings.Repeat("- do it\n", n)
		return then(msg("user", strconv.Quote(text)), msg("assistant", `"yes"`), msg("user", `"so"`))
	}},
	{Name: "standing instructions", Whole: true, Bodies: func(n int) []string {
		return then(msg("user", strconv.Quote(strings.Repeat("From now on always use tabs. ", 10*n))),
			msg("assistant", `"yes"`), msg("user", `"so"`))
	}},
	{Name: "commands run again", Bodies: func(n int) []string {
		return then(msg("user", `"go"`), join(n, func(i int) string {
			id := fmt.Sprint("t", i)
			return msg("assistant",
				fmt.Sprintf(`[{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"make x%d"}}]`, id, i%7)) +
				"," + msg("user", "["+toolResult(id, long)+"]")
		}))
	}},
}

// Size returns how large the shapes of a test are: small by default, larger if
// the growth of the work is measured.
func Size() int {
	if n, err := strconv.Atoi(os.Getenv("ORIEL_SHAPE_SIZE")); err == nil {
		return n
	}
	return usual
}
