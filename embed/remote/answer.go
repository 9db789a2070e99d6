package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// errSaid: the answer is an error although its status is 200.
var errSaid = errors.New("the server reports an error")

// answer is the part of an answer's body that matters.
type answer struct {
	Data  list            `json:"data"`
	Error json.RawMessage `json:"error"`
}

// list is a list of entries that rejects more than max, so that a server
// cannot make it larger.
type list struct {
	max     int
	entries []entry
}

type entry struct {
	Index     *int   `json:"index"`
	Embedding vector `json:"embedding"`
}

// vector is an array of numbers, or a base64 string of little-endian float32.
type vector []float32

// parse parses an answer for n texts: normalised vectors in the order of the
// texts.
func parse(body []byte, n int) ([][]float32, error) {
	a := answer{Data: list{max: n}}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	got := a.Data.entries
	if len(got) == 0 && len(a.Error) > 0 && string(a.Error) != "null" {
		return nil, errSaid
	}
	if len(got) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(got), n)
	}
	vectors := make([][]float32, n)
	for at, e := range got {
		i := at
		switch {
		case e.Index != nil:
			i = *e.Index
		case n > 1: // one vector can only belong to the one text
			return nil, fmt.Errorf("the vector at place %d has no index", at)
		}
		if i < 0 || i >= n {
			return nil, fmt.Errorf("index %d for %d texts", i, n)
		}
		if vectors[i] != nil {
			return nil, fmt.Errorf("index %d comes twice", i)
		}
		if len(e.Embedding) == 0 {
			return nil, fmt.Errorf("vector %d is empty", i)
		}
		if first := len(got[0].Embedding); len(e.Embedding) != first {
			return nil, fmt.Errorf("vector %d has %d dimensions, others have %d", i, len(e.Embedding), first)
		}
		if err := normalise(e.Embedding); err != nil {
			return nil, fmt.Errorf("vector %d %w", i, err)
		}
		vectors[i] = e.Embedding
	}
	return vectors, nil
}

var (
	errNotNumber = errors.New("a vector has null or something else where a number should be")
	errNotFinite = errors.New("has a number that is not finite")
	errZero      = errors.New("has only zeros")
)

// normalise scales a vector to length 1. A sum of float32 squares in float64
// neither overflows nor vanishes.
func normalise(v []float32) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return errNotFinite
	case sum == 0:
		return errZero
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return nil
}

// UnmarshalJSON parses the entries and stops at one too many.
func (l *list) UnmarshalJSON(raw []byte) error {
	l.entries = nil
	if string(raw) == "null" {
		return nil
	}
	if raw[0] != '[' {
		return errors.New("data is not a list")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if len(l.entries) == l.max {
			return fmt.Errorf("more than %d vectors for %d texts", l.max, l.max)
		}
		var e entry
		if err := d.Decode(&e); err != nil {
			return err
		}
		l.entries = append(l.entries, e)
	}
	return nil
}

// UnmarshalJSON parses either form. encoding/json would read null as 0, but
// some servers write null for NaN.
func (v *vector) UnmarshalJSON(raw []byte) error {
	*v = nil
	switch {
	case string(raw) == "null":
		return nil
	case raw[0] == '"':
		return v.decode(raw)
	case raw[0] != '[':
		return errors.New("a vector is neither numbers nor base64")
	}
	rest := bytes.TrimSpace(raw[1 : len(raw)-1])
	if len(rest) == 0 {
		return nil
	}
	numbers := make(vector, 0, bytes.Count(rest, []byte{','})+1)
	for more := true; more; {
		var number []byte
		number, rest, more = bytes.Cut(rest, []byte{','})
		number = bytes.TrimSpace(number)
		// The text is valid JSON, so what begins like a number is one.
		if len(number) == 0 || number[0] != '-' && (number[0] < '0' || number[0] > '9') {
			return errNotNumber // the value itself is not quoted: it may be anything, even the key
		}
		x, err := strconv.ParseFloat(string(number), 32)
		if err != nil { // out of range
			return fmt.Errorf("a vector %w", errNotFinite)
		}
		numbers = append(numbers, float32(x))
	}
	*v = numbers
	return nil
}

// decode parses base64.
func (v *vector) decode(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	encoding := base64.StdEncoding
	if len(text)%4 != 0 {
		encoding = base64.RawStdEncoding
	}
	data, err := encoding.DecodeString(text)
	if err != nil || len(data)%4 != 0 {
		return errors.New("a vector is a string that is not base64 of float32")
	}
	numbers := make(vector, len(data)/4)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	*v = numbers
	return nil
}
