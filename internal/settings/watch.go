package settings

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"
)

// Watch reads the files of cur on every tick. Once their contents have changed and then
// stayed the same for two ticks, it reloads them and calls changed with the result or
// the error. It returns when ctx is done.
func Watch(ctx context.Context, s Sources, cur *Loaded, tick <-chan time.Time, changed func(*Loaded, error)) {
	w := newWatcher(s, cur)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if l, err := w.look(); l != nil || err != nil {
				changed(l, err)
			}
		}
	}
}

type watcher struct {
	sources Sources
	files   []string
	// used is the contents last loaded, last the contents last seen.
	used, last string
}

func newWatcher(s Sources, cur *Loaded) *watcher {
	w := &watcher{sources: s}
	w.loaded(cur)
	return w
}

func (w *watcher) loaded(l *Loaded) {
	w.files, w.used, w.last = l.files, l.contents, l.contents
	// A file that disappears is a mistake, not a request for the defaults.
	w.sources.Optional = w.sources.Optional && l.File == ""
}

// look returns nil, nil if nothing has changed.
func (w *watcher) look() (*Loaded, error) {
	if slices.ContainsFunc(w.files, isStream) {
		return nil, nil
	}
	seen := contents(w.files)
	settled := seen == w.last
	w.last = seen
	if !settled || seen == w.used {
		return nil, nil
	}
	l, err := load(w.sources)
	if err != nil {
		// A file that is named but missing may still appear.
		w.files, w.used, w.last = l.files, l.contents, l.contents
		return nil, err
	}
	w.loaded(l)
	return l, nil
}

// isStream reports whether a path is a pipe or similar, as from a shell's <(…), which
// can be read only once.
func isStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

func contents(files []string) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(content(readAll(f)))
	}
	return b.String()
}

// content returns a text that changes whenever the file or its read error does.
func content(text string, err error) string {
	if err != nil {
		text = err.Error()
	}
	return text + "\x00"
}
