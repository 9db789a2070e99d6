package timeline

import "context"

// PlaceOf returns the place of the message with an id, its depth, on the way to a place,
// or false if there is none.
func PlaceOf(ctx context.Context, store Store, tenant string, to Place, id int64) (at Place, ok bool, err error) {
	if id < 1 || id > to.Depth {
		return at, false, nil
	}
	err = store.Messages(ctx, tenant, to, id, id, true, func(e *Entry) error {
		at = e.Place
		return nil
	})
	return at, err == nil && at.Depth == id, err
}

// Passes reports whether the way to a place passes at. Every way passes the zero place and
// its own end.
func Passes(ctx context.Context, store Store, tenant string, to, at Place) (bool, error) {
	if at.Depth == 0 || at.Trunk == to.Trunk {
		return at.Depth <= to.Depth, nil
	}
	found, ok, err := PlaceOf(ctx, store, tenant, to, at.Depth)
	return ok && found == at, err
}
