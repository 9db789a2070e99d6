package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

var refusalCases = []testCase{
	{"leave no trace of a change that no store can make", func(f *fixture) {
		good := func() timeline.Change {
			return timeline.Change{Conversation: "c", Messages: saidAll("1", "2"),
				Put: []timeline.Record{rec("k", "1", "")}, Now: noon}
		}
		long := strings.Repeat("x", timeline.MaxName+1)
		bad := map[string]func(c *timeline.Change){
			"no time":                func(c *timeline.Change) { c.Now = time.Time{} },
			"no conversation":        func(c *timeline.Change) { c.Conversation = "" },
			"long conversation":      func(c *timeline.Change) { c.Conversation = long },
			"conversation not UTF-8": func(c *timeline.Change) { c.Conversation = "a\xff" },
			"conversation with NUL":  func(c *timeline.Change) { c.Conversation = "a\x00b" },
			"long project":           func(c *timeline.Change) { c.Project = long },
			"continues not UTF-8":    func(c *timeline.Change) { c.Continues = "\xc0" },
			"no format":              func(c *timeline.Change) { c.Messages[1].Format = "" },
			"long role":              func(c *timeline.Change) { c.Messages[1].Role = long },
			"ref not UTF-8":          func(c *timeline.Change) { c.Messages[1].Ref = "\xed\xa0\x80" },
			"long ref":               func(c *timeline.Change) { c.Messages[1].Ref = long },
			"oversize message": func(c *timeline.Change) {
				c.Messages[1].Raw = make([]byte,
					timeline.MaxContent+1)
			},
			"oversize content": func(c *timeline.Change) {
				c.Contents = [][]byte{make([]byte,
					timeline.MaxContent+1)}
			},
			"oversize record": func(c *timeline.Change) {
				c.Put[0].Data = make([]byte,
					timeline.MaxContent+1)
			},
			"no kind":                   func(c *timeline.Change) { c.Put[0].Kind = "" },
			"no key":                    func(c *timeline.Change) { c.Put[0].Key = "" },
			"no kind to drop":           func(c *timeline.Change) { c.Drop = []timeline.Key{{Key: "1"}} },
			"a record twice":            func(c *timeline.Change) { c.Put = append(c.Put, c.Put[0]) },
			"invalid before unexpected": func(c *timeline.Change) { c.Put[0].Key, c.Expect = "", ptr(int64(9)) },
		}
		for name, spoil := range bad {
			c := good()
			spoil(&c)
			if _, err := f.Apply(ctx, timeline.Local, c); !errors.Is(err, timeline.ErrInvalid) {
				f.Errorf("%s: %v", name, err)
			}
		}
		if _, err := f.Apply(ctx, "", good()); !errors.Is(err, timeline.ErrInvalid) {
			f.Errorf("no tenant: %v", err)
		}
		f.equal("stats", f.stats(), timeline.Stats{})
		c := good()
		c.Conversation, c.Project, c.Messages[0].Ref = long[1:], long[1:], long[1:]
		f.apply(c)
	}},
	{"name a place that is not there", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2")
		b := f.say("c", a.Places[0], "2b")
		for _, at := range []timeline.Place{
			{Trunk: a.Head.Trunk, Depth: 3}, {Trunk: a.Head.Trunk, Depth: 0}, {Trunk: a.Head.Trunk, Depth: -1},
			{Trunk: 1 << 40, Depth: 1},
			{Trunk: 0, Depth: 1}, {Trunk: b.Head.Trunk, Depth: 1}, timeline.AtHead(),
		} {
			for _, messages := range [][]timeline.Message{nil, saidAll("x")} {
				_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: at, Messages: messages,
					Now: noon,
					Put: []timeline.Record{rec("k", "1", "", timeline.Hash{1})}})
				if !errors.Is(err, timeline.ErrNoPlace) {
					f.Errorf("apply at %v: %v", at, err)
				}
			}
			if _, err := entries(f.Store, timeline.Local, at, 1, 9, true); !errors.Is(err, timeline.ErrNoPlace) {
				f.Errorf("messages to %v: %v", at, err)
			}
			if _, _, err := f.Under(ctx, timeline.Local, at, said("1").Identity); !errors.Is(err, timeline.ErrNoPlace) {
				f.Errorf("under %v: %v", at, err)
			}
		}
		if _, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c",
			At: timeline.Place{Trunk: 1 << 40, Depth: 1}, Expect: ptr(int64(9)), Now: noon}); !errors.Is(err,
			timeline.ErrChanged) {
			f.Errorf("unexpected before the place: %v", err)
		}
		f.equal("head", f.conversation("c").Head, b.Head)
		f.equal("revision", f.conversation("c").Revision, int64(2))
	}},
	{"come of a context that is done", func(f *fixture) {
		done, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := f.Apply(done, timeline.Local, timeline.Change{Conversation: "c", Messages: saidAll("1"),
			Now: noon}); !errors.Is(err, context.Canceled) {
			f.Errorf("apply: %v", err)
		}
		if _, err := f.Conversations(done, timeline.Local); !errors.Is(err, context.Canceled) {
			f.Errorf("conversations: %v", err)
		}
		f.equal("stats", f.stats(), timeline.Stats{})
	}},
	{"come of everything that is not there", func(f *fixture) {
		if _, err := f.Heads(ctx, timeline.Local, "c"); !errors.Is(err, timeline.ErrNoConversation) {
			f.Errorf("heads: %v", err)
		}
		if _, err := f.Content(ctx, timeline.Local, timeline.Hash{}); !errors.Is(err, timeline.ErrNoContent) {
			f.Errorf("content: %v", err)
		}
		if _, err := f.Delete(ctx, timeline.Local, "c", nil); !errors.Is(err, timeline.ErrNoConversation) {
			f.Errorf("delete: %v", err)
		}
	}},
}
