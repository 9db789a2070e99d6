package settings

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"
)

// Watch looks at every tick at the files that now was read from. When they are others
// than before, and the same for two ticks, so that nobody is writing them, it loads them
// anew and calls changed with what they say, or with what is wrong. It returns when ctx
// ends.
func Watch(ctx context.Context, s Sources, now *Loaded, tick <-chan time.Time, changed func(*Loaded, error)) {
	w := newWatcher(s, now)
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
	// used are the contents that were loaded, last those of the last look.
	used, last string
}

func newWatcher(s Sources, now *Loaded) *watcher {
	w := &watcher{sources: s}
	w.loaded(now)
	return w
}

func (w *watcher) loaded(l *Loaded) {
	w.files, w.used, w.last = l.files, l.contents, l.contents
	// A file that vanishes is a mistake, and no wish for the defaults.
	w.sources.Optional = w.sources.Optional && l.File == ""
}

// look is nil, nil where there is nothing new.
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
		// A file that was named and is not there may yet come.
		w.files, w.used, w.last = l.files, l.contents, l.contents
		return nil, err
	}
	w.loaded(l)
	return l, nil
}

// isStream reports whether a path is a pipe or the like, as of a shell's <(…): it can be
// read but once, and is empty, or blocks, thereafter.
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

// content tells whether a file has changed; what cannot be read is told apart, too.
func content(text string, err error) string {
	if err != nil {
		text = err.Error()
	}
	return text + "\x00"
}
