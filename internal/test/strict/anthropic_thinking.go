package strict

// isThinking reports whether kind is a block of thinking.
func isThinking(kind string) bool {
	return kind == "thinking" || kind == "redacted_thinking"
}

// thinkingFields checks one thinking block. "messages.1.content.0.thinking.
// signature: Field required"; an empty thinking text is usual (display
// "omitted"), an empty signature is refused as invalid, empty data likewise.
func (a *anthropic) thinkingFields(m message, b block) {
	key := "signature"
	if b.kind == "redacted_thinking" {
		key = "data"
	} else if !isKind(b.object["thinking"], '"') {
		a.add(MissingField, b.msg, "thinking without thinking")
	}
	if value, ok := asString(b.object[key]); !ok || value == "" && !a.BlankSignatures {
		a.add(MissingField, b.msg, "%s without %s", b.kind, key)
	}
	if m.role != "assistant" {
		a.add(WrongRole, b.msg, "%s in a %s message", b.kind, m.role)
	}
	// "cache_control: Extra inputs are not permitted": thinking blocks "cannot be
	// explicitly marked" (prompt caching, platform.claude.com).
	if b.has("cache_control") {
		a.add(BadBreakpoint, b.msg, "cache_control on %s", b.kind)
	}
}

// thinking checks where thinking must and must not stand.
func (a *anthropic) thinking() {
	last := -1
	for i, t := range a.turns {
		if t.role == "assistant" {
			last = i
		}
	}
	if last < 0 {
		return
	}
	// "The final block in an assistant message cannot be `thinking`." Doubtful
	// for turns before the last one, so those pass.
	blocks := a.turns[last].blocks
	if n := len(blocks); n > 0 && isThinking(blocks[n-1].kind) {
		a.add(ThinkingLast, blocks[n-1].msg, "the last assistant turn ends on %s", blocks[n-1].kind)
	}
	a.loop(last)
}

// loop checks the tool loop that the request continues, if it does. "When
// `thinking` is enabled, a final `assistant` message must start with a thinking
// block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)".
// Only manual thinking enforces it: with adaptive thinking "previous assistant
// turns don't need to start with thinking blocks".
//
// Doubtful: whether the first or the last assistant message of the loop is meant
// (without interleaved thinking only the first has any), so one of them is
// enough.
func (a *anthropic) loop(last int) {
	mode := asObject(a.body["thinking"])
	if mode.text("type") != "enabled" {
		return
	}
	if last+1 >= len(a.turns) || !a.turns[last+1].hasKind("tool_result") {
		return
	}
	first := last
	for first >= 2 && a.turns[first-1].hasKind("tool_result") {
		first -= 2
	}
	if !startsThinking(a.turns[first]) && !startsThinking(a.turns[last]) {
		a.add(ThinkingMissing, a.turns[last].blocks[0].msg, "the tool loop does not start with thinking")
	}
}

func startsThinking(t turn) bool {
	// A turn without blocks is a problem of its own.
	return len(t.blocks) == 0 || isThinking(t.blocks[0].kind)
}

// breakpoints checks the cache breakpoints over tools, system and messages, in
// this order, which is the order of the cached prefix.
func (a *anthropic) breakpoints() {
	var lives []string
	mark := func(o object, index int) {
		if life := ttl(o["cache_control"]); life != "" {
			// "messages.15.content.1.cache_control.ttl: a ttl='1h' cache_control
			// block must not come after a ttl='5m' cache_control block. Note that
			// blocks are processed in the following order: tools, system,
			// messages."
			if life == "1h" && len(lives) > 0 && lives[len(lives)-1] == "5m" {
				a.add(TTLOrder, index, "a breakpoint of 1h after one of 5m")
			}
			lives = append(lives, life)
		}
	}
	for _, key := range []string{"tools", "system"} {
		list, _ := asArray(a.body[key])
		for _, raw := range list {
			mark(asObject(raw), -1)
		}
	}
	lastMarked := false
	for i, m := range a.messages {
		for _, b := range m.blocks {
			before := len(lives)
			nested, _ := asArray(b.object["content"])
			if b.kind == "tool_result" {
				for _, raw := range nested {
					mark(asObject(raw), i)
				}
			}
			mark(b.object, i)
			lastMarked = len(lives) > before
			// "messages.30.content.2.text: cache_control cannot be set for empty
			// text blocks".
			if b.kind == "text" && b.has("cache_control") && b.text("text") == "" {
				a.add(BadBreakpoint, i, "cache_control on an empty text block")
			}
		}
	}
	// Automatic caching (a top-level cache_control) takes one of the places unless
	// the last block has a breakpoint of its own.
	count := len(lives)
	if ttl(a.body["cache_control"]) != "" && !lastMarked {
		count++
	}
	// "A maximum of 4 blocks with cache_control may be provided. Found 5."
	if count > 4 {
		a.add(TooManyBreakpoints, -1, "%d cache breakpoints", count)
	}
}
