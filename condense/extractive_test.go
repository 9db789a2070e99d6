package condense_test

import (
	"context"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/condense"
)

func extract(t *testing.T, previous string, limit int, parts ...any) string {
	t.Helper()
	out, err := condense.Extractive{}.Condense(context.Background(),
		condense.Input{Messages: span(parts...), Previous: previous, Max: limit, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(out.Text); n > limit {
		t.Errorf("%d tokens, limit %d", n, limit)
	}
	return out.Text
}

// SPEC D7
func TestExtractiveKeepsWhatMatters(t *testing.T) {
	chatter := []any{
		user("I am planning a trip to Tromsø in March to see the northern lights."),
		assistant("Great idea! March is a good month for that. The weather can be anything. Many people like it."),
		user("My budget is 12,000 kroner and I never fly before ten in the morning."),
		assistant("Understood. There are flights at 11:40 and 15:05. Both are fine. Let me know."),
		user("ok"),
		assistant("Here you are. The weather can be anything. Many people like it."),
		user("Let's take the flight at 11:40, and book the hotel by the harbour."),
		assistant("The hotel by the harbour costs 1,900 kroner a night."),
		did("book", `{"hotel":"harbour"}`, "secret result"),
	}
	got := extract(t, "", 100, chatter...)
	wants(t, got, "User: I am planning a trip to Tromsø", "12,000 kroner", "never fly before ten", "11:40",
		"not User: ok", "not secret")
	if strings.Index(got, "planning a trip") > strings.Index(got, "12,000") {
		t.Error("not in the order of time:\n" + got)
	}
	all := extract(t, "", 1000, chatter...)
	if strings.Count(all, "The weather can be anything.") != 1 {
		t.Error("the same sentence twice:\n" + all)
	}
}

func TestExtractiveKeepsCodeWholeOrDropsIt(t *testing.T) {
	code := "```go\nfunc main() {\n\tprintln(1)\n}\n```"
	got := extract(t, "", 300, user("What does this print?\n"+code+"\nI want to know."), assistant("It prints 1."))
	wants(t, got, code)
	got = extract(t, "", 300, user("What does this print?\n```\n"+strings.Repeat("x = 1\n", 200)+
		"```\nI want to know."), assistant("It prints 1."))
	wants(t, got, "What does this print?", "not x = 1")
}

func TestExtractiveInAnyScript(t *testing.T) {
	got := extract(t, "", 60, user("我们决定使用协调世界时。请不要修改数据库迁移文件。今天天气很好。你好吗？"), assistant("好的。我明白了。"))
	wants(t, got, "User: ", "我们决定使用协调世界时。")
}

func TestExtractivePreviousIsMergedNotNested(t *testing.T) {
	previous := "[Oriel summary of 8 earlier messages]\nUser: I never eat fish, remember that.\nThe trip is in March."
	got := extract(t, previous, 300, user("Where shall we eat in Tromsø tonight?"),
		assistant("There is a good place by the bridge."))
	wants(t, got, "User: I never eat fish, remember that.", "Earlier: The trip is in March.", "not Oriel",
		"by the bridge")
	again := extract(t, got, 300, user("And tomorrow, which museum is open?"))
	if strings.Count(again, "Earlier:") != 1 || strings.Count(again, "never eat fish") != 1 {
		t.Error("nested:\n" + again)
	}
}
