package timeline

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Micro rounds t down to whole microseconds, UTC: the precision in which times are
// stored.
func Micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// Check returns an ErrInvalid if no store can apply the change: a missing time,
// name or format, a name that is not valid UTF-8 or contains NUL, anything over
// the limits, or a record that is put twice.
func (c *Change) Check(tenant string) error {
	if c.Now.IsZero() {
		return fmt.Errorf("%w: the change has no time", ErrInvalid)
	}
	if err := firstError(
		checkName("tenant", tenant),
		checkName("conversation", c.Conversation),
		checkText("project", c.Project, MaxName),
		checkText("conversation it continues", c.Continues, MaxName),
	); err != nil {
		return err
	}
	for i := range c.Messages {
		if err := c.Messages[i].check(); err != nil {
			return fmt.Errorf("message %d of %d: %w", i+1, len(c.Messages), err)
		}
	}
	if c.Forms != nil && len(c.Forms) != len(c.Messages) {
		return fmt.Errorf("%w: %d forms of %d messages", ErrInvalid, len(c.Forms), len(c.Messages))
	}
	for _, data := range c.Contents {
		if err := checkSize(data); err != nil {
			return err
		}
	}
	return c.checkRecords()
}

func (c *Change) checkRecords() error {
	put := make(map[Key]bool, len(c.Put))
	for i := range c.Put {
		r := &c.Put[i]
		if err := r.check(); err != nil {
			return err
		}
		if k := (Key{r.Kind, r.Key}); put[k] {
			return fmt.Errorf("%w: record %s %q is put twice", ErrInvalid, k.Kind, k.Key)
		} else {
			put[k] = true
		}
	}
	for _, k := range c.Drop {
		if err := k.check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Message) check() error {
	return firstError(
		checkName("format", m.Format),
		checkText("role", m.Role, MaxName),
		checkText("ref", m.Ref, MaxRef),
		checkSize(m.Raw),
	)
}

func (r *Record) check() error {
	if err := (Key{r.Kind, r.Key}).check(); err != nil {
		return err
	}
	return checkSize(r.Data)
}

func (k Key) check() error {
	return firstError(checkName("kind", k.Kind), checkName("key", k.Key))
}

func checkSize(data []byte) error {
	if len(data) > MaxContent {
		return fmt.Errorf("%w: a content of %d bytes; the limit is %d", ErrInvalid, len(data), MaxContent)
	}
	return nil
}

func checkName(what, s string) error {
	if s == "" {
		return fmt.Errorf("%w: empty %s", ErrInvalid, what)
	}
	return checkText(what, s, MaxName)
}

func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%w: a %s of %d bytes; the limit is %d", ErrInvalid, what, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: a %s that is not valid UTF-8", ErrInvalid, what)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("%w: a %s that contains NUL", ErrInvalid, what)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
