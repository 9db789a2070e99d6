package report

import (
	"bytes"
	"context"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// Exporter reads the messages of one branch of a conversation byte for byte.
type Exporter struct {
	store  timeline.Store
	tenant string
	head   timeline.Place
	// forms are the messages that this conversation has in a form of its own.
	forms map[timeline.Place]timeline.Hash
}

// NewExporter returns an exporter of the messages up to head, which is where the branch
// ends.
func NewExporter(ctx context.Context, s timeline.Store, tenant, conversation string,
	head timeline.Place) (*Exporter, error) {
	forms, err := importer.OwnForms(ctx, s, tenant, conversation)
	return &Exporter{s, tenant, head, forms}, err
}

// exportPage is how many messages are checked for forms of their own at a time.
const exportPage = 512

// Read visits the bytes of messages first to last, in order and in the conversation's own
// form if it has one. They are valid only during the visit, which must not call the store.
func (x *Exporter) Read(ctx context.Context, first, last int64, visit func(id int64, raw []byte) error) error {
	last = min(last, x.head.Depth)
	plain := func(first, last int64) error {
		return x.store.Messages(ctx, x.tenant, x.head, first, last, false,
			func(e *timeline.Entry) error { return visit(e.Place.Depth, e.Raw) })
	}
	if len(x.forms) == 0 {
		return plain(first, last)
	}
	for page := first; page <= last; page += exportPage {
		var own []timeline.Place // the messages of the page with a form of their own
		if err := x.store.Messages(ctx, x.tenant, x.head, page, min(last, page+exportPage-1), true,
			func(e *timeline.Entry) error {
				if _, ok := x.forms[e.Place]; ok {
					own = append(own, e.Place)
				}
				return nil
			}); err != nil {
			return err
		}
		for _, p := range own {
			if err := plain(first, p.Depth-1); err != nil {
				return err
			}
			raw, err := x.store.Content(ctx, x.tenant, x.forms[p])
			if err != nil {
				return err
			}
			if err := visit(p.Depth, raw); err != nil {
				return err
			}
			first = p.Depth + 1
		}
	}
	return plain(first, last)
}

// OnOneLine removes the line feeds from a JSON text, with the white space around them.
// Strings contain none.
func OnOneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	var out []byte
	for line := range bytes.Lines(raw) {
		out = append(out, bytes.Trim(line, " \t\r\n")...)
	}
	return out
}
