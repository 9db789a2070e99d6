package attack

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// largeText returns a text of 60 MB that hardly compresses.
func largeText() string {
	raw := make([]byte, 45<<20)
	rand.NewChaCha8([32]byte{}).Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

// largeAnswers sends 20 calls at once whose answers are plain JSON of 60 MB.
func largeAnswers(t *trial) error {
	var body bytes.Buffer
	text := largeText()
	if err := writeCompletion(&body, int64(len(text)), text); err != nil {
		return setup("write an answer", err)
	}
	return large(t, "application/json", body.Bytes())
}

// largeEvents sends 20 calls at once whose answers are streams with one event of 60 MB.
func largeEvents(t *trial) error {
	const chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-4o\",\"choices\":[{\"index\":0,\"delta\":{%s}%s}]}\n\n"
	var body bytes.Buffer
	fmt.Fprintf(&body, chunk, `"role":"assistant","content":"`+largeText()+`"`, "")
	fmt.Fprintf(&body, chunk, "", `,"finish_reason":"stop"`)
	body.WriteString("data: [DONE]\n\n")
	return large(t, "text/event-stream", body.Bytes())
}

// large has the provider answer 20 calls at once with a large body. All of
// them have begun before the first one ends.
func large(t *trial, kind string, body []byte) error {
	const calls, last = 20, 1024
	var begun atomic.Int32
	all := make(chan struct{})
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		w.Write(body[:len(body)-last])
		if begun.Add(1) == calls {
			close(all)
		}
		select {
		case <-all:
			w.Write(body[len(body)-last:])
		case <-r.Context().Done():
		}
	}))
	events := filepath.Join(t.dir, "events")
	s, err := t.serve(serveOptions{upstream: up, args: []string{"--events", events}})
	if err != nil {
		return err
	}
	if err := s.sameAnswers(calls, body); err != nil {
		return err
	}
	if err := s.stayedSmall(); err != nil {
		return err
	}
	t.say("%d answers of %d MB at once: at most %d MB resident", calls, len(body)>>20, s.memory("VmHWM")>>20)
	h, err := s.health()
	if err != nil {
		return err
	}
	return keptOrTold(t, events, calls, h)
}

// cutEvents interrupts 20 streams at once, each with one event of 60 MB.
func cutEvents(t *trial) error {
	const calls = 20
	event := []byte(`data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"` + largeText() +
		"\"}}]}\n\n")
	var begun atomic.Int32
	all := make(chan struct{})
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(event)
		if begun.Add(1) == calls {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}))
	s, err := t.serve(serveOptions{upstream: up})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			s.chatCall(fmt.Sprintf("call %d", i), "Authorization",
				"Bearer sk-0123456789abcdef0123456789")
		}) // it must fail
	}
	wg.Wait()
	if err := s.stayedSmall(); err != nil {
		return err
	}
	t.say("%d streams broke off after %d MB: at most %d MB resident", calls, len(event)>>20, s.memory("VmHWM")>>20)
	return nil
}

// keptOrTold checks that all calls were recorded and that every answer that
// was not kept was reported.
func keptOrTold(t *trial, events string, calls int, h health) error {
	all, err := readEvents(events)
	if err != nil {
		return err
	}
	recorded, lost, told := 0, 0, 0
	for _, e := range all {
		switch {
		case e.Kind == "call" && e.Error == "":
			recorded++
		case e.Kind == "call" && strings.Contains(e.Error, "was not kept"):
			recorded++
			lost++
		case e.Kind == "unkept-answer":
			told++
		}
	}
	t.say("%d calls recorded, %d of them without the answer, of which %d events tell; health %s", recorded, lost, told,
		h.Status)
	switch {
	case recorded != calls:
		return fmt.Errorf("%d of %d calls are recorded", recorded, calls)
	case lost != told:
		return fmt.Errorf("%d answers were lost, %d events tell of it", lost, told)
	case lost > 0 && h.Status != "degraded":
		return fmt.Errorf("%d answers were lost for lack of memory, and the health is %s", lost, h.Status)
	}
	return nil
}
