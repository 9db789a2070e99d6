package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// showLearnt prints what was learnt of the models whose name contains name.
func showLearnt(cmd *cobra.Command, data *history, name string, asJSON bool) error {
	l, end, err := data.learnt()
	defer end()
	if err != nil {
		return &failure{err}
	}
	now := time.Now()
	limits, scales := []token.FoundLimit{}, []token.LearntScale{}
	for _, f := range l.Limits.All(now) {
		if strings.Contains(f.Model, name) {
			limits = append(limits, f)
		}
	}
	for _, s := range l.Scales() {
		if strings.Contains(s.Model, name) {
			scales = append(scales, s)
		}
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"limits": limits, "calibration": scales})
	}
	var b bytes.Buffer
	t := term.Table{Left: []bool{true, true, false, true}}
	t.Row("model", "learnt", "", "applies to")
	for _, f := range limits {
		holds := "all conversations, until " + f.At.Add(token.LimitAge).Local().Format("2 January 15:04")
		if f.Conversation != "" {
			holds = "conversation " + term.OneLine(f.Conversation, 60) + ", until another is refused for it, too"
		}
		what := "takes at most"
		if f.Reply {
			what = "takes at most, with the reply"
		}
		t.Row(ofTenant(f.Tenant, f.Model), what, term.Thousands(f.Tokens), holds)
	}
	for _, s := range scales {
		t.Row(ofTenant(s.Tenant, s.Model), fmt.Sprintf("counts, by %d calls", s.N), fmt.Sprintf("× %.2f", s.Slope), "")
	}
	if len(limits)+len(scales) == 0 {
		b.WriteString("nothing was learnt\n")
	} else {
		t.Draw(&b)
	}
	_, err = cmd.OutOrStdout().Write(b.Bytes())
	return err
}

func ofTenant(tenant, model string) string {
	if tenant == timeline.Local {
		return term.OneLine(model, 60)
	}
	return term.OneLine(model, 60) + " (" + term.OneLine(tenant, 30) + ")"
}

// forgetLearnt forgets what was learnt of a model, or of all.
func forgetLearnt(cmd *cobra.Command, data *history, model string) error {
	l, end, err := data.learnt()
	defer end()
	if err != nil {
		return &failure{err}
	}
	n, err := l.Forget(model)
	switch {
	case err != nil:
		return &failure{err}
	case n == 0 && model != "all":
		return fmt.Errorf("nothing was learnt of %q: oriel models --learnt lists what was", model)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "forgotten: %d\n", n)
	return err
}
