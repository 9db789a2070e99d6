package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/test/eventstream"
	"github.com/oriel-context/oriel/internal/test/script"
	"github.com/oriel-context/oriel/wire"
)

// streamCase is one case of testdata/streams: a line is the data of an event, which
// gets its type as its name; "raw" writes bytes as they are, "sdk no" says that the
// vendor's accumulator does not read this one as we do. Behind "framed" each line is a frame of
// Amazon's event stream; "exception" and "failure" are frames with a name and a message.
type streamCase struct {
	name    string
	format  wire.Format
	framing wire.Framing
	sdk     bool
	sse     []byte
}

// reader returns a reader for the stream.
func (c *streamCase) reader() *wire.StreamReader {
	r := wire.NewStreamReader(c.format)
	r.Framing = c.framing
	return r
}

// read reads the stream in pieces.
func (c *streamCase) read(chunks ...[]byte) *wire.Reply { return readAll(c.reader(), chunks...) }

func readStreamCase(t testing.TB, format wire.Format, in string) streamCase {
	t.Helper()
	c := streamCase{format: format, sdk: true, framing: wire.NewStreamReader(format).Framing}
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n")
		switch word, rest, _ := strings.Cut(line, " "); {
		case word == "#":
			c.name = rest
		case word == "sdk":
			c.sdk = rest != "no"
		case word == "raw":
			s, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatal(err)
			}
			c.sse = append(c.sse, s...)
		case word == "framed":
			c.framing = wire.Frames
		case word == "exception":
			name, message, _ := strings.Cut(rest, " ")
			c.sse = eventstream.AppendException(c.sse, name, message)
		case word == "failure":
			name, message, _ := strings.Cut(rest, " ")
			c.sse = eventstream.AppendError(c.sse, name, message)
		case line != "" && c.framing == wire.Frames && line[0] == '{':
			c.sse = eventstream.AppendChunk(c.sse, []byte(line))
		case line != "" && c.framing == wire.Frames:
			c.sse = eventstream.Append(c.sse, word, []byte(rest))
		case line != "" && c.framing == wire.Lines:
			c.sse = append(c.sse, line+"\n"...)
		case line != "":
			var event struct{ Type string }
			if err := json.Unmarshal([]byte(line), &event); err == nil && event.Type != "" {
				c.sse = append(c.sse, "event: "+event.Type+"\n"...)
			}
			c.sse = append(c.sse, "data: "+line+"\n\n"...)
		}
	}
	return c
}

// streamCases are all cases of testdata/streams.
func streamCases(t testing.TB) []streamCase {
	t.Helper()
	var cases []streamCase
	for _, f := range wire.Protocols() {
		raw, err := os.ReadFile(filepath.Join("testdata", "streams", f.String()+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
			in, _, _ := strings.Cut(c, "\n----")
			cases = append(cases, readStreamCase(t, f, in))
		}
	}
	return cases
}

func showReply(t testing.TB, r *wire.Reply) string {
	var out strings.Builder
	end := "cut off"
	if r.Complete {
		end = "complete"
	}
	fmt.Fprintf(&out, "%s id=%q model=%q stop=%q\n", end, r.ID, r.Model, r.Stop)
	if u := r.Usage; u.HasUsage {
		fmt.Fprintf(&out, "usage: input %d, read %d, written %d + %d, total %d; output %d, reasoning %d",
			u.Input, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.TotalInput(), u.Output, u.Reasoning)
		if u.Service != "" {
			fmt.Fprintf(&out, "; tier %s", u.Service)
		}
		out.WriteString("\n")
	}
	if e := r.Error; e != nil {
		fmt.Fprintf(&out, "%v (overflow: %t)\n", e, isOverflow(200, e.Raw))
		if !json.Valid(e.Raw) {
			t.Errorf("not JSON: %s", e.Raw)
		}
	}
	if r.Message != nil {
		fmt.Fprintf(&out, "%s\n", r.Message)
	}
	for _, item := range r.Items {
		fmt.Fprintf(&out, "%s\n", item)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	if _, err := r.Messages(); err != nil {
		t.Errorf("the reply is no message: %v\n%s", err, out.String())
	}
	return out.String()
}

// SPEC E4
func TestStreamScripts(t *testing.T) {
	for _, f := range wire.Protocols() {
		script.Run(t, filepath.Join("testdata", "streams", f.String()+".txt"), func(t *testing.T, in string) string {
			c := readStreamCase(t, f, in)
			return showReply(t, c.read(c.sse))
		})
	}
}

func TestReplyScripts(t *testing.T) {
	script.Run(t, "testdata/replies/*.txt", func(t *testing.T, in string) string {
		var f wire.Format
		var body string
		for line := range strings.Lines(in) {
			switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
			case "#":
			case "format":
				var err error
				if f, err = wire.ParseFormat(rest); err != nil {
					t.Fatal(err)
				}
			default:
				body += line
			}
		}
		r, err := wire.ReadReply(f, []byte(strings.TrimSpace(body)))
		if err != nil {
			return "error: " + err.Error()
		}
		return showReply(t, r)
	})
}

func readAll(r *wire.StreamReader, chunks ...[]byte) *wire.Reply {
	for _, c := range chunks {
		if n, err := r.Write(c); n != len(c) || err != nil {
			panic("a stream reader failed its writer")
		}
	}
	return r.Reply()
}

// However a stream is cut into writes, whichever line ends it has, the reply is the
// same.
func TestAnyChunkingGivesTheSameReply(t *testing.T) {
	cases := streamCases(t)
	for _, c := range cases {
		want := c.read(c.sse)
		one := c.reader()
		for i := range c.sse {
			one.Write(c.sse[i : i+1])
		}
		if diff := cmp.Diff(want, one.Reply()); diff != "" {
			t.Errorf("%s, byte by byte: %s", c.name, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cases).Draw(t, "case")
		sse := c.sse
		if c.framing != wire.Frames && !bytes.Contains(sse, []byte("\r")) {
			ends := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line ends")
			sse = bytes.ReplaceAll(sse, []byte("\n"), []byte(ends))
		}
		want := c.read(c.sse)
		var chunks [][]byte
		for rest := sse; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 300)).Draw(t, "chunk")
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, c.read(chunks...)); diff != "" {
			t.Fatalf("%s: %s", c.name, diff)
		}
	})
}

// A reader may be asked in the middle, and goes on.
func TestReplyInTheMiddleDisturbsNothing(t *testing.T) {
	for _, c := range streamCases(t) {
		r := c.reader()
		for i := range c.sse {
			r.Write(c.sse[i : i+1])
			if i%7 == 0 || c.sse[i] == '}' {
				r.Reply()
			}
		}
		if diff := cmp.Diff(c.read(c.sse), r.Reply()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Whichever byte a connection breaks at, what came before is a partial reply that
// can be read, and never a complete one unless the end was seen.
func TestCutOffStreamsAreNotComplete(t *testing.T) {
	for _, c := range streamCases(t) {
		whole := c.read(c.sse)
		complete := false
		for i := range c.sse {
			if i%13 != 0 && !strings.ContainsRune("\n]:", rune(c.sse[i])) {
				continue // not a place where anything may be over, or only some of them
			}
			r := c.read(c.sse[:i])
			for _, raw := range append(r.Items, r.Message) {
				if raw != nil && !json.Valid(raw) {
					t.Fatalf("%s, byte %d: %s", c.name, i, raw)
				}
			}
			if r.Complete && !whole.Complete || complete && !r.Complete {
				t.Fatalf("%s: complete at byte %d: %t", c.name, i, r.Complete)
			}
			if complete = r.Complete; r.Pending && (complete || whole.Complete) {
				t.Fatalf("%s: pending at byte %d", c.name, i)
			}
			if complete && (string(r.Message) != string(whole.Message) || !cmp.Equal(r.Items, whole.Items)) {
				t.Fatalf("%s: complete at byte %d, but more came", c.name, i)
			}
		}
	}
}

// Beyond the limit nothing is kept, the reply says so, and usage is still read.
func TestStreamsAreBounded(t *testing.T) {
	text := strings.Repeat("x", 1000)
	events := map[wire.Format][3]string{
		wire.Anthropic: {
			`{"type":"message_start","message":{"id":"m","content":[]}}` + "\n\ndata: " +
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}` + "\n\ndata: " +
				`{"type":"message_stop"}`,
		},
		wire.Chat: {
			`{"id":"m","choices":[{"index":0,"delta":{"role":"assistant"}}]}`,
			`{"id":"m","choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`,
			`{"id":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":7}}`,
		},
		wire.Responses: {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"` + text + `"}`,
			`{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":7}}}`,
		},
	}
	for f, e := range events {
		for _, huge := range []bool{false, true} {
			r := wire.NewStreamReader(f)
			r.Limit = 10_000
			send := func(data string) { fmt.Fprintf(r, "data: %s\n\n", data) }
			send(e[0])
			for range 100 {
				send(e[1])
				if huge { // one event that is over the limit by itself
					send(strings.Replace(e[1], text, strings.Repeat(text, 20), 1))
				}
			}
			send(e[2])
			reply := r.Reply()
			size := len(reply.Message)
			for _, item := range reply.Items {
				size += len(item)
			}
			if reply.Complete || size > 11_000 || huge && size > 2_000 || size < 1000 || reply.Usage.Output != 7 {
				t.Errorf("%s, huge %t: %d bytes, complete %t, usage %+v", f, huge, size, reply.Complete, reply.Usage)
			}
			if !strings.Contains(strings.Join(reply.Notes, "\n"), "over the limit") {
				t.Errorf("%s: %q", f, reply.Notes)
			}
		}
	}
}

// Responses sends everything up to four times; it counts once.
func TestWhatIsSentAgainCountsOnce(t *testing.T) {
	text := strings.Repeat("x", 10_000)
	part := `{"type":"output_text","text":"` + text + `","annotations":[]}`
	item := `{"id":"m","type":"message","role":"assistant","content":[` + part + `]}`
	r := wire.NewStreamReader(wire.Responses)
	r.Limit = 12_000
	for _, data := range []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"` + text + `"}`,
		`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"` + text + `"}`,
		`{"type":"response.content_part.done","output_index":0,"content_index":0,"part":` + part + `}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.completed","response":{"status":"completed","output":[` + item + `]}}`,
	} {
		fmt.Fprintf(r, "data: %s\n\n", data)
	}
	if reply := r.Reply(); !reply.Complete || len(reply.Items) != 1 || string(reply.Items[0]) != item {
		t.Errorf("%+v", reply.Notes)
	}
}

// No bytes make a reader panic or give something that is not JSON, and no chunking
// changes what is read.
func FuzzStream(f *testing.F) {
	formats := wire.Protocols()
	for _, c := range streamCases(f) {
		framed := byte(0)
		if c.framing == wire.Frames {
			framed = 0x80
		}
		f.Add(c.sse, byte(slices.Index(formats, c.format))|framed, uint16(17), uint16(900))
	}
	f.Fuzz(func(t *testing.T, sse []byte, format byte, chunk, limit uint16) {
		read := func(chunk int) *wire.Reply {
			r := wire.NewStreamReader(formats[int(format&0x7f)%len(formats)])
			if format >= 0x80 {
				r.Framing = wire.Frames
			}
			r.Limit = int(limit)
			for rest := sse; len(rest) > 0; {
				n := min(len(rest), chunk)
				r.Write(rest[:n])
				rest = rest[n:]
			}
			return r.Reply()
		}
		want := read(len(sse) + 1)
		if diff := cmp.Diff(want, read(int(chunk)+1)); diff != "" {
			t.Fatal(diff)
		}
		for _, raw := range append(want.Items, want.Message) {
			if raw != nil && !json.Valid(raw) {
				t.Fatalf("not JSON: %s", raw)
			}
		}
		if want.Error != nil && !json.Valid(want.Error.Raw) {
			t.Fatalf("not JSON: %s", want.Error.Raw)
		}
	})
}

func FuzzReply(f *testing.F) {
	raw, err := os.ReadFile("testdata/replies/replies.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		if line[0] == '{' || line[0] == '[' {
			f.Add(bytes.TrimSpace(line), byte(len(line)))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, format byte) {
		r, err := wire.ReadReply(wire.Format(format%5), body)
		if err != nil {
			return
		}
		for _, raw := range append(r.Items, r.Message) {
			if raw != nil && !json.Valid(raw) {
				t.Fatalf("not JSON: %s", raw)
			}
		}
		if r.Complete && r.Error != nil {
			t.Fatal("complete with an error")
		}
	})
}
