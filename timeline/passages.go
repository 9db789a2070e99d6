package timeline

import "context"

// Passage is a part of a message that can be found by its words and its meaning.
type Passage struct {
	Place Place
	// Part numbers the passages of a message.
	Part int
	// Words are the terms of the passage, in any order.
	Words []string
	// Vector has the length 1. It is nil if there is none.
	Vector []float32
}

// Span is a part of a trunk: the messages of depth First to Last.
type Span struct{ Trunk, First, Last int64 }

// PassageQuery is what FindPassages searches for.
type PassageQuery struct {
	// Spans are the parts of the history that are searched.
	Spans []Span
	// Words are terms, any of which a passage may have. Rare ones count more.
	Words []string
	// Vector finds the passages whose vectors are nearest, unless it is nil.
	Vector []float32
	// Messages is how many messages are found at most, Around how many before and after
	// each of them are visited with it.
	Messages, Around int
}

// Passages is a store that searches histories which are too large to be searched in memory.
// A kind names the model of the vectors, as in KeepDerived; passages are searched by the
// kind that they were kept with, and those of several kinds are kept side by side.
type Passages interface {
	// WantPassages has passages of a tenant kept from now on: PassagesTo reports that
	// they are wanted, and somebody keeps them.
	WantPassages(ctx context.Context, tenant string) error
	// PassagesTo reports whether passages of a tenant are wanted, and by trunk up to which
	// depth they are kept.
	PassagesTo(ctx context.Context, tenant, kind string) (to map[int64]int64, wanted bool, err error)
	// KeepPassages keeps passages, and that those of the trunks of to are kept up to its
	// depths. Passages go with their messages. Those of missing messages are ignored.
	KeepPassages(ctx context.Context, tenant, kind string, passages []Passage, to []Place) error
	// FindPassages visits the messages that a query finds, in the order of trunks and
	// depths. Entries are valid only during the visit, and visit must not call the store.
	FindPassages(ctx context.Context, tenant, kind string, q PassageQuery, visit func(*Entry) error) error
}
