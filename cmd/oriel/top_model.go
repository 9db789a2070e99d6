package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/term"
)

// topModel is the state of oriel top. One goroutine owns it.
type topModel struct {
	address       string
	width, height int
	style         term.Style
	now           func() time.Time

	overview *topOverview
	calls    []topCall // of the overview, as far as the filter lets them through
	selected string    // the id of the chosen call
	follows  bool      // the newest call is chosen until somebody chooses another
	strip    *topStrip
	cursor   int // the chosen message, from 1 on; 0 for none
	message  *topMessage

	filter    string
	filtering bool
	help      bool
	asking    *topUndo // an undo that waits for yes or no
	note      string   // what happened last
	gone      string   // why the server cannot be asked
	quit      bool
}

// topJob asks the server for something in the background. The function that it returns
// puts the answer into the model.
type topJob func(ctx context.Context, c *topClient) func(*topModel) topJob

func newTopModel(address string, width, height int, s term.Style) *topModel {
	return &topModel{address: address, width: width, height: height, style: s, follows: true, now: time.Now}
}

// chosen returns the chosen call, or nil.
func (m *topModel) chosen() *topCall {
	for i := range m.calls {
		if m.calls[i].ID == m.selected {
			return &m.calls[i]
		}
	}
	return nil
}

// refresh asks for the overview.
func refreshTop(ctx context.Context, c *topClient) func(*topModel) topJob {
	var o topOverview
	err := c.ask(ctx, http.MethodGet, "overview", nil, &o)
	return func(m *topModel) topJob {
		if err != nil {
			m.gone = err.Error()
			return nil
		}
		o.got = m.now()
		m.gone, m.overview = "", &o
		m.list()
		return m.readStrip()
	}
}

// list applies the filter and keeps a call chosen.
func (m *topModel) list() {
	m.calls = nil
	if m.overview == nil {
		return
	}
	for _, c := range m.overview.Live {
		if c.passes(m.filter) {
			m.calls = append(m.calls, c)
		}
	}
	if len(m.calls) > 0 && (m.follows || m.chosen() == nil) {
		m.selected = m.calls[0].ID
	}
}

// readStrip asks for the strip of the chosen call's conversation.
func (m *topModel) readStrip() topJob {
	call := m.chosen()
	if call == nil {
		m.strip, m.message = nil, nil
		return nil
	}
	conversation, id := call.Conversation, call.ID
	return func(ctx context.Context, c *topClient) func(*topModel) topJob {
		var s topStrip
		err := stripOf(ctx, c, &topCall{Conversation: conversation, ID: id}, &s)
		return func(m *topModel) topJob {
			if m.selected != id {
				return nil // another was chosen meanwhile
			}
			if err != nil {
				m.note = err.Error()
				return nil
			}
			other := m.strip == nil || m.strip.Conversation != s.Conversation
			m.strip = &s
			if other || m.cursor > s.Count || m.cursor == 0 {
				m.cursor, m.message = max(s.Upto, min(1, s.Count)), nil
			}
			return m.readMessage()
		}
	}
}

// readMessage asks for the chosen message.
func (m *topModel) readMessage() topJob {
	if m.strip == nil || m.cursor == 0 {
		m.message = nil
		return nil
	}
	conversation, id, call := m.strip.Conversation, m.cursor, m.selected
	return func(ctx context.Context, c *topClient) func(*topModel) topJob {
		var msg topMessage
		err := c.ask(ctx, http.MethodGet, conversationPath(conversation, "/messages/"+strconv.Itoa(id)+"?call="+call),
			nil, &msg)
		return func(m *topModel) topJob {
			if m.strip == nil || m.strip.Conversation != conversation || m.cursor != id {
				return nil
			}
			if err != nil {
				m.note = err.Error()
				return nil
			}
			m.message = &msg
			return nil
		}
	}
}

// key handles a key.
func (m *topModel) key(k string) topJob {
	if k == "ctrl+c" {
		m.quit = true
		return nil
	}
	switch {
	case m.filtering:
		return m.filterKey(k)
	case m.asking != nil:
		return m.answerKey(k)
	case m.help:
		m.help = false
		return nil
	}
	m.note = ""
	switch k {
	case "q", "esc":
		m.quit = true
	case "?":
		m.help = true
	case "/":
		m.filtering = true
	case "r":
		return refreshTop
	case "up", "k":
		return m.choose(-1)
	case "down", "j":
		return m.choose(1)
	case "left", "h":
		return m.move(m.cursor - 1)
	case "right", "l":
		return m.move(m.cursor + 1)
	case "pgup":
		return m.move(m.cursor - m.width)
	case "pgdown":
		return m.move(m.cursor + m.width)
	case "home", "g":
		return m.move(1)
	case "end", "G":
		if m.strip != nil {
			return m.move(m.strip.Count)
		}
	case "[":
		return m.move(m.nextLeft(-1))
	case "]":
		return m.move(m.nextLeft(1))
	case "p":
		return m.pin()
	case "u":
		return m.wouldUndo()
	}
	return nil
}

// choose chooses another call.
func (m *topModel) choose(step int) topJob {
	for i := range m.calls {
		if m.calls[i].ID != m.selected {
			continue
		}
		if to := i + step; to >= 0 && to < len(m.calls) {
			m.selected, m.follows = m.calls[to].ID, to == 0
			return m.readStrip()
		}
		break
	}
	return nil
}

// move chooses another message.
func (m *topModel) move(to int) topJob {
	if m.strip == nil || m.strip.Count == 0 {
		return nil
	}
	if to = min(max(to, 1), m.strip.Count); to == m.cursor {
		return nil
	}
	m.cursor, m.message = to, nil
	return m.readMessage()
}

// nextLeft returns the next message in a direction that was not sent as it came, or the
// chosen one if there is none.
func (m *topModel) nextLeft(step int) int {
	if m.strip != nil {
		looks := m.strip.looks()
		for i := m.cursor + step; i >= 1 && i <= m.strip.Count; i += step {
			if looks[i].verdict != "" {
				return i
			}
		}
	}
	return m.cursor
}

// filterKey handles a key while a filter is typed.
func (m *topModel) filterKey(k string) topJob {
	switch k {
	case "enter":
		m.filtering = false
	case "esc":
		m.filtering, m.filter = false, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.filter = m.filter[:len(m.filter)-size]
	default:
		if utf8.RuneCountInString(k) != 1 || len(m.filter) > 100 {
			return nil
		}
		m.filter += k
	}
	m.list()
	return m.readStrip()
}

// pin pins or unpins the chosen message.
func (m *topModel) pin() topJob {
	if m.message == nil {
		return nil
	}
	conversation, id, pinned := m.strip.Conversation, m.message.ID, m.message.Pinned
	return func(ctx context.Context, c *topClient) func(*topModel) topJob {
		var done struct{}
		var err error
		if pinned {
			err = c.ask(ctx, http.MethodDelete, conversationPath(conversation, "/pins/"+strconv.Itoa(id)), nil, &done)
		} else {
			err = c.ask(ctx, http.MethodPost, conversationPath(conversation, "/pins"), map[string]int{"id": id}, &done)
		}
		return func(m *topModel) topJob {
			switch {
			case err != nil:
				m.note = err.Error()
			case pinned:
				m.note = fmt.Sprintf("message %d is no longer pinned", id)
			default:
				m.note = fmt.Sprintf("message %d is pinned: the next call shows it", id)
			}
			return m.readStrip()
		}
	}
}

// wouldUndo asks what an undo of the newest plan would do.
func (m *topModel) wouldUndo() topJob {
	if m.strip == nil {
		return nil
	}
	conversation := m.strip.Conversation
	return func(ctx context.Context, c *topClient) func(*topModel) topJob {
		var u topUndo
		err := c.ask(ctx, http.MethodPost, conversationPath(conversation, "/undo"), map[string]any{"preview": true}, &u)
		return func(m *topModel) topJob {
			switch {
			case m.strip == nil || m.strip.Conversation != conversation:
			case err != nil:
				m.note = err.Error()
			default:
				m.asking = &u
			}
			return nil
		}
	}
}

// answerKey handles the answer to the question whether to undo.
func (m *topModel) answerKey(k string) topJob {
	plan := m.asking.Plan
	if k != "y" {
		m.asking, m.note = nil, "nothing was undone"
		return nil
	}
	m.asking = nil
	conversation := m.strip.Conversation
	return func(ctx context.Context, c *topClient) func(*topModel) topJob {
		var u topUndo
		err := c.ask(ctx, http.MethodPost, conversationPath(conversation, "/undo"), map[string]any{"plan": plan}, &u)
		return func(m *topModel) topJob {
			if err != nil {
				m.note = err.Error()
			} else {
				m.note = fmt.Sprintf("%s is undone: the next call shows messages %s", u.Plan, u.Back)
			}
			return m.readStrip()
		}
	}
}
