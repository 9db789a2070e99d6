package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// Every route of the description, with the ids of another tenant, answers as it does for
// ids that nobody has.
func TestTheIDsOfOtherTenantsAreUnknown(t *testing.T) {
	w := newWorld(t, nil)
	w.talk("ann", "annsecret", 8, nil)
	w.talk("ben", "bentalk", 2, nil)
	w.tenant = "ann"
	var call struct{ ID string }
	w.get("conversations/annsecret/calls/last", &call)
	d := w.description()
	walked := 0
	for path, operations := range d.Paths {
		for method, o := range operations {
			if o.OperationID == "events" {
				continue // TestEventsAreStreamed
			}
			ids := func(conversation, message, call, plan string) *answer {
				p := strings.TrimPrefix(strings.NewReplacer("{conversation}", conversation, "{message}", message,
					"{call}", call, "{plan}", plan).Replace(path), "/")
				body := ""
				for _, m := range o.requestBody() {
					body = string(m.Example)
				}
				switch o.OperationID {
				case "recall":
					body = fmt.Sprintf(`{"query":"port","conversation":%q}`, conversation)
				case "usage":
					p += "?conversation=" + conversation
				}
				return w.do(strings.ToUpper(method), p, body)
			}
			w.tenant = "ben"
			foreign, unknown := ids("annsecret", "1", call.ID, "p1"), ids("nosuch", "1", call.ID, "p1")
			if strings.Contains(path, "{conversation}") || o.OperationID == "recall" || o.OperationID == "usage" {
				walked++
				if foreign.status != http.StatusNotFound || string(foreign.body) != string(unknown.body) {
					t.Errorf("%s %s with another tenant's ids: %d %s; with unknown ones: %d %s", method, path,
						foreign.status, foreign.body, unknown.status, unknown.body)
				}
			}
			// A conversation of one's own and the call of another: no such call.
			if strings.Contains(path, "{call}") {
				if a := ids("bentalk", "1", call.ID, "p1"); a.status != http.StatusNotFound {
					t.Errorf("%s %s with another tenant's call: %d %s", method, path, a.status, a.body)
				}
			}
			for _, a := range []*answer{foreign, ids("bentalk", "1", "1", "p1")} {
				if strings.Contains(string(a.body), "annsecret") && !strings.Contains(path, "openapi") {
					t.Errorf("%s %s shows ben something of ann's: %s", method, path, a.body)
				}
			}
		}
	}
	if walked < 15 {
		t.Errorf("only %d routes have ids", walked)
	}
	// None of these requests changed the conversation of the tenant ann.
	w.tenant = "ann"
	var c struct{ Pins []int64 }
	if w.get("conversations/annsecret", &c); len(c.Pins) > 0 {
		t.Errorf("ben pinned %v", c.Pins)
	}
}

// pages reads a list to its end and returns all items.
func (w *world) pages(path string, limit int) (items []json.RawMessage, total, pages int) {
	w.t.Helper()
	cursor := ""
	for {
		var p struct {
			Items []json.RawMessage
			Next  string
			Total int
		}
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		w.get(fmt.Sprintf("%s%slimit=%d&cursor=%s", path, separator, limit, cursor), &p)
		items, total, pages = append(items, p.Items...), p.Total, pages+1
		if len(p.Items) > limit || pages > 1000 {
			w.t.Fatalf("%s: a page of %d items, %d pages", path, len(p.Items), pages)
		}
		if cursor = p.Next; cursor == "" {
			return items, total, pages
		}
	}
}

func TestPagesTogetherAreTheWhole(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 23, nil)
	for i := range 6 {
		w.talk(timeline.Local, fmt.Sprintf("other %d", i), 1, nil)
	}
	for _, path := range []string{
		"conversations", "conversations?search=port", "conversations/settle/messages",
		"conversations/settle/messages?from=3&to=17",
		"conversations/settle/plans", "conversations/settle/calls", "conversations/settle/calls?order=asc",
	} {
		whole, total, _ := w.pages(path, 500)
		if len(whole) != total || total == 0 {
			t.Errorf("%s: %d items of %d", path, len(whole), total)
		}
		for _, limit := range []int{1, 3} {
			parts, _, pages := w.pages(path, limit)
			if !slices.EqualFunc(whole, parts, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
				t.Errorf("%s in pages of %d: %d items, want %d", path, limit, len(parts), len(whole))
			}
			if want := (total + limit - 1) / limit; pages != want {
				t.Errorf("%s in pages of %d: %d pages, want %d", path, limit, pages, want)
			}
		}
	}
	// A conversation that moves to the front between two pages takes none with it.
	var one, two struct {
		Items []struct{ ID string }
		Next  string
	}
	w.get("conversations?limit=3", &one)
	w.talk(timeline.Local, one.Items[2].ID, 1, nil)
	w.get("conversations?limit=500&cursor="+one.Next, &two)
	if len(one.Items)+len(two.Items) < 7 {
		t.Errorf("pages %v and %v", one.Items, two.Items)
	}
	// A cursor belongs to its list.
	var p struct{ Next string }
	w.get("conversations/settle/calls?limit=1", &p)
	w.want(http.StatusBadRequest, "GET", "conversations/settle/plans?cursor="+p.Next, "", nil)
}

// What is pinned and undone by the API, the next call shows.
func TestTheNextCallHonoursPinsAndUndos(t *testing.T) {
	w := newWorld(t, nil)
	w.budget = 6000
	messages := w.talk(timeline.Local, "settle", 10, nil)
	for plans := 0; plans == 0; {
		messages = w.talk(timeline.Local, "settle", 1, messages)
		_, plans, _ = w.pages("conversations/settle/plans", 1)
	}
	hidden := func() map[int64]string {
		var s struct {
			Plan     string
			Verdicts [][3]any
		}
		w.get("conversations/settle/strip?only=verdicts", &s)
		out := map[int64]string{}
		for _, v := range s.Verdicts {
			for id := int64(v[0].(float64)); id <= int64(v[1].(float64)); id++ {
				out[id] = v[2].(string)
			}
		}
		return out
	}
	before := hidden()
	if before[3] == "" {
		t.Fatalf("message 3 is not left out: %v", before)
	}
	w.want(200, "POST", "conversations/settle/pins", `{"id":3}`, nil)
	messages = w.talk(timeline.Local, "settle", 1, messages)
	if now := hidden(); now[3] != "" {
		t.Errorf("the pinned message was left out by the next call: %v", now)
	}
	var strip struct{ Pinned []int64 }
	if w.get("conversations/settle/strip", &strip); !slices.Equal(strip.Pinned, []int64{3}) {
		t.Errorf("pinned are %v", strip.Pinned)
	}
	w.want(200, "DELETE", "conversations/settle/pins/3", "", nil)

	var u struct {
		Plan           string
		Done           bool
		Back, Leaves   string
		BackIDs        []int64 `json:"back_ids"`
		BackTokens     int     `json:"back_tokens"`
		Preview, Newer bool
	}
	w.want(200, "POST", "conversations/settle/undo", `{"plan":"p1","preview":true}`, &u)
	if u.Done || !u.Preview || len(u.BackIDs) == 0 || u.BackTokens == 0 || u.Plan != "p1" {
		t.Fatalf("the preview is %+v", u)
	}
	back := u.BackIDs
	now := hidden()
	if !slices.ContainsFunc(back, func(id int64) bool { return now[id] != "" }) {
		t.Fatalf("of %v nothing is left out: %v", back, now)
	}
	w.want(200, "POST", "conversations/settle/undo", `{"plan":"p1"}`, &u)
	w.talk(timeline.Local, "settle", 1, messages)
	now = hidden()
	for _, id := range back {
		if now[id] != "" {
			t.Errorf("message %d is %s after the undo", id, now[id])
		}
	}
	var c struct{ Holds []struct{ Plan, IDs string } }
	if w.get("conversations/settle", &c); !u.Done || len(c.Holds) != 1 || c.Holds[0].Plan != "p1" {
		t.Errorf("done %t, held %v", u.Done, c.Holds)
	}
	w.want(200, "POST", "conversations/settle/release", "{}", nil)
	if w.get("conversations/settle", &c); len(c.Holds) != 0 {
		t.Errorf("after the release %v is held", c.Holds)
	}
}

// An undo that cannot fit is refused with the numbers, and changes nothing.
func TestWhatCannotFitIsAConflict(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 30, nil)
	_, plans, _ := w.pages("conversations/settle/plans", 1)
	for i := range plans {
		var before, after struct{ Holds []any }
		w.get("conversations/settle", &before)
		a := w.do("POST", "conversations/settle/undo", fmt.Sprintf(`{"plan":"p%d"}`, i+1))
		if a.status == http.StatusOK {
			continue
		}
		w.get("conversations/settle", &after)
		if a.status != http.StatusConflict || !strings.Contains(string(a.body), "3000") ||
			len(before.Holds) != len(after.Holds) {
			t.Errorf("%d %s; held were %v, are %v", a.status, a.body, before.Holds, after.Holds)
		}
		return
	}
	t.Errorf("all %d plans could be undone", plans)
}

// What was sent is the very bytes that the model got, and hostile text stays text.
func TestSentIsWhatTheModelGot(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 14, nil)
	a := w.do("GET", "conversations/settle/calls/last/sent", "")
	var sent struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(a.body, &sent); err != nil || len(sent.Messages) == 0 {
		t.Fatalf("%v: %s", err, a.body)
	}
	came := w.do("GET", "conversations/settle/calls/last/sent?body=came", "")
	if len(came.body) <= len(a.body) {
		t.Errorf("%d bytes came, %d were sent", len(came.body), len(a.body))
	}
	var m struct {
		By    string
		Parts []struct{ Kind, Text, Name, Asked string }
	}
	w.get("conversations/settle/messages/3", &m)
	if len(m.Parts) != 1 || m.Parts[0].Kind != "result" || m.By != "tool" ||
		!strings.Contains(m.Parts[0].Text, "<script>alert(1)</script>") || m.Parts[0].Name != "Bash" ||
		m.Parts[0].Asked != `{"command":"go test ./settle"}` {
		t.Errorf("%+v", m)
	}
	for _, p := range []string{"conversations/settle/messages/3", "conversations/settle/calls/last/sent?body=came",
		"nothing"} {
		a := w.do("GET", p, "")
		if h := a.header; h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
			strings.Contains(h.Get("Content-Type"), "html") ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") ||
			strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s has the header %v", p, h)
		}
	}
}

func TestImagesAndBase64AreNeverText(t *testing.T) {
	w := newWorld(t, nil)
	data := strings.Repeat("QUJDRA", 2000)
	change := timeline.Change{Conversation: "pictures", Now: noon}
	for _, m := range []string{
		`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}`,
		`{"role":"user","content":[{"type":"text","text":"data:image/png;base64,` + data + ` is a picture"}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"` + data + `"}}]}]}`,
	} {
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf([]byte(m)), Raw: []byte(m),
			Format: timeline.FormatAnthropic, Role: "user", Time: noon})
	}
	if _, err := w.store.Apply(t.Context(), timeline.Local, change); err != nil {
		t.Fatal(err)
	}
	a := w.do("GET", "conversations/pictures/messages", "")
	for _, want := range []string{`"media":"image/png","bytes":9000`,
		`data:image/png;base64,[base64, 12000 characters] is a picture`, `"media":"image/jpeg","bytes":9000`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("no %s in %.2000s", want, a.body)
		}
	}
	if strings.Contains(string(a.body), "QUJDRAQUJDRA") {
		t.Error("base64 is shown as text")
	}
}

func TestChangesNeedAHeaderThatNoFormSends(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 1, nil)
	for _, c := range []struct {
		status int
		header []string
	}{
		{200, []string{"Content-Type", "application/json"}},
		{200, []string{"Content-Type", "application/json; charset=utf-8"}},
		{200, []string{"Content-Type", "text/plain", "X-Oriel-Console", "1"}},
		{403, []string{"Content-Type", "text/plain"}},
		{403, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{403, []string{"Content-Type", ""}},
	} {
		if a := w.do("POST", "conversations/settle/pins", `{"id":1}`, c.header...); a.status != c.status {
			t.Errorf("%q: %d %s, want %d", c.header, a.status, a.body, c.status)
		}
	}
}
