package settings

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Errors that say what to write.
var (
	errText     = errors.New(`it must be a text: write it in quotes, such as "text"`)
	errBool     = errors.New("it must be true or false")
	errWhole    = errors.New("it must be a whole number, such as 2048")
	errNumber   = errors.New("it must be a number, such as 80")
	errDuration = errors.New(`it must be a time with its unit: write "50ms", "20s" or "2m"`)
	errTexts    = errors.New(`it must be a list of texts: write ["one", "two"]`)
)

var durationType = reflect.TypeFor[time.Duration]()

// assign sets a field to a value in TOML's representation.
func assign(v reflect.Value, x any) error {
	switch {
	case v.Type() == durationType:
		text, ok := x.(string)
		d, err := time.ParseDuration(text)
		if !ok || err != nil {
			return errDuration
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.String:
		text, ok := x.(string)
		if !ok {
			return errText
		}
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		b, ok := x.(bool)
		if !ok {
			return errBool
		}
		v.SetBool(b)
	case v.Kind() == reflect.Int:
		n, ok := x.(int64)
		if !ok || v.OverflowInt(n) {
			return errWhole
		}
		v.SetInt(n)
	case v.Kind() == reflect.Float64:
		switch n := x.(type) {
		case int64:
			v.SetFloat(float64(n))
		case float64:
			v.SetFloat(n)
		default:
			return errNumber
		}
	default:
		list, ok := x.([]any)
		if !ok {
			return errTexts
		}
		texts := make([]string, len(list))
		for i := range list {
			if texts[i], ok = list[i].(string); !ok {
				return errTexts
			}
		}
		v.Set(reflect.ValueOf(texts))
	}
	return nil
}

// read parses the text of a variable or a flag into TOML's representation for a type.
// Lists are separated by commas.
func read(t reflect.Type, text string) (any, error) {
	switch {
	case t == durationType, t.Kind() == reflect.String:
		return text, nil
	case t.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errBool
		}
		return b, nil
	case t.Kind() == reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errWhole
		}
		return n, nil
	case t.Kind() == reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errNumber
		}
		return n, nil
	}
	list := []any{}
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list, nil
}

// write returns a value in the syntax of the file.
func write(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return quote(x.String())
	case string:
		return quote(x)
	case float64:
		if text := strconv.FormatFloat(x, 'f', -1, 64); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return text
		}
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(x), "+"))
	case []string:
		quoted := make([]string, len(x))
		for i := range x {
			quoted[i] = quote(x[i])
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		return fmt.Sprint(x)
	}
}

// quote returns a string in TOML's syntax.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
