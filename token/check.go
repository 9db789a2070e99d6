package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/bpe"
)

// check returns an error for impossible figures.
func (ms *Models) check(m Model) error {
	bad := func(field, format string, args ...any) error {
		return &ModelError{Model: m.ID, Field: field, Err: fmt.Errorf(format, args...)}
	}
	if field, err := notNegative(m); err != nil {
		return bad(field, "%w", err)
	}
	switch {
	case m.Window <= 0:
		return bad("window", "must be above 0, is %d", m.Window)
	case m.MaxInput > m.Window:
		return bad("max_input", "%d is more than the window of %d", m.MaxInput, m.Window)
	case !slices.Contains(bpe.Names(), m.Encoding):
		return bad("encoding", "unknown encoding %q, have %v", m.Encoding, bpe.Names())
	case !(m.Multiplier >= 0.1 && m.Multiplier <= 10):
		return bad("multiplier", "must be from 0.1 to 10, is %v", m.Multiplier)
	case m.Exact && m.Multiplier != 1:
		return bad("multiplier", "an exact encoding has the multiplier 1, not %v", m.Multiplier)
	case !slices.Contains([]string{"", "published", "reported"}, m.Confidence):
		return bad("confidence", "must be published or reported, is %q", m.Confidence)
	}
	if _, ok := ms.structures[m.Structure]; !ok {
		return bad("structure", "no structure %q", m.Structure)
	}
	if _, ok := ms.images[m.Image]; !ok {
		return bad("image", "no image rule %q", m.Image)
	}
	for _, w := range m.Widen {
		if w.Beta == "" || w.Window <= 0 {
			return bad("widen", "needs beta and window")
		}
	}
	for i, t := range m.Prices.Tiers {
		if t.Over <= 0 || i > 0 && t.Over <= m.Prices.Tiers[i-1].Over {
			return bad("prices.tiers", "over must rise from tier to tier")
		}
	}
	return nil
}

// notNegative returns the first negative number in a rule or model. One number
// may be negative, as in OpenAI's cookbook: a list of values, of which there
// is at least one, costs less than its values alone.
func notNegative(rule any) (field string, err error) {
	s, _ := rule.(Structure)
	eachNumber(reflect.ValueOf(rule), "", func(path string, n float64) {
		if err != nil || n >= 0 || path == "enum" && s.Enum+s.EnumItem >= 0 {
			return
		}
		field, err = path, fmt.Errorf("must not be negative, is %v", n)
	})
	return field, err
}

// eachNumber visits the numbers in v with their JSON names.
func eachNumber(v reflect.Value, path string, visit func(path string, n float64)) {
	switch {
	case v.CanInt():
		visit(path, float64(v.Int()))
	case v.CanFloat():
		visit(path, v.Float())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachNumber(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case v.Kind() == reflect.Map:
		for _, k := range v.MapKeys() {
			eachNumber(v.MapIndex(k), path+"."+k.String(), visit)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case !f.IsExported():
			case f.Anonymous:
				eachNumber(v.Field(i), path, visit)
			default:
				eachNumber(v.Field(i), strings.TrimPrefix(path+"."+name, "."), visit)
			}
		}
	}
}

var unknownField = regexp.MustCompile(`unknown field "(.*)"`)

// decode merges JSON into v and rejects fields that v does not have. It
// returns the faulty field if known.
func decode(data []byte, v any) (field string, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return "", errors.New(`is empty: write {"models": []} and add entries, or do without the file`)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	if err == nil {
		if d.More() {
			return "", errors.New("more than one JSON value: put everything into one object")
		}
		return "", nil
	}
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return strings.ReplaceAll(wrong.Field, "Rates.", ""), typeError(wrong)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "", errors.New("ends too early: a bracket, brace or quote is not closed")
	case errors.As(err, &syntax):
		return "", fmt.Errorf("not JSON at byte %d: %w", syntax.Offset, err)
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		return m[1], errors.New("no such field")
	}
	return "", err
}

// typeError rewords encoding/json's error for a value of the wrong type or a
// number that does not fit.
func typeError(e *json.UnmarshalTypeError) error {
	want := e.Type.Kind().String()
	switch e.Type.Kind() {
	case reflect.Int:
		want = "a whole number"
	case reflect.Float64:
		want = "a number"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice:
		want = "an array"
	case reflect.Struct, reflect.Map:
		want = "an object"
	}
	got, isNumber := strings.CutPrefix(e.Value, "number ")
	switch {
	case isNumber && e.Type.Kind() == reflect.Int && !strings.ContainsAny(got, "eE."):
		return fmt.Errorf("is too large: %s", got)
	case isNumber && e.Type.Kind() == reflect.Float64:
		return fmt.Errorf("is too large: %s", got)
	case isNumber:
		return fmt.Errorf("must be %s, is %s", want, got)
	case strings.ContainsRune("aeiou", rune(e.Value[0])):
		return fmt.Errorf("must be %s, is an %s", want, e.Value)
	}
	return fmt.Errorf("must be %s, is a %s", want, e.Value)
}
