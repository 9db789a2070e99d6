package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// pricedCalls returns the calls of a conversation, priced with the model table and the file
// over it that is named.
func pricedCalls(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, modelFile string) ([]report.Call, error) {
	models, err := modelTable(modelFile)
	if err != nil {
		return nil, err
	}
	calls, err := report.Calls(cmd.Context(), s, s.tenant, c)
	if err != nil {
		return nil, &failure{err}
	}
	if err := usage.NewReader(s).Calls(cmd.Context(), s.tenant, c, models, func(all []usage.Priced) {
		for i := range calls {
			calls[i].SetPrice(all)
		}
	}); err != nil {
		return nil, &failure{err}
	}
	return calls, nil
}

// showCalls lists the calls of a conversation.
func showCalls(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, o *showFlags, modelFile string) error {
	calls, err := pricedCalls(cmd, s, c, modelFile)
	if err != nil {
		return err
	}
	models, err := modelTable(modelFile)
	if err != nil {
		return err
	}
	found, err := misses.NewReader(s).Calls(cmd.Context(), s.tenant, c, models)
	if err != nil {
		return &failure{err}
	}
	for i := range calls {
		calls[i].SetMiss(found)
	}
	if o.last > 0 {
		calls = calls[max(0, len(calls)-int(o.last)):]
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": c.Name, "calls": calls})
	}
	if len(calls) == 0 {
		_, err := io.WriteString(cmd.OutOrStdout(), "no calls were recorded: oriel run and oriel serve record them\n")
		return err
	}
	return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
		t := term.Table{Left: []bool{false, true, false, false, false, false, false, true, false, true, true, true}}
		t.Row("call", "time", "last id", "came", "sent", "cached", "unread", "why", "cost", "plan", "model", "")
		for i := range calls {
			k := &calls[i]
			cost, cached, unread, reason := "", "", "", ""
			if u := k.Usage; u != nil {
				cached = term.Percent(u.CacheRead, u.Input+u.CacheRead+u.CacheWrite+u.Hour)
			}
			if k.Miss != nil {
				unread, reason = term.Thousands(k.Miss.Tokens), string(k.Miss.Reason)
			}
			switch {
			case k.Unpriced():
				cost = "?"
			case k.Priced:
				cost = term.Money(k.Cost)
			}
			t.Row(strconv.Itoa(k.Number), k.Time.Local().Format("2 Jan 15:04:05"), strconv.FormatInt(k.Last, 10),
				term.Thousands(k.TokensBefore), term.Thousands(k.TokensAfter), cached, unread, reason, cost, k.Plan,
				term.OneLine(shortModel(k.Model), 24),
				term.OneLine(k.Error, 100))
		}
		if sc.Width > 0 {
			t.Fit(sc.Width, leastError, 2, 9, 1, 3) // id, model, time, cached
		}
		var b bytes.Buffer
		t.Draw(&b)
		_, err := out.Write(b.Bytes())
		return err
	})
}

// leastError is how many columns the error of a call gets before others are left out.
const leastError = 12

// sentAt reads the body that was sent at the call that a person means.
func sentAt(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, calls []report.Call,
	name string) (*report.Call, []byte, error) {
	i, err := report.CallOf(calls, name)
	if err != nil {
		return nil, nil, err
	}
	body, err := report.Sent(cmd.Context(), s, s.tenant, c.Name, &calls[i])
	if errors.Is(err, call.ErrPlanGone) || errors.Is(err, report.ErrNotKept) {
		return nil, nil, err
	} else if err != nil {
		return nil, nil, &failure{err}
	}
	return &calls[i], body, nil
}

// showSent prints the body that was sent at a call.
func showSent(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, o *showFlags) error {
	calls, err := report.Calls(cmd.Context(), s, s.tenant, c)
	if err != nil {
		return &failure{err}
	}
	_, body, err := sentAt(cmd, s, c, calls, o.sent)
	if err != nil {
		return err
	}
	if o.json {
		body = append(body, '\n')
	}
	if !term.IsTerminal(cmd.OutOrStdout()) || o.json {
		_, err := cmd.OutOrStdout().Write(body)
		return err
	}
	return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
		var b bytes.Buffer
		if err := json.Indent(&b, body, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, term.Printable(b.String()))
		return err
	})
}

// showDiff prints what changed between the bodies of two calls.
func showDiff(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, names []string, o *showFlags,
	modelFile string) error {
	calls, err := pricedCalls(cmd, s, c, modelFile)
	if err != nil {
		return err
	}
	var ends [2]report.Call
	var bodies [2][]byte
	for i, name := range names {
		k, body, err := sentAt(cmd, s, c, calls, name)
		if err != nil {
			return err
		}
		ends[i], bodies[i] = *k, body
	}
	changes, err := report.Diff(bodies[0], bodies[1])
	if err != nil {
		return &failure{err}
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), report.Difference{Conversation: c.Name, From: ends[0], To: ends[1],
			Changes: append([]report.Change{}, changes...)})
	}
	return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
		_, err := out.Write(drawDiff(ends, changes, o.full, sc))
		return err
	})
}
