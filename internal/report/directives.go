package report

import (
	"context"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/recall"
)

// Directives returns the standing instructions in a part of a history, as
// oriel.Engine.Directives does for programs that have no engine.
func Directives(ctx context.Context, l *recall.Library, w recall.Where) ([]oriel.Directive, error) {
	said, _, err := l.Directives(ctx, w)
	all := make([]oriel.Directive, len(said))
	for i := range said {
		d := &said[i]
		all[i] = oriel.Directive{Kind: d.Kind, Time: d.Time, Text: d.Text, Original: d.Original}
		all[i].Conversation, all[i].ID = Origin(d.Block, w.Conversation)
	}
	return all, err
}
