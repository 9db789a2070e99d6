package recall

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/timeline"
)

func TestAnExtractHasTheMessagesThatItWasMadeOf(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Just(strings.Repeat("again and again ", 500)))
	list := rapid.Custom(func(r *rapid.T) (all []string) {
		for range rapid.IntRange(0, 3).Draw(r, "n") {
			all = append(all, text.Draw(r, "text"))
		}
		return all
	})
	rapid.Check(t, func(r *rapid.T) {
		trunk, first := rapid.Int64Range(1, 1<<40).Draw(r, "trunk"), rapid.Int64Range(1, 1<<40).Draw(r, "first")
		var messages []Message
		for depth := first; depth < first+8; depth++ {
			if rapid.Bool().Draw(r, "says nothing") {
				continue
			}
			m := Message{Block: blockAt(trunk, depth), Ref: text.Draw(r, "ref"), Role: text.Draw(r, "role"),
				Name: text.Draw(r, "name"), Text: text.Draw(r, "text"),
				Tools: list.Draw(r, "tools"), Given: list.Draw(r, "given"),
				Content: timeline.HashOf([]byte(fmt.Sprint(depth)))}
			if rapid.Bool().Draw(r, "has a time") {
				m.Time = time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(r, "time")).UTC()
			}
			messages = append(messages, m)
		}
		got, err := readExtract(makeExtract(first, messages), trunk, first)
		if err != nil {
			r.Fatal(err)
		}
		if len(messages) == 0 {
			messages = []Message{}
		}
		if diff := cmp.Diff(messages, got); diff != "" {
			r.Errorf("other messages:\n%s", diff)
		}
	})
}

func TestWhatIsTooLargeIsNotExtracted(t *testing.T) {
	if data := makeExtract(1, []Message{{Block: blockAt(1, 1), Text: strings.Repeat("x", maxExtract)}}); data != nil {
		t.Errorf("an extract of %d bytes", len(data))
	}
	if _, err := readExtract(s2.Encode(nil, make([]byte, maxExtract+1)), 1, 1); err != errExtract {
		t.Errorf("a large extract is read: %v", err)
	}
}

// A file that somebody else made cannot have much more memory taken than it is long.
func TestAnExtractWithAFalseCountTakesLittleMemory(t *testing.T) {
	raw := binary.AppendUvarint(nil, 1<<20)
	data := s2.Encode(nil, append(raw, make([]byte, 1<<20)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readExtract(data, 1, 1); err != errExtract {
		t.Errorf("it is read: %v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("an extract of %d bytes takes %d", len(data), n)
	}
}

func FuzzExtractsAreRead(f *testing.F) {
	whole, err := s2.Decode(nil, makeExtract(1, []Message{
		{Block: blockAt(1, 1), Role: "user", Text: "Which port?", Time: time.Unix(1, 0)},
		{Block: blockAt(1, 3), Role: "tool", Name: "ls", Given: []string{"a", "b"}},
	}))
	if err != nil {
		f.Fatal(err)
	}
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add([]byte("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages, err := readExtract(s2.Encode(nil, raw), 1, 1)
		if err != nil {
			return
		}
		if _, err := readExtract(makeExtract(1, messages), 1, 1); err != nil {
			t.Errorf("what was read is not read again: %v", err)
		}
		if _, err := readExtract(raw, 1, 1); err == nil && len(raw) > maxExtract {
			t.Error("a large extract is read")
		}
	})
}

// The stored words are those that this version reads. If this test fails because a Reader now
// returns other words, raise the number in extractKind, and write the new hash here.
func TestExtractsHaveTheWordsOfTheirKind(t *testing.T) {
	const kind, want = "words/1", "eb8c638ff9ba79a0eac3353139679f5e"
	var lines strings.Builder
	for i := range 120 {
		fmt.Fprintf(&lines, "%6d→	value number %d of %s\n", i, i, strings.Repeat("many ", i))
		switch i {
		case 40:
			lines.WriteString("panic: index out of range\n")
		case 50:
			lines.WriteString("func CountBees(frames []Frame) int {\n" + strings.Repeat("QUJDREVGR0g", 40) + "\n")
		}
	}
	quoted, err := json.Marshal(lines.String())
	if err != nil {
		t.Fatal(err)
	}
	r := Reader{Conversation: "c"}
	var all []Message
	for i, raw := range []string{
		`{"role":"user","content":[{"type":"text","text":"<system-reminder>be kind</system-reminder>"},{"type":"text","text":"How many bees are there?"}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"/bees.go","limit":20,"more":{"a":[1]}}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":` + string(quoted) + `}]}]}`,
		`{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Bees of the world"}},{"type":"image","source":{"type":"url","url":"https://example.com/bee.png"}}]}`,
		`{"role":"assistant","content":"Two hives."}`,
	} {
		e := timeline.Entry{Place: timeline.Place{Trunk: 1, Depth: int64(i + 1)},
			Message: timeline.Message{Format: "anthropic", Role: "user", Raw: []byte(raw)}}
		m, ok := r.Read(&e)
		if !ok {
			t.Fatalf("%s says nothing", raw)
		}
		all = append(all, m)
	}
	words, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if got := timeline.HashOf(words).String(); extractKind != kind || got != want {
		t.Errorf("%s has the words %s:\n%s", extractKind, got, words)
	}
}
