// Package earlier measures what the first call of a conversation costs that recalls from
// the earlier ones of its project, over many recorded sessions, and how many openings bring
// something.
//
//	./scripts/check earlier [-sessions 200] [-openings FILE]… PATH…
//
// The sessions are imported into one project, again under other names if there are fewer
// than -sessions: copies share their contents, and so their vectors, but each is indexed.
// Each line of a file of openings begins a conversation, once with the scope "conversation"
// and once with "project". The check fails if a call takes longer than the table of waits
// allows. A busy machine makes the times longer; the processor time is that of the whole
// process.
package earlier

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/wire"
)

// project is the project of all sessions.
const project = "/check/project"

// Check measures the openings on the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("earlier")
	sessions := flags.Int("sessions", 200, "how many sessions the project has")
	show := flags.Bool("show", false, "print what each opening brings")
	var files []string
	flags.Func("openings", "`file` with an opening on each line; may be given more than once", func(name string) error {
		files = append(files, name)
		return nil
	})
	paths := kit.Parse(flags, args)
	if len(paths) == 0 {
		return errors.New("give a file or a folder of sessions")
	}
	dir, err := os.MkdirTemp("", "check-earlier")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := fill(ctx, store, paths, *sessions); err != nil {
		return err
	}
	m := &measure{show: *show}
	for _, reach := range []recall.Reach{recall.ReachConversation, recall.ReachProject} {
		e, err := oriel.Open(ctx, oriel.Config{Dir: dir, Store: store, NoEmbed: reach == recall.ReachConversation,
			Calls: oriel.CallOptions{RecallReach: reach}})
		if err != nil {
			return err
		}
		defer e.Close()
		m.engines = append(m.engines, e)
	}
	return m.run(ctx, files)
}

// fill imports sessions until the project has enough.
func fill(ctx context.Context, store timeline.Store, paths []string, sessions int) error {
	var files []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".jsonl" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return errors.New("there are no sessions (*.jsonl)")
	}
	messages := 0
	for n := range sessions {
		file := files[n%len(files)]
		r, err := importer.Import(ctx, store, []string{file},
			importer.Options{Project: project, Conversation: fmt.Sprintf("session-%d", n)})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		messages += r.Messages
	}
	fmt.Printf("%d conversations of %d sessions, %d messages\n", sessions, min(sessions, len(files)), messages)
	return nil
}

// measure makes the first calls of conversations.
type measure struct {
	engines []*oriel.Engine // without and with the project
	show    bool
	calls   int
}

func (m *measure) run(ctx context.Context, files []string) error {
	const wait = 30 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	with := m.engines[1]
	cold := m.call(ctx, with, "What did we decide before?")
	fmt.Printf("the first call of the server, with nothing indexed: %v\n", cold.wall.Round(time.Millisecond))
	slowest := cold.wall
	began := time.Now()
	if _, err := with.Recall(ctx, recall.Where{Project: project, Reach: recall.ReachProject}, "What did we decide?",
		recall.RecallOptions{}); err != nil {
		return err
	}
	if err := with.Wait(ctx); err != nil {
		return err
	}
	fmt.Printf("indexed and embedded in %v\n", time.Since(began).Round(time.Second))
	for _, name := range files {
		openings, err := lines(name)
		if err != nil {
			return err
		}
		var added, processor []time.Duration
		brought := 0
		for _, words := range openings {
			plain, full := m.call(ctx, m.engines[0], words), m.call(ctx, with, words)
			added, processor = append(added, full.wall-plain.wall), append(processor, full.processor-plain.processor)
			slowest = max(slowest, full.wall)
			if full.brought > 0 {
				brought++
			}
			if m.show {
				fmt.Printf("%6d bytes  %v  %.70s\n", full.brought, (full.wall - plain.wall).Round(time.Millisecond),
					words)
			}
		}
		fmt.Printf("%s: %d of %d openings bring something; added time p50 %v, p95 %v; processor time p50 %v, p95 %v\n",
			filepath.Base(name), brought, len(openings),
			share(added, .5), share(added, .95), share(processor, .5), share(processor, .95))
	}
	if most := call.Of(with).BeginWait(); slowest > most {
		return fmt.Errorf("%w: a call took %v, and the table of waits allows %v", kit.ErrFailed, slowest, most)
	}
	return nil
}

// called is what a first call took, and the bytes of earlier conversations in it.
type called struct {
	wall, processor time.Duration
	brought         int
}

// call begins a conversation. The call does not end: nothing of it is stored.
func (m *measure) call(ctx context.Context, e *oriel.Engine, words string) called {
	m.calls++
	text, _ := json.Marshal(words)
	body := fmt.Appendf(nil,
		`{"model":"claude-sonnet-4-5","max_tokens":1000,"system":"Working directory: %s","tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":%s}]}]}`, project, text)
	began, processor := time.Now(), kit.ProcessorTime()
	c := call.Of(e).Begin(ctx, &call.Request{ID: fmt.Sprint("call-", m.calls), Format: wire.Anthropic,
		Path: "/v1/messages", Header: http.Header{}, Body: body, Began: began})
	sent := c.Body()
	out := called{wall: time.Since(began), processor: kit.ProcessorTime() - processor}
	if i := bytes.Index(sent, []byte(prompt.EarlierTitle[:40])); i >= 0 {
		out.brought = len(sent) - i
	}
	return out
}

// lines returns the lines of a file.
func lines(name string) (all []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" {
			all = append(all, line)
		}
	}
	return all, s.Err()
}

// share returns the time that a share of all stays within.
func share(all []time.Duration, of float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(int(of*float64(len(all))), len(all)-1)].Round(100 * time.Microsecond)
}
