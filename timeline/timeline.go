package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Local is the tenant of a machine's own user.
const Local = "local"

// Errors of a store.
var (
	// ErrNoConversation: the tenant has no conversation of this name.
	ErrNoConversation = errors.New("no such conversation")
	// ErrNoPlace: there is no such place in the tenant's history.
	ErrNoPlace = errors.New("no such place in the history")
	// ErrNoContent: the tenant has no content of this hash.
	ErrNoContent = errors.New("no such content")
	// ErrChanged: the conversation is no longer at the revision that was expected.
	ErrChanged = errors.New("somebody else changed the conversation")
	// ErrInvalid: a change that no store can make; see Change.Check.
	ErrInvalid = errors.New("not a valid change")
	// ErrDamaged: what is stored contradicts itself.
	ErrDamaged = errors.New("the history is damaged")
	// ErrNewer: the history was written by a newer version of this program.
	ErrNewer = errors.New("the history is of a newer version")
	// ErrReadOnly: the store cannot be written to.
	ErrReadOnly = errors.New("the history cannot be written to")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// Limits of what a store takes.
const (
	// MaxContent is the largest content, in bytes.
	MaxContent = 256 << 20
	// MaxName is the longest name of a tenant, conversation, kind, key, format,
	// role or project, in bytes.
	MaxName = 1 << 10
	// MaxRef is the longest Ref, in bytes.
	MaxRef = 1 << 10
)

// Place is one message of a history together with everything before it. The zero
// Place is where a history begins. A place names the trunk that its message is in:
// a trunk and a depth before that trunk's own first message are no place.
type Place struct {
	Trunk int64
	// Depth is the number of messages up to here: what people call the id.
	Depth int64
}

// AtHead stands, in a record of a Change, for the conversation's head as the change
// leaves it, whose number nobody knows before.
func AtHead() Place { return Place{Trunk: -1} }

func (p Place) String() string { return fmt.Sprintf("%d:%d", p.Trunk, p.Depth) }

// Message is what is appended and read back.
type Message struct {
	// Identity is the identity: see Identity.
	Identity Hash
	// Raw is the message as it came. A store keeps its own copy.
	Raw []byte
	// Format tells how Raw is to be read: "item", "anthropic", "openai", …
	Format string
	// Role is who speaks.
	Role string
	// Time is kept in microseconds, UTC (see Micro); zero means the time of the
	// change.
	Time time.Time
	// Ref is the message's own id where it came from; it may be empty.
	Ref string
}

// Entry is a message of the history.
type Entry struct {
	Place Place
	Message
	// Content is the hash of Raw.
	Content Hash
	// Variants are the hashes of the other forms in which it came, oldest first:
	// the first of them is form 1, Content is form 0.
	Variants []Hash
}

// Conversation is a name for a place in the history.
type Conversation struct {
	Name string
	Head Place
	// Revision rises by one with every change; the first makes it 1.
	Revision int64
	// Created and Updated are the times (Change.Now) of the first and the latest
	// change.
	Created, Updated time.Time
	Project          string
	// Continues is the name of the conversation that this one was compacted
	// from; empty for none.
	Continues string
}

// Record is anything else that is known of a conversation.
type Record struct {
	// Kind and Key name it within its conversation: "pin" and "17".
	Kind, Key string
	// At is the place that it belongs to, one that the conversation has used or
	// passed on the way to one; zero for the conversation as a whole.
	At Place
	// Time is kept like a message's.
	Time time.Time
	Data []byte
	// Contents are further bytes that the record refers to, stored once like
	// those of messages. A store gives them back as hashes: see Store.Content.
	Contents []Hash
}

// Change is what Apply does in one transaction: all of it or nothing. Where several
// things are wrong with it, ErrInvalid goes before ErrChanged, that before
// ErrNoPlace, and that before ErrNoContent.
type Change struct {
	// Conversation is the name; it begins with its first change.
	Conversation string
	// Expect, where it is not nil, is the revision that the conversation must
	// have: 0 for one that must not exist yet. Otherwise Apply fails with
	// ErrChanged.
	Expect *int64
	// At is where Messages begin: under it. It is any place of the tenant's, else
	// ErrNoPlace. The conversation's head becomes the last of the messages; At
	// itself, where there are none: a rewind. Stay leaves the head where it is:
	// Messages are then on a branch of the conversation, and without any of
	// them At is left out of account.
	At   Place
	Stay bool
	// Messages are appended, each under the one before. One that is there
	// already, under the same place with the same identity, is not written
	// again: its first bytes, format, role, time and ref stay, and bytes that are
	// none of its known forms become a variant. Else, where the place is the last
	// of its trunk, the message goes on that trunk; else a new trunk begins with
	// it, under the place. Under the zero place every new message begins a trunk.
	Messages []Message
	// Project and Continues are set where they are not empty.
	Project, Continues string
	// Contents are bytes for the records of this change to refer to, by their
	// hash. What no record refers to is not kept. A record that is written may
	// also refer to what the tenant had before the change, or has by Messages;
	// to anything else is ErrNoContent. What nothing refers to any more goes at
	// the end of the change, so that a record that is written over can keep its
	// contents.
	Contents [][]byte
	// Drop removes records, by kind and key; those that are not there are no
	// error. It comes before Put, and that before Claim.
	Drop []Key
	// Put writes records over those of the same kind and key, in their position;
	// new ones come last.
	Put []Record
	// Claim writes a record only if there is none of the same kind and key, and
	// does not look at it otherwise; Applied tells what there is.
	Claim []Record
	// Now is the time of the change. It must be given.
	Now time.Time
}

// Key names a record within its conversation.
type Key struct{ Kind, Key string }

// Applied is what came of a change.
type Applied struct {
	// Head and Revision are the conversation's.
	Head     Place
	Revision int64
	// Places are those of the messages, in order.
	Places []Place
	// New says how many messages, variants and contents there are now that were
	// not there before.
	New struct{ Messages, Variants, Contents int }
	// Claimed are the records that stand now under the keys of Claim, in order.
	Claimed []Record
}

// Deleted is what went with a conversation.
type Deleted struct {
	Messages, Contents, Records int
	Bytes                       int64 // of the contents, uncompressed
	// Pending: the history no longer has them, but their bytes can still be in the
	// store's files, because somebody reads an older state. Whoever writes next
	// after that clears them.
	Pending bool
}

// Stats are a tenant's history in numbers.
type Stats struct {
	Conversations, Messages, Variants int64
	// Branches are the trunks that begin under a place other than the zero one.
	Branches, Records, Contents int64
	// Bytes are those of all contents; Stored what they take, compressed.
	Bytes, Stored int64
	// Derived counts what is kept by KeepDerived, and DerivedBytes its bytes.
	Derived, DerivedBytes int64
	// Disk is the size of the whole store, all tenants; 0 in memory.
	Disk int64
	// Pending is Deleted.Pending of any deletion, by any tenant: bytes of it can
	// still be in the store's files.
	Pending bool
}

// Problem is something that Verify found.
type Problem struct {
	Tenant, Conversation string // where they are known
	Place                Place
	What                 string
}

// Store keeps histories. Implementations must agree in every answer but the
// numbers of trunks, which rise with every new trunk; package storetest holds them
// to it. A store is safe for concurrent use, and may not be the only one over its
// data. A tenant that nobody has written to has an empty history. Every method but
// Close fails with ErrClosed after Close.
type Store interface {
	// Apply makes a change. When it returns without an error, the change is
	// durable at the level that the store was opened with.
	Apply(ctx context.Context, tenant string, c Change) (Applied, error)

	// Conversation reads a conversation, or ErrNoConversation.
	Conversation(ctx context.Context, tenant, name string) (Conversation, error)
	// Conversations lists all, by name.
	Conversations(ctx context.Context, tenant string) ([]Conversation, error)
	// Heads are the places where branches of a conversation end. The present head
	// comes first, wherever it is; then, in the order of their trunks, the deepest
	// place of each trunk that the conversation has used, if that is not the
	// origin of another trunk that it has used or passed.
	Heads(ctx context.Context, tenant, name string) ([]Place, error)

	// Messages visits the messages on the way to a place, those of depth first
	// to last, in order, until visit returns an error, which it returns. The
	// range is cut to what there is; the way to the zero place is empty, to one
	// that is not there ErrNoPlace. The entry with all that it points at is valid
	// during the visit only, in which the store must not be called; with hashes
	// set Raw is nil and not read at all.
	Messages(ctx context.Context, tenant string, to Place, first, last int64, hashes bool, visit func(*Entry) error) error
	// Under finds the place that a message with an identity has under another
	// place; false where there is none, ErrNoPlace where there is no such other.
	Under(ctx context.Context, tenant string, at Place, identity Hash) (Place, bool, error)
	// Content reads a content by its hash. The bytes are the caller's.
	Content(ctx context.Context, tenant string, h Hash) ([]byte, error)
	// Records lists a conversation's records of a kind, in the order in which
	// they were first written; an empty key means all. They are the caller's.
	Records(ctx context.Context, tenant, conversation, kind, key string) ([]Record, error)

	// KeepDerived keeps what was made of contents, for as long as they are there: it
	// goes with its content, like that's own bytes. A kind is a family and a make,
	// "vector/minilm"; of each family a content has one, that which was kept last.
	// Contents that are not there are passed over. All is kept or nothing.
	KeepDerived(ctx context.Context, tenant, kind string, data []Derived) error
	// Derived visits what is kept of contents, of one kind, in any order, until visit
	// returns an error, which it returns. data is valid during the visit only, in
	// which the store must not be called.
	Derived(ctx context.Context, tenant, kind string, contents []Hash, visit func(content Hash, data []byte) error) error

	// Delete removes a conversation with its records, the messages that no other
	// conversation has used or passed, and all content that nothing refers to any
	// more. Where expect is not nil, a conversation that is at another revision
	// stays: ErrChanged.
	Delete(ctx context.Context, tenant, conversation string, expect *int64) (Deleted, error)

	// Changed returns a number that differs from the last one whenever somebody
	// else, another process perhaps, may have changed something, and whenever
	// something was deleted, be it through this store: what is remembered of
	// conversations must then be asked anew.
	Changed(ctx context.Context) (int64, error)

	// Verify checks everything and reports what is wrong.
	Verify(ctx context.Context, report func(Problem)) error
	Stats(ctx context.Context, tenant string) (Stats, error)
	// Backup writes a copy of the whole store to a new file, while others write. A
	// store that has no files fails with errors.ErrUnsupported.
	Backup(ctx context.Context, path string) error
	// Close may be called twice.
	Close() error
}
