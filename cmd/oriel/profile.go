package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

// profileLines tell people which profile is used, and how to choose another.
func profileLines(name string, own *window.ProfileTable) (used, others string) {
	p, err := own.Lookup(name)
	if err != nil {
		return name, otherProfiles(name)
	}
	used = p.Name
	switch {
	case p.About != "":
		used += ", " + p.About
	case p.Budget > 0 && p.Words:
		used += fmt.Sprintf(", %s tokens, and all that people wrote", term.Thousands(p.Budget))
	case p.Budget > 0:
		used += fmt.Sprintf(", %s tokens", term.Thousands(p.Budget))
	}
	return used, otherProfiles(p.Name)
}

// otherProfiles names the profiles that send less and more than the named one.
func otherProfiles(name string) string {
	switch name {
	case "full":
		return "--profile balanced or thrifty sends less, off everything"
	case "balanced":
		return "--profile thrifty sends less, full more, off everything"
	case "thrifty":
		return "--profile balanced or full sends more, off everything"
	case "observe":
		return "--profile balanced, full or thrifty sends what is shown here"
	case "off":
		return "--profile balanced or full cuts what does not fit"
	}
	return "--profile balanced is the default, full sends more, off everything"
}

// tellStart prints what oriel run says before the program starts; trouble is what the opening
// of the history reported. A reader that has gone stops nothing, and the program inherits no
// ignored signal.
func tellStart(w io.Writer, l *settings.Loaded, trouble []byte, base string) {
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	var b []byte
	for _, warning := range l.Warnings {
		b = fmt.Appendf(b, "oriel: warning: %s\n", term.OneLine(warning, maxError))
	}
	b = append(b, trouble...)
	used, others := profileLines(l.Profile, l.ProfileTable)
	tell(w, fmt.Appendf(b, "oriel: profile %s\noriel: %s\noriel: console %s/oriel/\n", used, others, base))
}
