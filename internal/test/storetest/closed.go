package storetest

import (
	"context"

	"github.com/oriel-context/oriel/timeline"
)

// afterClose calls every method and returns its error, by name.
func afterClose(s timeline.Store) map[string]error {
	errs := map[string]error{}
	_, errs["Apply"] = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Now: noon})
	_, errs["Conversation"] = s.Conversation(ctx, timeline.Local, "c")
	_, errs["Conversations"] = s.Conversations(ctx, timeline.Local)
	_, errs["Heads"] = s.Heads(ctx, timeline.Local, "c")
	errs["Messages"] = s.Messages(ctx, timeline.Local, timeline.Place{}, 1, 2, true,
		func(*timeline.Entry) error { return nil })
	_, _, errs["Under"] = s.Under(ctx, timeline.Local, timeline.Place{}, timeline.Hash{})
	_, errs["Content"] = s.Content(ctx, timeline.Local, timeline.Hash{})
	_, errs["Records"] = s.Records(ctx, timeline.Local, "c", "k", "")
	_, errs["RecordKeys"] = s.RecordKeys(ctx, timeline.Local, "c", "k")
	errs["KeepDerived"] = s.KeepDerived(ctx, timeline.Local, "k", []timeline.Derived{{}})
	errs["Derived"] = s.Derived(ctx, timeline.Local, "k", []timeline.Hash{{}},
		func(timeline.Hash, []byte) error { return nil })
	_, errs["Delete"] = s.Delete(ctx, timeline.Local, "c", nil)
	errs["AddToken"] = s.AddToken(ctx, timeline.AccessToken{Hash: timeline.HashToken("t"), Tenant: "a",
		Role: timeline.RoleCall, Created: noon})
	_, errs["Token"] = s.Token(ctx, timeline.TokenHash{})
	_, errs["Tokens"] = s.Tokens(ctx)
	errs["RevokeToken"] = s.RevokeToken(ctx, timeline.TokenHash{}, noon)
	_, errs["Changed"] = s.Changed(ctx)
	errs["Verify"] = s.Verify(ctx, func(timeline.Problem) {})
	_, errs["Stats"] = s.Stats(ctx, timeline.Local)
	errs["Backup"] = s.Backup(ctx, "nowhere")
	return errs
}

// closedStore is a store that the test case has closed, so that nothing is
// left to check.
type closedStore struct{ timeline.Store }

func (closedStore) Verify(context.Context, func(timeline.Problem)) error { return nil }
