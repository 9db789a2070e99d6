package figures

import (
	"fmt"
	"slices"
	"strings"
)

// listed is a conversation in a list.
type listed struct {
	ID, Model                        string
	Calls, Imported, Messages, Plans int
	Tokens                           int `json:"tokens_before"`
	Cost, Without                    float64
	Unknown                          []string `json:"unknown_models"`
}

// conversations compares the lists of conversations and of their calls.
func (c *check) conversations(base string) error {
	by, err := c.usage("conversation")
	if err != nil {
		return err
	}
	var list struct{ Conversations []listed }
	if err := c.read(&list, "conversations"); err != nil {
		return err
	}
	var web struct{ Items []listed }
	if err := get(base, "api/conversations?limit=100", &web); err != nil {
		return err
	}
	c.same("conversations", len(list.Conversations), len(by)) // a total and no import
	c.same("console, conversations", len(web.Items), len(list.Conversations))
	opus, err := c.prices.Of(c.oriel, importedModel)
	if err != nil {
		return err
	}
	for _, l := range list.Conversations {
		want := by[l.ID]
		if l.ID == "imported" {
			want = &row{Calls: 4, Cost: 4 * opus.Cost(importedUse)}
			c.differ(l.Model == importedModel, "conversations, imported model", l.Model, importedModel)
		}
		what := "conversations, " + l.ID
		if want == nil {
			c.differ(false, what, "listed", "in oriel usage")
			continue
		}
		c.same(what+", calls", l.Calls+l.Imported, want.Calls)
		c.money(what+", cost", l.Cost, want.Cost)
		i := slices.IndexFunc(web.Items, func(w listed) bool { return w.ID == l.ID })
		if i < 0 {
			c.differ(false, "console, "+what, "missing", "listed")
			continue
		}
		w := &web.Items[i]
		c.same("console, "+what+", calls", w.Calls+w.Imported, l.Calls+l.Imported)
		c.same("console, "+what+", messages", w.Messages, l.Messages)
		c.money("console, "+what+", cost", w.Cost, l.Cost)
		c.differ(w.Model == l.Model, "console, "+what+", model", w.Model, l.Model)
		c.differ(slices.Equal(w.Unknown, l.Unknown), "console, "+what+", models without a price", w.Unknown, l.Unknown)
		if l.ID == "imported" {
			c.same("console, "+what+", tokens", w.Tokens, l.Tokens)
			continue
		}
		if err := c.calls(base, l.ID, want); err != nil {
			return err
		}
	}
	return nil
}

// calls compares the calls of a conversation with its row.
func (c *check) calls(base, name string, want *row) error {
	type priced struct {
		Came   int `json:"tokens_before"`
		Sent   int `json:"tokens_after"`
		Cost   float64
		Priced *bool
		Error  string
	}
	var list struct{ Calls []priced }
	if err := c.read(&list, "show", name, "--calls"); err != nil {
		return err
	}
	var web struct{ Items []priced }
	if err := get(base, "api/conversations/"+name+"/calls?order=asc&limit=500", &web); err != nil {
		return err
	}
	for door, calls := range map[string][]priced{"show --calls": list.Calls, "console, calls": web.Items} {
		cost, left, cuts := 0.0, 0, 0
		for i := range calls {
			k := &calls[i]
			if k.Came > k.Sent {
				cuts++
			}
			cost += k.Cost
			c.differ(k.Error == "" || name == "failing", door+" of "+name+", error", k.Error, "none")
			if k.Error == "" {
				left += max(0, k.Came-k.Sent) // what the client itself left out comes back beyond what came
			}
			if k.Priced != nil {
				c.differ(*k.Priced == (len(want.Unknown) == 0 && k.Error == ""),
					fmt.Sprintf("%s of %s, priced", door, name), *k.Priced, "as its model")
			}
		}
		c.same(door+" of "+name, len(calls), want.Calls)
		c.same(door+" of "+name+", with something left out", cuts,
			c.model.count(name, func(k *call) bool { return k.cut }))
		c.money(door+" of "+name+", cost", cost, want.Cost)
		c.same(door+" of "+name+", left out", left, want.LeftOut)
	}
	return nil
}

// texts compares what people are shown of a model without a price.
func (c *check) texts(string) error {
	for _, args := range [][]string{{"usage", "--by", "model"}, {"usage", "--by", "conversation"}, {"conversations"}} {
		out, err := c.run(args...)
		if err != nil {
			return err
		}
		found := false
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "unpriced") || strings.HasPrefix(line, "house-model") {
				found = true
				c.differ(strings.Contains(line, "?") && !strings.Contains(line, "$"), fmt.Sprint(args),
					strings.TrimSpace(line), `"?" and no "$"`)
			}
		}
		c.differ(found, fmt.Sprint(args), "no line of the model without a price", "one")
	}
	return nil
}
