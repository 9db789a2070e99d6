package importer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/timeline"
)

// Whatever the rows of opencode's database have, they become a message that can be read, or
// none.
func FuzzOpenCodeRows(f *testing.F) {
	f.Add("ses_1", "msg_1", []byte(`{"role":"user","time":{"created":1}}`), []byte(`{"type":"text","text":"a"}`))
	f.Add("ses_1", "msg_1", []byte(`{ }`),
		[]byte(`{"type":"tool","callID":"c","state":{"status":"error","error":"e"}}`))
	f.Add("ses\"1", "msg\x00", []byte("\ufeff{\"role\":\"assistant\" \n}"),
		[]byte(`{"type":"file","mime":"image/png","url":"data:image/png;base64,eA=="}`))
	f.Add("", "", []byte(`[]`), []byte(nil))
	f.Fuzz(func(t *testing.T, session, id string, message, part []byte) {
		m, ok := (&source{}).openCodeRows(session, openCodeRow{id: id, data: message},
			[]openCodeRow{{id: "prt_1", data: part}, {id: "prt_2", data: part}}, &namesOnly{})
		if !ok {
			return
		}
		if m.Format != timeline.FormatOpenCode || m.Role == "" || m.Identity == (timeline.Hash{}) {
			t.Fatalf("%+v", m)
		}
		if json.Valid(bytes.TrimPrefix(message, []byte("\ufeff"))) && json.Valid(part) && !json.Valid(m.Raw) {
			t.Fatalf("not JSON: %s", m.Raw)
		}
	})
}

// Whatever a row of another database has, it becomes a message that can be read, or none.
func FuzzRows(f *testing.F) {
	f.Add("s", "m", "user", []byte(`[{"type":"text","text":"a"}]`), int64(1795123724))
	f.Add("s", "", "assistant",
		[]byte(`[{"type":"toolRequest","id":"c","toolCall":{"value":{}}},{"type":"toolResponse"}]`),
		int64(-1))
	f.Add("s\x00", "m", "\xff", []byte("\ufeff[{\"type\":\"tool_call\",\"data\":{\"input\":\"{\"}}]"), int64(1)<<62)
	f.Fuzz(func(t *testing.T, session, id, role string, content []byte, created int64) {
		for _, stored := range []string{timeline.FormatGoose, timeline.FormatCrush} {
			m, ok := (&source{}).rowMessage(stored, session,
				row{id: id, role: role, content: content, created: created},
				&namesOnly{})
			if !ok {
				continue
			}
			if m.Format != stored || m.Role == "" || m.Identity == (timeline.Hash{}) {
				t.Fatalf("%+v", m)
			}
			if json.Valid(bytes.TrimPrefix(content, []byte("\ufeff"))) && !json.Valid(m.Raw) {
				t.Fatalf("not JSON: %s", m.Raw)
			}
		}
	})
}

// problems collects what is reported as broken.
type problems struct {
	namesOnly
	all []string
}

func (p *problems) broken(_ int, what string) { p.all = append(p.all, what) }

// Rows and elements that are too long are reported as such, not as invalid JSON.
func TestWhatIsTooLongIsReportedAsThat(t *testing.T) {
	SetMaxLine(t, 1<<10)
	var p problems
	if _, ok := (&source{}).openCodeRows("ses_1", openCodeRow{id: "msg_1", tooLong: true}, nil, &p); ok {
		t.Error("a message without its row")
	}
	s := &source{kind: kind{format: ClaudeAI, shape: list}}
	long := `[{"uuid":"` + strings.Repeat("x", maxLine+between) + `"}]`
	if err := eachElement(t.Context(), s, strings.NewReader(long), &p,
		func(int, document) error { return nil }); err != nil {
		t.Error(err)
	}
	if want := []string{`"msg_1": more than 256 MiB`,
		"an element of more than 256 MiB: split the file (byte 1)"}; !slices.Equal(want, p.all) {
		t.Errorf("%q", p.all)
	}
}
