package llm_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/llm"
)

const secret = "sk-very/secret&key<1>"

func withKey(o *llm.Options) { o.Key = secret }

// failure posts a request whose answer is refused by its reader, and returns the error.
func failure(t *testing.T, c *llm.Client) error {
	t.Helper()
	_, err := c.Post(t.Context(), llm.Request{Path: "things", MaxAnswer: 1 << 20,
		Check: func(answer []byte) error { return fmt.Errorf("not this: %s", answer) }})
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

// leaks fails if a value shows the key in any form of printing.
func leaks(t *testing.T, values ...any) {
	t.Helper()
	for _, v := range values {
		var b strings.Builder
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v)
		fmt.Fprintf(&b, "%v %+v %#v %s", v, v, v, v)
		for err, ok := v.(error); ok && err != nil; err = errors.Unwrap(err) {
			fmt.Fprintf(&b, "%v %#v", err, err)
		}
		if said := strings.ToLower(b.String()); strings.Contains(said, secret) || strings.Contains(said, "secret") ||
			strings.Contains(said, "sk-very") {
			t.Errorf("shows the key: %s", b.String())
		}
	}
}

func TestKeyIsSentAsABearerToken(t *testing.T) {
	var got []string
	for _, key := range []string{"", "one", " two\n"} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, strings.Join(r.Header.Values("Authorization"), ","))
			sends(200, one)(w, r)
		}, func(o *llm.Options) { o.Key = key })
		if _, err := post(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"", "Bearer one", "Bearer two"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestKeyIsInNoErrorEvenIfTheServerRepeatsIt(t *testing.T) {
	pad := strings.Repeat("x", 290) // so that cutting the text would cut the key
	for name, body := range map[string]string{
		"message":  `{"error":{"message":"Incorrect API key provided: ` + secret + `"}}`,
		"escaped":  `{"error":{"message":"sk-very\/secret\u0026key\u003c1\u003e"}}`,
		"raw":      `{"headers":{"Authorization":"Bearer sk-very/secret\u0026key\u003c1\u003e"}}`,
		"in a URL": "https://x.example/?key=sk-very%2Fsecret%26key%3C1%3E",
		"page":     "<p>" + secret + "</p>",
		"cut":      pad + secret,
		"vector":   `{"data":[{"index":0,"embedding":["` + secret + `"]}]}`,
		"base64":   `{"data":[{"index":0,"embedding":"` + secret + `"}]}`,
		"index":    `{"data":[{"index":"` + secret + `"}]}`,
		"error ok": `{"error":"` + secret + `"}`,
		"list":     `{"detail":[{"msg":"sk-very\/secret&key<1>"}]}`,
		"html":     "<p>sk-very&#47;secret&amp;key&lt;1&gt;</p>",
		"capitals": strings.ToUpper(secret),
		"twice":    `{"detail":[{"msg":"sk-very%252Fsecret%2526key%253C1%253E"}]}`,
		"half":     strings.Repeat(" ", 64<<10-15) + secret,
	} {
		for _, status := range []int{200, 401, 500} {
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				m := serve(t, sends(status, body), withKey)
				leaks(t, failure(t, m), m, *m)
			})
		}
	}
}

// Go's own errors repeat lines that are no HTTP.
func TestKeyIsInNoErrorOfTheConnection(t *testing.T) {
	for _, line := range []string{secret + "\r\n\r\n", "HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n",
		"HTTP/1.1 " + secret + " x\r\n\r\n"} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, line)
			conn.Close()
		}, withKey)
		e := fault(t, m)
		if !errors.Is(e, llm.ErrUnavailable) {
			t.Error(e)
		}
		leaks(t, e)
	}
}

// A key in the query of the URL is one, too.
func TestKeysInURLs(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/things?api-key=sk-very-secret" {
			t.Error(r.URL)
		}
		sends(400, `{"error":"no key like sk-very-secret"}`)(w, r)
	}, func(o *llm.Options) { o.URL += "?api-key=sk-very-secret" })
	leaks(t, fault(t, m), m, *m)
	_, err := llm.New(llm.Options{URL: "http://example.com/v1?api-key=sk-very-secret"})
	if !errors.Is(err, llm.ErrKey) {
		t.Error(err)
	}
	leaks(t, err)
	m = open(t, llm.Options{URL: "http://127.0.0.1:1/v1?api-key=sk-very-secret"}) // Go's own error has the URL
	leaks(t, fault(t, m))
}

func TestKeyAndTextsFollowNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked with %q", r.Header)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/things?k="+secret, status)
		}, withKey)
		e := fault(t, m)
		if !errors.Is(e, llm.ErrRefused) || e.Status != status || !strings.Contains(e.Error(), other.URL) {
			t.Error(e)
		}
		leaks(t, e)
	}
}

func TestKeyGoesOverPlainHTTPToPrivateHostsOnly(t *testing.T) {
	for _, c := range []struct {
		url     string
		allowed bool
	}{
		{"http://127.0.0.1:11434/v1", true},
		{"http://localhost:1234/v1", true},
		{"http://[::1]:80/v1", true},
		{"http://10.1.2.3/v1", true},
		{"http://192.168.0.9:8000/v1", true},
		{"http://172.16.0.1/v1", true},
		{"http://[fd00::1]/v1", true},
		{"http://[::ffff:10.0.0.1]/v1", true},
		{"http://ollama:11434/v1", true},
		{"http://gpu.local/v1", true},
		{"http://vllm.models.svc.cluster.local/v1", true},
		{"https://api.example.com/v1", true},
		{"http://api.example.com/v1", false},
		{"http://8.8.8.8/v1", false},
		{"http://172.32.0.1/v1", false},
		{"http://[2001:db8::1]/v1", false},
		{"http://[::ffff:8.8.8.8]/v1", false},
		{"http://134744072/v1", false},
		{"http://0x08080808/v1", false},
		{"http://localhost.example.com/v1", false},
		{"http://127.0.0.1.example.com/v1", false},
		{"http://notlocal/v1", true},
		{"http://evil-local.com/v1", false},
	} {
		_, err := llm.New(llm.Options{URL: c.url, Key: secret})
		if (err == nil) != c.allowed || err != nil && !errors.Is(err, llm.ErrKey) {
			t.Errorf("%s: %v", c.url, err)
		}
		leaks(t, err)
	}
}

func TestAKeyThatNoHeaderMayHave(t *testing.T) {
	for _, key := range []string{"secret\nx", "secret key", "secret\x01", "secré"} {
		_, err := llm.New(llm.Options{URL: "https://api.example.com/v1", Key: key, KeyName: "$SOME_KEY"})
		if !errors.Is(err, llm.ErrKey) || !strings.Contains(err.Error(), "$SOME_KEY") {
			t.Errorf("%q: %v", key, err)
		}
		leaks(t, err)
	}
}
