package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
)

// planned is a plan of oriel show --plan and of the API.
type planned struct {
	ID           string
	Before       int    `json:"tokens_before"`
	After        int    `json:"tokens_after"`
	Hidden       int    `json:"hidden"`
	HiddenTokens int    `json:"hidden_tokens"`
	AddedTokens  int    `json:"added_tokens"`
	Left         string `json:"left"`
	Blocks       []struct{ Tokens, Lost int }
	Inserted     []struct{ Tokens int }
	Spans        []struct{ Messages, Tokens int }
}

// plans compares the plans of all conversations: what came less what was sent is what rows
// say that messages lost, less what was put in; and that is what the bodies have.
func (c *check) plans(base string) error {
	checked := 0
	for _, name := range []string{"resumed", "chat", "responses", "silent", "rewrites", "unpriced"} {
		var web struct{ Items []planned }
		if err := get(base, "api/conversations/"+name+"/plans?limit=100", &web); err != nil {
			return err
		}
		for i := range web.Items {
			p := &web.Items[i]
			var own struct{ Plans []planned }
			if err := c.read(&own, "show", name, "--plan="+p.ID); err != nil {
				return err
			}
			var detail planned
			if err := get(base, "api/conversations/"+name+"/plans/"+p.ID, &detail); err != nil {
				return err
			}
			for door, q := range map[string]*planned{"show --plan": &own.Plans[0], "console, plan": &detail} {
				what := fmt.Sprintf("%s %s of %s", door, p.ID, name)
				tokens, lost, spans, inserted := 0, 0, 0, 0
				for _, b := range q.Blocks {
					if tokens, lost = tokens+b.Tokens, lost+b.Lost; b.Lost > b.Tokens {
						c.differ(false, what+", a message lost", b.Lost, b.Tokens)
					}
				}
				for _, s := range q.Spans {
					spans += s.Tokens
				}
				for _, in := range q.Inserted {
					inserted += in.Tokens
				}
				c.same(what+", came − sent", q.Before-q.After, q.HiddenTokens-q.AddedTokens)
				c.same(what+", rows", spans, q.HiddenTokens)
				c.same(what+", messages", lost, q.HiddenTokens)
				// A text counts a few tokens more or less in a message than by itself.
				c.differ(math.Abs(float64(q.AddedTokens-inserted)) <= float64(10*(1+len(q.Inserted))), what+", put in",
					q.AddedTokens, inserted)
				c.same(what+", list", q.HiddenTokens, p.HiddenTokens)
				checked++
			}
		}
	}
	c.differ(checked > 10, "plans", checked, "more than 10")
	return c.undo(base)
}

// undo compares the preview of an undo with the window.
func (c *check) undo(base string) error {
	r, err := http.NewRequest(http.MethodPost, base+"/oriel/api/conversations/chat/undo",
		strings.NewReader(`{"preview":true}`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var u struct {
		BackTokens   int `json:"back_tokens"`
		LeavesTokens int `json:"leaves_tokens"`
	}
	if res.StatusCode == http.StatusConflict || res.StatusCode == http.StatusUnprocessableEntity {
		return nil // there is no room
	}
	if err := json.NewDecoder(res.Body).Decode(&u); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("undo: %s %w", res.Status, err)
	}
	var strip struct {
		After  int `json:"tokens_after"`
		Budget int
	}
	if err := get(base, "api/conversations/chat/strip", &strip); err != nil {
		return err
	}
	c.differ(u.BackTokens > 0 && u.LeavesTokens < strip.After &&
		strip.After+u.BackTokens-u.LeavesTokens <= strip.Budget,
		"undo, window", u, strip)
	return nil
}

// windows compares what fills windows with what the model has seen.
func (c *check) windows(base string) error {
	type window struct {
		Tokens, Reported int
		LeftOut          int `json:"left_out"`
		Kinds            []struct {
			Kind   string
			Tokens int
		}
	}
	newest := map[string]*call{}
	for i := range c.model.calls {
		newest[c.model.calls[i].session] = &c.model.calls[i]
	}
	for _, name := range []string{"resumed", "chat", "responses", "silent", "rewrites", "unpriced"} {
		var own, web window
		if err := c.read(&own, "context", name); err != nil {
			return err
		}
		if err := get(base, "api/conversations/"+name+"/calls/last/composition", &web); err != nil {
			return err
		}
		for door, w := range map[string]*window{"context": &own, "console, window": &web} {
			sum := 0
			for _, k := range w.Kinds {
				if k.Kind != "free" {
					sum += k.Tokens
				}
			}
			c.same(door+" of "+name+", kinds", sum, w.Tokens)
			if k := newest[name]; k.unreported {
				c.near(door+" of "+name, float64(w.Tokens), float64(k.used.Prompt()))
			} else {
				c.same(door+" of "+name+", reported", w.Reported, k.used.Prompt())
			}
		}
		c.same("console against context of "+name, web.Tokens, own.Tokens)
		c.same("console against context of "+name+", left out", web.LeftOut, own.LeftOut)
	}
	var day struct {
		Calls, Read, Tokens int
		Cost                float64
		Kinds               []struct {
			Tokens int
			Cost   float64
		}
		Unknown []string `json:"unknown_models"`
	}
	if err := get(base, "api/composition?since=24h", &day); err != nil {
		return err
	}
	all, err := c.usage("day")
	if err != nil {
		return err
	}
	t := all["total"]
	tokens, cost, outputs := 0, 0.0, 0.0
	for _, k := range day.Kinds {
		tokens, cost = tokens+k.Tokens, cost+k.Cost
	}
	for i := range c.model.calls {
		if k := &c.model.calls[i]; !k.failed && !k.unreported {
			p, err := c.prices.Of(c.oriel, k.model)
			if err != nil {
				return err
			}
			u := k.used
			u.Output = 0
			outputs += p.Cost(k.used) - p.Cost(u)
		}
	}
	c.same("console, window of the day, calls", day.Calls, t.Calls)
	c.same("console, window of the day, covered", day.Read, t.Calls-t.Failed)
	c.same("console, window of the day, tokens", day.Tokens, t.Input)
	c.same("console, window of the day, kinds", tokens, day.Tokens)
	c.money("console, window of the day, cost", day.Cost, t.Cost-outputs)
	c.money("console, window of the day, cost of kinds", cost, day.Cost)
	c.same("console, window of the day, models without a price", len(day.Unknown), 1)
	return nil
}
