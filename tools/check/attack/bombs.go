package attack

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// maxResident is the most memory that a server may use under any attack.
const maxResident = 1 << 30

// bombs sends 40 calls at once for each encoding. Each answer of a few bytes
// unpacks to 250 MB.
func bombs(t *trial) error {
	const calls, size = 40, 250 << 20
	bombs := map[string][]byte{}
	for _, encoding := range []string{"br", "gzip", "zstd", "deflate"} {
		bomb, err := chatBomb(encoding, size)
		if err != nil {
			return setup("pack an answer", err)
		}
		bombs[encoding] = bomb
	}
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		encoding := r.Header.Get("X-Want")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", encoding)
		w.Write(bombs[encoding])
	}))
	s, err := t.serve(serveOptions{upstream: up})
	if err != nil {
		return err
	}
	for _, encoding := range []string{"br", "gzip", "zstd", "deflate"} {
		err := s.sameAnswers(calls, bombs[encoding], "X-Want", encoding)
		if err == nil {
			err = s.settle()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", encoding, err)
		}
		t.say("%s: %d answers of %d bytes that unpack to %d MB: at most %d MB resident", encoding, calls,
			len(bombs[encoding]), size>>20, s.memory("VmHWM")>>20)
	}
	return s.stayedSmall()
}

// sameAnswers sends a number of calls at once, all of which must get the
// answer unchanged.
func (s *server) sameAnswers(calls int, want []byte, header ...string) error {
	errs := make([]error, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			a, err := s.chatCall(fmt.Sprintf("call %d", i), header...)
			if err == nil && !bytes.Equal(a.body, want) {
				err = fmt.Errorf("the answer has %d bytes instead of the provider's %d", len(a.body), len(want))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := s.alive(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// atOnce runs do for a number of calls at the same time. It returns the first
// error, or an error about the server's memory afterwards.
func (s *server) atOnce(name string, calls int, do func(i int) error) error {
	errs := make([]error, calls)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	if err := s.stayedSmall(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// answered sends a chat completion request and checks the answer.
func (s *server) answered(body string, header ...string) error {
	a, err := s.post("/v1/chat/completions", body, header...)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	return err
}

// stayedSmall waits until the server is idle, or for two minutes, and checks its peak memory.
// On a slow machine vectors of hundreds of megabytes of text take longer.
func (s *server) stayedSmall() error {
	if err := s.settle(); err != nil && !errors.Is(err, errBusy) {
		return err
	}
	if most := s.memory("VmHWM"); most > maxResident {
		return fmt.Errorf("%d MB were resident, more than %d", most>>20, maxResident>>20)
	}
	return nil
}

// chatBomb compresses a chat completion with a text of size bytes.
func chatBomb(encoding string, size int64) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "br":
		w = brotli.NewWriterLevel(&out, 9)
	case "gzip":
		w, _ = gzip.NewWriterLevel(&out, 9)
	case "deflate":
		w, _ = flate.NewWriter(&out, 9)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
	}
	if err := writeCompletion(w, size, strings.Repeat("a", 1<<20)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// writeCompletion writes a chat completion whose text has size bytes and
// repeats piece.
func writeCompletion(w io.Writer, size int64, piece string) error {
	if _, err := io.WriteString(w,
		`{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`); err != nil {
		return err
	}
	for size > 0 {
		n := min(size, int64(len(piece)))
		if _, err := io.WriteString(w, piece[:n]); err != nil {
			return err
		}
		size -= n
	}
	_, err := io.WriteString(w, `"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	return err
}
