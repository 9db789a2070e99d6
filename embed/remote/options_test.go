package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/embed/remote"
)

func TestOptionsThatCannotBeUsed(t *testing.T) {
	for name, o := range map[string]remote.Options{
		"no address":          {Model: "m"},
		"no scheme":           {BaseURL: "localhost:11434/v1", Model: "m"},
		"another scheme":      {BaseURL: "ftp://localhost/v1", Model: "m"},
		"no host":             {BaseURL: "http:///v1", Model: "m"},
		"a password":          {BaseURL: "https://me:hunter2@example.com/v1", Model: "m"},
		"a password, broken":  {BaseURL: "https://me:hunter2@exa mple.com/v1", Model: "m"},
		"a fragment":          {BaseURL: "https://example.com/v1#x", Model: "m"},
		"no model":            {BaseURL: "https://example.com/v1"},
		"a blank model":       {BaseURL: "https://example.com/v1", Model: " "},
		"dimensions below 0":  {BaseURL: "https://example.com/v1", Model: "m", Dimensions: -1},
		"batch below 0":       {BaseURL: "https://example.com/v1", Model: "m", Batch: -1},
		"too large a batch":   {BaseURL: "https://example.com/v1", Model: "m", Batch: 2049},
		"batch bytes below 0": {BaseURL: "https://example.com/v1", Model: "m", BatchBytes: -1},
		"time-out below 0":    {BaseURL: "https://example.com/v1", Model: "m", Timeout: -time.Second},
		"server's name":       {BaseURL: "https://example.com/v1", Model: "m", Server: "a@b"},
	} {
		_, err := remote.New(o)
		var e *remote.Error
		if !errors.As(err, &e) || !errors.Is(err, remote.ErrConfig) || e.Hint == "" ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNameTellsModelServerAndDimensions(t *testing.T) {
	for _, c := range []struct {
		o    remote.Options
		want string
	}{
		{remote.Options{BaseURL: "https://API.openai.com:443/v1/", Model: "text-embedding-3-small", Dimensions: 256},
			"remote/text-embedding-3-small@api.openai.com/v1#256"},
		{remote.Options{BaseURL: "http://127.0.0.1:11434/v1", Model: "nomic-embed-text:latest"},
			"remote/nomic-embed-text:latest@127.0.0.1:11434/v1"},
		{remote.Options{BaseURL: "http://127.0.0.1:80", Model: "BAAI/bge-m3"}, "remote/BAAI/bge-m3@127.0.0.1/v1"},
		{remote.Options{BaseURL: "http://127.0.0.1/a@b", Model: "m@x"}, "remote/m@x@127.0.0.1/a%40b"},
		{remote.Options{BaseURL: "http://127.0.0.1/v1", Model: "m", Server: "desk"}, "remote/m@desk"},
	} {
		m := open(t, c.o)
		if m.Name() != c.want || fmt.Sprint(m) != c.want {
			t.Errorf("%q, %v, want %q", m.Name(), m, c.want)
		}
	}
}

func TestAddressMayEndWithASlash(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) { readAsked(t, r); sends(200, one)(w, r) },
		func(o *remote.Options) { o.BaseURL += "/" })
	vectors, err := m.Embed(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	normal(t, vectors)
}
