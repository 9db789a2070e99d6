// Package cache sends recorded sessions of Claude Code through an engine to a provider that
// reports what the recorded one reported, and says how many of the tokens that it did not read
// from its cache have a reason.
//
//	./scripts/check cache [-v] PATH…
//
// Recordings have no system prompt and no tools: a text of the missing size stands for them. Results
// that the agent cleared are cleared where the recording says so. The
// check fails if less than 98% of the unread tokens have a reason other than "provider".
package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/wire"
)

// leastNamed is the share of unread tokens that must have a reason.
const leastNamed = .98

// Check reads the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("cache")
	verbose := flags.Bool("v", false, "print each miss")
	paths := kit.Parse(flags, args)
	ctx := context.Background()
	files, _, err := importer.Files(ctx, paths, importer.Options{})
	if err != nil {
		return err
	}
	var unread, named int
	sums := map[misses.Reason]*misses.ReasonSum{}
	for i := range files {
		r, err := replay(ctx, &files[i])
		if err != nil {
			return fmt.Errorf("%s: %w", files[i].Path, err)
		}
		own := 0
		for _, s := range r.Reasons {
			t := sums[s.Reason]
			if t == nil {
				t = new(misses.ReasonSum)
				sums[s.Reason] = t
			}
			t.Calls, t.Tokens, t.Cost = t.Calls+s.Calls, t.Tokens+s.Tokens, t.Cost+s.Cost
			if s.Reason != misses.Provider {
				own += s.Tokens
			}
		}
		unread, named = unread+r.Unread, named+own
		fmt.Printf("%s: %d calls, %d prompt tokens, %d read, %d unread, %d of these with a reason\n",
			filepath.Base(files[i].Path), r.Calls, r.Input, r.Read, r.Unread, own)
		if *verbose {
			for _, f := range r.Largest {
				fmt.Printf("  call %d %s: %d read, %d unread: %s %+v\n", f.Call, f.Time.Format(time.DateTime), f.Read,
					f.Tokens, f.Reason, f.Change)
			}
		}
	}
	for _, reason := range misses.Reasons {
		if s := sums[reason]; s != nil && s.Calls > 0 {
			fmt.Printf("%-9s %5d calls %10d tokens $%.2f\n", reason, s.Calls, s.Tokens, s.Cost)
		}
	}
	share := 1.0
	if unread > 0 {
		share = float64(named) / float64(unread)
	}
	fmt.Printf("%.2f%% of %d unread tokens have a reason\n", 100*share, unread)
	if share < leastNamed {
		return kit.Failed(1)
	}
	return nil
}

// replay sends the sessions of a file and returns the report on their calls.
func replay(ctx context.Context, f *importer.File) (*misses.CacheReport, error) {
	store := memory.New()
	defer store.Close()
	p := &provider{}
	engine, err := oriel.Open(ctx, oriel.Config{Store: store, NoEmbed: true, Now: func() time.Time { return p.at },
		Calls: oriel.CallOptions{Profile: "off"}})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	cleared, err := clearings(f.Path)
	if err != nil {
		return nil, err
	}
	err = recording.Read(ctx, f, recording.Options{Open: func(s *recording.Session) (recording.Sink, error) {
		if s.Format != wire.Anthropic {
			return nil, nil
		}
		return &sink{provider: p, client: &http.Client{Transport: engine.Transport(p)},
			name: s.Name, cleared: cleared}, nil
	}})
	if err != nil {
		return nil, err
	}
	if err := engine.Close(); err != nil {
		return nil, err
	}
	return misses.Read(ctx, store, timeline.Local, misses.Options{Largest: 1000})
}

// provider answers with what was recorded.
type provider struct {
	at    time.Time
	reply string
	usage token.Usage
}

// RoundTrip implements http.RoundTripper.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	u := p.usage
	body := fmt.Sprintf(`{"id":"msg","type":"message","role":"assistant","model":"m","content":%s,"stop_reason":"end_turn",`+
		`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},"output_tokens":%d}}`,
		p.reply, u.Input, u.CacheRead, u.CacheWrite+u.CacheWrite1h, u.CacheWrite, u.CacheWrite1h, u.Output)
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

// sink sends the calls of one session.
type sink struct {
	*provider
	client *http.Client
	name   string
	told   [][]byte
	// cleared are the clearings that are still to come.
	cleared []clearing
	system  string
}

func (s *sink) Says(raw []byte) error {
	s.told = append(s.told, bytes.Clone(raw))
	return nil
}

func (s *sink) Resets() error { s.told = nil; return nil }

func (s *sink) Rewinds(told [][]byte) error {
	s.told = nil
	for _, raw := range told {
		s.told = append(s.told, bytes.Clone(raw))
	}
	return nil
}

func (s *sink) Ends() error { return nil }

// Calls implements recording.Sink.
func (s *sink) Calls(c recording.Call, reply [][]byte) error {
	if !c.Reported || c.Usage.Prompt() == 0 || len(s.told) == 0 || len(reply) == 0 {
		return nil
	}
	for ; len(s.cleared) > 0 && s.cleared[0].at.Before(c.At); s.cleared = s.cleared[1:] {
		for i := range s.told {
			s.told[i] = without(s.told[i], s.cleared[0].ids)
		}
	}
	var said struct{ Content json.RawMessage }
	if err := json.Unmarshal(reply[0], &said); err != nil {
		return err
	}
	s.at, s.reply, s.usage = c.At, string(said.Content), c.Usage
	list := bytes.Join(s.told, []byte(","))
	if s.system == "" { // what the recording lacks
		const rule = "Do what the task asks, and say what you did. "
		s.system = "Work." + strings.Repeat(rule, max(0, c.Usage.Prompt()-len(list)/4)/12)
	}
	body := fmt.Sprintf(`{"model":%q,"max_tokens":32000,"system":%q,"messages":[%s]}`, c.Model, s.system, list)
	r, err := http.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Oriel-Conversation", s.name)
	res, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
