package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/bytedance/sonic"
	"github.com/bytedance/sonic/ast"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/tidwall/gjson"
)

// contender is one way to read a body.
type contender struct {
	name, does string
	finds      bool // run returns the number of messages whose bytes it found
	run        func(body []byte) (int, error)
}

const (
	finds = "finds every message"
	valid = "validates only"
)

// faults make a body invalid if they are inside a string.
var faults = []string{
	"\x00", "\n", // raw control characters
	`\x`, `\u12g4`, // unknown escapes
	`\ud800`, `\udc00 `, // lone surrogates
	"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", // invalid UTF-8
	`","a":01,"b":"`, `","a":tru,"b":"`, // bad number, bad literal
	`","a":[1,],"b":"`, `","a":{"c"},"b":"`, // bad grammar
}

var errInvalid = errors.New("not valid")

// onlyValid returns a contender for a validator.
func onlyValid(name string, ok func([]byte) bool) contender {
	return contender{name, valid, false, func(body []byte) (int, error) {
		if !ok(body) {
			return 0, errInvalid
		}
		return 0, nil
	}}
}

func contenders() []contender {
	var cs []contender
	for _, kernel := range rawjson.Kernels() {
		d := new(rawjson.Doc)
		d.Use(kernel)
		cs = append(cs, contender{"rawjson " + kernel, finds, true, func(body []byte) (int, error) {
			if err := d.Reset(body, rawjson.Limits{}); err != nil {
				return 0, err
			}
			n := 0
			for m := d.Root().Get("messages").First(); m.Exists(); m = m.Next() {
				if len(m.Raw()) > 0 {
					n++
				}
			}
			return n, nil
		}})
	}
	cs = append(cs, contender{"rawjson, a new Doc each time", finds, true, func(body []byte) (int, error) {
		d, err := rawjson.Parse(body, rawjson.Limits{})
		if err != nil {
			return 0, err
		}
		return d.Root().Get("messages").Len(), nil
	}})
	cs = append(cs, contender{"sonic", finds, true, findSonic})
	cs = append(cs, contender{"gjson", finds, true, func(body []byte) (int, error) {
		n := 0
		gjson.GetBytes(body, "messages").ForEach(func(_, m gjson.Result) bool {
			if m.Index > 0 || len(m.Raw) > 0 {
				n++
			}
			return true
		})
		return n, nil
	}})
	cs = append(cs, contender{"json/v2 RawMessage", finds, true, func(body []byte) (int, error) {
		var r struct {
			Messages []jsontext.Value `json:"messages"`
		}
		err := jsonv2.Unmarshal(body, &r)
		return len(r.Messages), err
	}})
	cs = append(cs, contender{"goccy/go-json RawMessage", finds, true, func(body []byte) (int, error) {
		var r struct {
			Messages []goccy.RawMessage `json:"messages"`
		}
		err := goccy.Unmarshal(body, &r)
		return len(r.Messages), err
	}})
	cs = append(cs, contender{"encoding/json RawMessage", finds, true, func(body []byte) (int, error) {
		var r struct {
			Messages []json.RawMessage `json:"messages"`
		}
		err := json.Unmarshal(body, &r)
		return len(r.Messages), err
	}})
	cs = append(cs,
		onlyValid("sonic.Valid", func(b []byte) bool { return sonic.Valid(b) }),
		onlyValid("gjson.ValidBytes", gjson.ValidBytes),
		onlyValid("jsontext.Value.IsValid", func(b []byte) bool { return jsontext.Value(b).IsValid() }),
		onlyValid("goccy.Valid", goccy.Valid),
		onlyValid("encoding/json.Valid", json.Valid),
		contender{"bytes.IndexByte quote to quote", "steps over strings, no more", false, stepQuotes},
		contender{"crypto/sha256", "hashes", false, func(body []byte) (int, error) {
			sum := sha256.Sum256(body)
			return int(sum[0]), nil
		}})
	return cs
}

func findSonic(body []byte) (int, error) {
	node, err := sonic.Get(body, "messages")
	if err != nil {
		return 0, err
	}
	n := 0
	err = node.ForEach(func(_ ast.Sequence, m *ast.Node) bool {
		if raw, err := m.Raw(); err == nil && raw != "" {
			n++
		}
		return true
	})
	return n, err
}

// stepQuotes is the lower bound: it only finds where strings end.
func stepQuotes(body []byte) (int, error) {
	n := 0
	for i := 0; ; n++ {
		q := bytes.IndexByte(body[i:], '"')
		if q < 0 {
			return n, nil
		}
		i += q + 1
		for {
			q := bytes.IndexByte(body[i:], '"')
			if q < 0 {
				return n, nil
			}
			i += q + 1
			slashes := 0
			for body[i-2-slashes] == '\\' {
				slashes++
			}
			if slashes%2 == 0 {
				break
			}
		}
	}
}
