package strict

import (
	"bytes"
	"encoding/json"
	"slices"
)

// SameThinking checks that every thinking, redacted_thinking and reasoning block, and every
// signed part, of after occurs byte for byte in before: "`thinking` or `redacted_thinking`
// blocks in the latest assistant message cannot be modified. These blocks must
// remain as they were in the original response." Both bodies are of the same
// format.
func SameThinking(before, after []byte) []Problem {
	var p problems
	was := make(map[string]int)
	for _, t := range thoughts(asObject(before)) {
		was[string(t.raw)]++
	}
	for _, t := range thoughts(asObject(after)) {
		if was[string(t.raw)]--; was[string(t.raw)] < 0 {
			p.add(ThinkingChanged, t.index, "a block of thinking that was not there before")
		}
	}
	return p.list
}

// thought is one block of thinking as written.
type thought struct {
	raw   json.RawMessage
	index int
}

// thoughts lists the blocks of thinking of a body of any format, as written.
func thoughts(body object) []thought {
	var found []thought
	for _, key := range []string{"messages", "input", "contents"} {
		list, _ := asArray(body[key])
		for i, raw := range list {
			m := asObject(raw)
			parts, _ := asArray(m["parts"])
			for _, raw := range parts {
				if p := asObject(raw); p.either("thoughtSignature", "thought_signature") != nil || p.has("thought") {
					found = append(found, thought{raw, i})
				}
			}
			if m.text("type") == "reasoning" {
				found = append(found, thought{raw, i})
			}
			blocks, _ := asArray(m["content"])
			for _, raw := range blocks {
				if b := asObject(raw); isThinking(b.text("type")) || b.has("reasoningContent") {
					found = append(found, thought{raw, i})
				}
			}
		}
	}
	return found
}

// BoundThinking checks two Anthropic bodies for the models that bind thinking to
// what stood before it: "The block is bound to a different conversation. Remove
// the block, or set `thinking.block_binding.prefix_mismatch_behavior` to
// "drop_block"" (platform.claude.com, preserved thinking). It reports every
// thinking block of after in front of which system, tools or messages differ
// from before. Breakpoints and white space are no difference; blocks of thinking
// themselves are not compared, since an invalid one only makes later ones
// invalid.
//
// Not every body must pass: the check applies from Claude Fable 5.1 on, for
// accounts made since 2026-08-31 or requests that set the field, and not at all
// with "drop_block".
func BoundThinking(before, after []byte) []Problem {
	var p problems
	b, a := asObject(before), asObject(after)
	same := equalJSON(b["system"], a["system"]) && equalJSON(b["tools"], a["tools"])
	old, _ := asArray(b["messages"])
	list, _ := asArray(a["messages"])
	for i, raw := range list {
		if i >= len(old) {
			same = false
		}
		var was []json.RawMessage
		m := asObject(raw)
		if same {
			o := asObject(old[i])
			same = o.text("role") == m.text("role")
			was = spoken(o)
		}
		blocks, _ := asArray(m["content"])
		for _, raw := range blocks {
			kind := asObject(raw).text("type")
			if isThinking(kind) {
				if !same {
					p.add(ThinkingUnbound, i, "%s kept, but something before it changed", kind)
				}
				continue
			}
			if same = same && len(was) > 0 && equalJSON(was[0], raw); same {
				was = was[1:]
			}
		}
		if text, ok := asString(m["content"]); ok && same {
			same = len(was) == 1 && asObject(was[0]).text("text") == text
		} else if same && len(was) > 0 {
			same = false
		}
	}
	return p.list
}

// spoken lists the blocks of a message without thinking; a string is one block.
func spoken(m object) []json.RawMessage {
	if _, ok := asString(m["content"]); ok {
		return []json.RawMessage{json.RawMessage(`{"type":"text","text":` + string(m["content"]) + `}`)}
	}
	list, _ := asArray(m["content"])
	return slices.DeleteFunc(list, func(raw json.RawMessage) bool {
		return isThinking(asObject(raw).text("type"))
	})
}

// equalJSON reports whether two values are equal, ignoring cache_control.
func equalJSON(a, b json.RawMessage) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

func canonical(raw json.RawMessage) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(dropBreakpoints(v))
	if err != nil {
		return raw
	}
	return out
}

func dropBreakpoints(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for k := range v {
			v[k] = dropBreakpoints(v[k])
		}
	case []any:
		for i := range v {
			v[i] = dropBreakpoints(v[i])
		}
	}
	return v
}

// KeptReasoning checks two Responses bodies: an item of after that has an id and
// stood right behind reasoning in before must still do so. "Item 'fc_…' of type
// 'function_call' was provided without its required 'reasoning' item: 'rs_…'."
// Which items belong together is known to the vendor by their ids only, so a
// single body cannot be judged.
//
// Doubtful: items of parallel calls behind one reasoning item are refused
// likewise, but only the first of them stands right behind it; the others are
// not reported.
func KeptReasoning(before, after []byte) []Problem {
	var p problems
	led := leading(before)
	kept := leading(after)
	input, _ := asArray(asObject(after)["input"])
	for i, raw := range input {
		id := asObject(raw).text("id")
		if by := led[id]; id != "" && by != "" && kept[id] != by {
			p.add(ReasoningDropped, i, "item %q lost its reasoning %q", id, by)
		}
	}
	return p.list
}

// leading maps the id of each item directly after reasoning to the id of that
// reasoning.
func leading(body []byte) map[string]string {
	by := make(map[string]string)
	input, _ := asArray(asObject(body)["input"])
	last := ""
	for _, raw := range input {
		it := asObject(raw)
		if it.text("type") == "reasoning" {
			last = it.text("id")
			continue
		}
		if id := it.text("id"); id != "" && last != "" {
			by[id] = last
		}
		last = ""
	}
	return by
}
