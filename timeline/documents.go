package timeline

import "context"

// Documents is a store that also keeps small documents for all processes that use it, such
// as what was learnt about providers. They belong to no tenant.
type Documents interface {
	// Document returns a document, or nil if there is none.
	Document(ctx context.Context, name string) ([]byte, error)
	// ReplaceDocument writes a document unless its content is no longer was, nil for none,
	// and reports whether it did.
	ReplaceDocument(ctx context.Context, name string, was, data []byte) (bool, error)
	// DocumentsChanged returns a number that differs from the previous one if another
	// process may have changed a document. It asks nobody.
	DocumentsChanged() int64
}
