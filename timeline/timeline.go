package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Local is the tenant of the machine's own user.
const Local = "local"

// Errors of a store.
var (
	// ErrNoConversation: the tenant has no conversation with this name.
	ErrNoConversation = errors.New("no such conversation")
	// ErrNoPlace: the tenant's history does not contain the place.
	ErrNoPlace = errors.New("no such place in the history")
	// ErrNoContent: the tenant has no content with this hash.
	ErrNoContent = errors.New("no such content")
	// ErrChanged: the conversation is not at the expected revision.
	ErrChanged = errors.New("somebody else changed the conversation")
	// ErrForms: a message does not have the expected form.
	ErrForms = errors.New("a message is in another form")
	// ErrInvalid: a change that no store can make; see Change.Check.
	ErrInvalid = errors.New("not a valid change")
	// ErrDamaged: the stored data is inconsistent.
	ErrDamaged = errors.New("the history is damaged")
	// ErrNewer: the history was written by a newer version of this program.
	ErrNewer = errors.New("the history is of a newer version")
	// ErrOlder: the history was written by an older version of this program, and is open
	// for reading only. Opening it for writing upgrades it.
	ErrOlder = errors.New("the history is of an older version")
	// ErrReadOnly: the store is read-only.
	ErrReadOnly = errors.New("the history cannot be written to")
	// ErrNoToken: there is no token with this hash.
	ErrNoToken = errors.New("no such token")
	// ErrFull: the disk or the quota of the store is full.
	ErrFull = errors.New("no space left for the history")
	// ErrNone: there is no history to open.
	ErrNone = errors.New("there is no history")
	// ErrBusy: others kept the history locked for too long.
	ErrBusy = errors.New("another process keeps the history locked")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// StoreError is a failure of a store with its place and a hint.
type StoreError struct {
	Op   string // the operation: "open", "write"
	Path string // of the file, or the database's URL without its password
	Err  error
	Hint string // may be empty
}

func (e *StoreError) Error() string {
	s := fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *StoreError) Unwrap() error { return e.Err }

// FormsError is the ErrForms of a change, with what the store has of its messages.
type FormsError struct {
	// Message is the index of the first message that is in another form.
	Message int
	// Places are the places of the messages that are stored; they are the first ones.
	Places []Place
	// Forms has an element for each of Places: the hashes of the forms of the message, by their
	// number, or nil if the message is in its first form.
	Forms [][]Hash
}

func (e *FormsError) Error() string { return fmt.Sprintf("%v: message %d", ErrForms, e.Message+1) }

func (e *FormsError) Unwrap() error { return ErrForms }

// Limits of what a store accepts.
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
// Place is the beginning of a history. Trunk is the trunk that contains the message
// itself: a trunk with a depth before its own first message is not a place.
type Place struct {
	Trunk int64
	// Depth is the number of messages up to and including this one. People see it as
	// the message's id.
	Depth int64
}

// AtHead stands, in a record of a Change, for the conversation's head after the
// change, whose place is not known before.
func AtHead() Place { return Place{Trunk: -1} }

// AtDepth stands, in a record of a Change, for the place of the message at a depth, which
// must be one of the change's messages.
func AtDepth(depth int64) Place { return Place{Trunk: -1, Depth: depth} }

// Appends reports whether the place of a record is AtDepth of one of the change's
// messages, and returns the message's index.
func (c *Change) Appends(p Place) (i int, ok bool) {
	n := p.Depth - c.At.Depth
	return int(n - 1), p.Trunk == -1 && p.Depth > 0 && 1 <= n && n <= int64(len(c.Messages))
}

func (p Place) String() string { return fmt.Sprintf("%d:%d", p.Trunk, p.Depth) }

// Message is a message to append, or one that was read.
type Message struct {
	// Identity identifies the message; see [Identity].
	Identity Hash
	// Raw is the message as received. A store keeps its own copy.
	Raw []byte
	// Format is the format of Raw: "item", "anthropic", "openai", …
	Format string
	// Role is the author's role.
	Role string
	// Time is kept in microseconds, UTC (see Micro); zero means the time of the
	// change.
	Time time.Time
	// Ref is the message's id in its source; it may be empty.
	Ref string
}

// Entry is a message of the history.
type Entry struct {
	Place Place
	Message
	// Content is the hash of Raw.
	Content Hash
	// Variants are the hashes of the other forms in which the message arrived, oldest
	// first. Variants[0] is form 1; Content is form 0.
	Variants []Hash
}

// Conversation is a name for a place in the history.
type Conversation struct {
	Name string
	Head Place
	// Revision rises by one with every change; the first makes it 1.
	Revision int64
	// Created is the time of the first change (Change.Began), Updated that of the last
	// one (Change.Now).
	Created, Updated time.Time
	Project          string
	// Continues is the conversation from which this one was compacted, if any.
	Continues string
}

// Record is any other data that belongs to a conversation.
type Record struct {
	// Kind and Key identify the record within its conversation: "pin" and "17".
	Kind, Key string
	// At is the record's place, which the conversation must have used or passed; zero
	// for the conversation as a whole.
	At Place
	// Time is stored like a message's.
	Time time.Time
	Data []byte
	// Contents refers to further bytes, which are stored once like those of messages.
	// Store.Content returns them.
	Contents []Hash
}

// Change is applied by Apply in one transaction: all of it or nothing. If a change
// has several faults, ErrInvalid takes precedence over ErrChanged, ErrChanged over
// ErrNoPlace of At, that over ErrForms, ErrForms over ErrNoPlace of a record, and that
// over ErrNoContent.
type Change struct {
	// Conversation is the name. The first change creates the conversation.
	Conversation string
	// Expect, if not nil, is the revision that the conversation must have, 0 if it
	// must not exist. Otherwise Apply fails with ErrChanged.
	Expect *int64
	// ExpectCreated, if not zero, is the time at which the conversation must have been
	// created: one that was deleted and begun again may have the expected revision.
	// Otherwise Apply fails with ErrChanged.
	ExpectCreated time.Time
	// At is the place after which Messages are appended. It can be any place of the
	// tenant; if it does not exist, Apply fails with ErrNoPlace. The last message
	// becomes the conversation's head or, without messages, At itself: a rewind. Stay
	// leaves the head unchanged: Messages then form a branch of the conversation, and
	// without messages At is ignored.
	At   Place
	Stay bool
	// Messages are appended, each after the previous one. A message that exists after
	// the same place with the same identity is not written again: its original bytes,
	// format, role, time and ref stay, and bytes in a new form become a variant. A
	// new message extends the trunk if the place is the trunk's last; otherwise it
	// begins a new trunk after the place. After the zero place every new message
	// begins a trunk.
	Messages []Message
	// Forms, if not nil, are the forms that Messages must have after the change: 0 for
	// the first form of a message, which a new message has, n for its nth variant. If a
	// message has another form, Apply fails with ErrForms, as a *FormsError.
	Forms []int
	// Project and Continues are set if not empty.
	Project, Continues string
	// Contents are bytes that the records of this change refer to by hash. Bytes
	// without a reference are not stored. A record may also refer to contents that
	// the tenant had before the change or gets by Messages; for any other hash Apply
	// fails with ErrNoContent. Contents without any reference left are deleted at the
	// end of the change, so that an overwritten record can keep its contents.
	Contents [][]byte
	// Drop removes records by kind and key; missing ones are ignored. Drop is applied
	// first, then Put.
	Drop []Key
	// Put writes records. A record with the kind and key of an existing one replaces
	// it in its position; a new one comes last.
	Put []Record
	// Now is the time of the change. It is required. Began is the time at which a new
	// conversation began; zero means Now.
	Now, Began time.Time
	// Patient reports that nobody waits for the change: a store may let it wait some
	// milliseconds, to commit it together with others.
	Patient bool
}

// Key identifies a record within its conversation.
type Key struct{ Kind, Key string }

// Applied is the result of a change.
type Applied struct {
	// Head and Revision are the conversation's.
	Head     Place
	Revision int64
	// Places are the places of the messages, in order.
	Places []Place
	// New counts the messages, variants and contents that the change added.
	New struct{ Messages, Variants, Contents int }
}

// Deleted counts what was deleted with a conversation.
type Deleted struct {
	Messages, Contents, Records int
	Bytes                       int64 // of the contents, uncompressed
	// Pending reports that deleted bytes may still be in the store's files, because a
	// reader uses an older state. The first write after that reader ends clears them.
	Pending bool
}

// Stats describes a tenant's history in numbers.
type Stats struct {
	Conversations, Messages, Variants int64
	// Branches counts the trunks that begin after a place other than the zero place.
	Branches, Records, Contents int64
	// Bytes is the size of all contents, Stored their compressed size.
	Bytes, Stored int64
	// Derived counts the entries stored by KeepDerived, DerivedBytes their bytes.
	Derived, DerivedBytes int64
	// ExtractBytes is the size of all extracts.
	ExtractBytes int64
	// Disk is the size of the whole store with all tenants; 0 in memory.
	Disk int64
	// Pending reports that bytes deleted by any tenant may still be in the store's
	// files; see Deleted.Pending.
	Pending bool
}

// Problem is a fault that Verify found.
type Problem struct {
	Tenant, Conversation string // if known
	Place                Place
	What                 string
}

// Store keeps histories. All implementations must return the same answers, except for
// the numbers of trunks, which rise with every new trunk; package storetest checks
// this. A store is safe for concurrent use, and other processes may use the same
// data. A tenant that was never written to has an empty history. After Close, every
// method except Close returns ErrClosed.
type Store interface {
	// Apply applies a change. When it returns nil, the change is as durable as the
	// store's options promise.
	Apply(ctx context.Context, tenant string, c Change) (Applied, error)

	// Conversation returns a conversation, or ErrNoConversation.
	Conversation(ctx context.Context, tenant, name string) (Conversation, error)
	// Conversations returns all conversations, sorted by name.
	Conversations(ctx context.Context, tenant string) ([]Conversation, error)
	// Heads returns the places where a conversation's branches end: first the current
	// head, then, in the order of trunks, the deepest used place of each trunk,
	// unless another trunk that the conversation has used or passed begins there.
	Heads(ctx context.Context, tenant, name string) ([]Place, error)

	// Messages visits the messages on the way to a place with depths first to last,
	// in order, and stops at the first error of visit, which it returns. The range is
	// clipped to existing depths. For the zero place there are no messages; for a
	// place that does not exist it returns ErrNoPlace. The entry and everything it
	// refers to are valid only during the visit, and visit must not call the store.
	// If hashes is true, Raw is nil and is not read.
	Messages(ctx context.Context, tenant string, to Place, first, last int64, hashes bool,
		visit func(*Entry) error) error
	// Under returns the place of the message with the given identity directly after
	// at, or false if there is none. If at does not exist, it returns ErrNoPlace.
	Under(ctx context.Context, tenant string, at Place, identity Hash) (Place, bool, error)
	// Content returns a content by its hash. The caller owns the bytes.
	Content(ctx context.Context, tenant string, h Hash) ([]byte, error)
	// Records returns a conversation's records of a kind, in the order in which they
	// were first written; an empty key selects all. The caller owns them.
	Records(ctx context.Context, tenant, conversation, kind, key string) ([]Record, error)
	// RecordKeys lists the keys of a conversation's records of a kind, in the order of
	// Records. It reads nothing else of them.
	RecordKeys(ctx context.Context, tenant, conversation, kind string) ([]string, error)

	// KeepDerived stores data derived from contents, for as long as the contents
	// exist. A kind consists of a family and a make, such as "vector/minilm"; per
	// family a content has only the data stored last. Data of missing contents is
	// ignored. KeepDerived stores all or nothing.
	KeepDerived(ctx context.Context, tenant, kind string, data []Derived) error
	// Derived visits the derived data of contents, of one kind and in any order, and
	// stops at the first error of visit, which it returns. data is valid only during
	// the visit, and visit must not call the store.
	Derived(ctx context.Context, tenant, kind string, contents []Hash,
		visit func(content Hash, data []byte) error) error

	// Delete removes a conversation with its records, the messages that no other
	// conversation has used or passed, and all contents that nothing refers to any
	// more. If expect is not nil and the conversation is at another revision, Delete
	// returns ErrChanged.
	Delete(ctx context.Context, tenant, conversation string, expect *int64) (Deleted, error)

	// AddToken adds a token. A token with the same hash is ErrInvalid. With a session (RoleConsole)
	// it deletes the sessions of all tenants that had expired or were revoked when this one was
	// created, so that they do not pile up.
	AddToken(ctx context.Context, t AccessToken) error
	// Token returns the token with a hash, valid or not, or ErrNoToken, also for one that is
	// not what was stored.
	Token(ctx context.Context, hash TokenHash) (AccessToken, error)
	// Tokens returns the tokens of all tenants, valid or not, in the order of their
	// creation and their hashes.
	Tokens(ctx context.Context) ([]AccessToken, error)
	// RevokeToken revokes a token from a time on, or returns ErrNoToken. The time of an
	// earlier revocation stays.
	RevokeToken(ctx context.Context, hash TokenHash, at time.Time) error

	// Changed returns a number that differs from the previous one if another writer,
	// perhaps in another process, may have changed something, or if anything was
	// deleted, also through this store. Callers must then re-read what they remember
	// of conversations.
	Changed(ctx context.Context) (int64, error)

	// Verify checks the whole store and reports every fault.
	Verify(ctx context.Context, report func(Problem)) error
	Stats(ctx context.Context, tenant string) (Stats, error)
	// Backup writes a copy of the whole store to a new file; others may write
	// meanwhile. A store without files returns errors.ErrUnsupported.
	Backup(ctx context.Context, path string) error
	// Close closes the store. It may be called twice.
	Close() error
}
