package timeline

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Forms records the form in which each message of a history was sent, from the first
// on, so that a call can later be reproduced byte for byte. Form 0 is a message's
// first form (Entry.Content), form n its nth variant.
//
// Clients mark the newest messages and later remove the mark, so long stretches have
// the same form, or two forms in turn. A Run is one such stretch.
type Forms []Run

// Run is a stretch of Count messages whose forms alternate between First and Second.
type Run struct{ First, Second, Count int }

// Add appends the form of the next message.
func (f *Forms) Add(form int) {
	if n := len(*f); n > 0 {
		r := &(*f)[n-1]
		switch {
		case r.Count == 1:
			r.Second, r.Count = form, 2
			return
		case form == r.at(r.Count):
			r.Count++
			return
		}
	}
	*f = append(*f, Run{form, form, 1})
}

func (r *Run) at(i int) int {
	if i%2 == 0 {
		return r.First
	}
	return r.Second
}

// Len returns the number of messages.
func (f Forms) Len() int {
	n := 0
	for i := range f {
		n += f[i].Count
	}
	return n
}

// All iterates over the forms of the messages.
func (f Forms) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range f {
			for j := range f[i].Count {
				if !yield(f[i].at(j)) {
					return
				}
			}
		}
	}
}

// String returns the forms as text: "1x498,0x2" is 498 messages in form 1 and two in
// form 0; "0/1x40" is 40 messages that alternate between form 0 and form 1.
func (f Forms) String() string {
	var b []byte
	for i, r := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(r.First), 10)
		if r.Second != r.First {
			b = append(b, '/')
			b = strconv.AppendInt(b, int64(r.Second), 10)
		}
		b = append(b, 'x')
		b = strconv.AppendInt(b, int64(r.Count), 10)
	}
	return string(b)
}

// ParseForms parses the text that String returns.
func ParseForms(text string) (Forms, error) {
	if text == "" {
		return nil, nil
	}
	var f Forms
	for run := range strings.SplitSeq(text, ",") {
		forms, count, _ := strings.Cut(run, "x")
		first, second, two := strings.Cut(forms, "/")
		if !two {
			second = first
		}
		var r Run
		for _, n := range []struct {
			to   *int
			text string
		}{{&r.First, first}, {&r.Second, second}, {&r.Count, count}} {
			v, err := strconv.ParseUint(n.text, 10, 31)
			if err != nil {
				return nil, fmt.Errorf("read forms: invalid run %q", run)
			}
			*n.to = int(v)
		}
		if r.Count == 0 {
			return nil, fmt.Errorf("read forms: run %q has no messages", run)
		}
		f = append(f, r)
	}
	return f, nil
}

// formBatch is the number of messages that ReadForms holds in memory at once.
const formBatch = 64

// ReadForms visits the messages up to a place, each with the bytes of its form, which
// reproduces a call. The entry is valid only during the visit. ReadForms returns
// ErrInvalid if forms do not match the place.
func ReadForms(ctx context.Context, s Store, tenant string, to Place, forms Forms, visit func(*Entry) error) error {
	if int64(forms.Len()) != to.Depth {
		return fmt.Errorf("%w: forms of %d messages for %d", ErrInvalid, forms.Len(), to.Depth)
	}
	var batch []Entry
	var raw []byte // of the entries in form 0
	next, stop := iter.Pull(forms.All())
	defer stop()
	for first := int64(1); first <= to.Depth; first += formBatch {
		want := make([]int, 0, formBatch)
		plain := false
		for len(want) < formBatch {
			form, ok := next()
			if !ok {
				break
			}
			want = append(want, form)
			plain = plain || form == 0
		}
		batch, raw = batch[:0], raw[:0]
		err := s.Messages(ctx, tenant, to, first, first+int64(len(want))-1, !plain, func(e *Entry) error {
			kept := *e
			kept.Variants = append([]Hash(nil), e.Variants...)
			if want[len(batch)] == 0 {
				raw = append(raw, e.Raw...)
				kept.Raw = raw[len(raw)-len(e.Raw):]
			}
			batch = append(batch, kept)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range batch {
			e := &batch[i]
			if n := want[i]; n > len(e.Variants) {
				return fmt.Errorf("%w: message %d has no form %d", ErrInvalid, e.Place.Depth, n)
			} else if n > 0 {
				if e.Raw, err = s.Content(ctx, tenant, e.Variants[n-1]); err != nil {
					return err
				}
			}
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}
