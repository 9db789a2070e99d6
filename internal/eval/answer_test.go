package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/llm"
)

// noLeaks checks at the end, once the servers are closed, that nothing runs on.
func noLeaks(t *testing.T) {
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, current) })
}

// talker is a server whose model answers with the line of its context that has most
// words in common with the question. It is strict about what it is sent.
type talker struct {
	t *testing.T
	// first, where it is set, may answer a request before the model does.
	first func(n int, w http.ResponseWriter) bool

	mu sync.Mutex // protects n
	n  int
}

func (s *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" ||
		r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer sk-secret" {
		s.t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	var body struct {
		Model       string   `json:"model"`
		Temperature *float64 `json:"temperature"`
		Messages    []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || body.Model != "parrot" || len(body.Messages) != 2 ||
		body.Messages[0].Role != "system" || body.Messages[0].Content != instruction ||
		body.Messages[1].Role != "user" {
		s.t.Errorf("%v: %s", err, raw)
		return
	}
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	if s.first != nil && s.first(n, w) {
		return
	}
	context, question, ok := strings.Cut(strings.TrimPrefix(body.Messages[1].Content, "Excerpts:\n\n"),
		"\n\nQuestion: ")
	if !ok {
		s.t.Errorf("no question in %q", body.Messages[1].Content)
	}
	reply, _ := json.Marshal(nearest(context, question))
	fmt.Fprintf(w, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":%d}}`, reply, len(raw)/4)
}

func nearest(context, question string) string {
	best, answer := 2, "I'm sorry: no information available."
	for line := range strings.Lines(context) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), "> ")
		same := 0
		for _, w := range normalise(question) {
			for _, have := range normalise(line) {
				if w == have {
					same++
				}
			}
		}
		if same > best {
			best, answer = same, line
		}
	}
	return answer
}

// calls counts the requests so far: a cancelled one may still be under way.
func (s *talker) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (s *talker) start() *Server {
	return s.startWith(func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
}

// startWith is start with a function that waits between tries.
func (s *talker) startWith(sleep func(context.Context, time.Duration) error) *Server {
	web := httptest.NewServer(s)
	s.t.Cleanup(web.Close)
	server, err := newServer(llm.Options{URL: web.URL + "/v1/", Key: "sk-secret", Client: web.Client(), Sleep: sleep},
		"parrot")
	if err != nil {
		s.t.Fatal(err)
	}
	return server
}

// factSet has facts early in a long talk, and questions about them.
func factSet(t *testing.T) *Set {
	facts := []struct{ text, question, answer string }{
		{"The spare key hangs behind the fuse box.", "Where does the spare key hang, behind which box?",
			"behind the fuse box"},
		{"Our plumber Ortega charges ninety crowns an hour.", "How much does our plumber Ortega charge an hour?",
			"Ninety crowns."},
		{"The violin lesson moved to Wednesday evening.", "When is the violin lesson, on which evening?",
			"Wednesday evening"},
		{"I keep the seed potatoes in the cellar under the stairs.", "Where do I keep the seed potatoes?",
			"in the cellar, under the stairs"},
	}
	var talk, questions strings.Builder
	for i, f := range facts {
		fmt.Fprintf(&talk, `{"conversation":"c","ref":"f%d","time":"2024-05-01T10:%02d:00Z","role":"user","text":%q}`+
			"\n", i, i, f.text)
		fmt.Fprintf(&questions, `{"conversation":"c","id":"q%d","question":%q,"evidence":["f%d"],"answer":%q}`+"\n", i,
			f.question, i, f.answer)
	}
	for i := range 80 {
		fmt.Fprintf(&talk,
			`{"conversation":"c","ref":"n%d","time":"2024-05-02T%02d:%02d:00Z","role":"user","text":"Idle remark number %d about weather, clouds and wind."}`+"\n", i, 10+i/60, i%60, i)
	}
	talk.WriteString(`{"conversation":"d","ref":"d0","time":"2024-05-03T10:00:00Z","role":"user","text":"The tram to the harbour leaves at noon."}` + "\n")
	questions.WriteString(
		`{"conversation":"c","id":"none","question":"Which airline did Petrov fly with?","unanswerable":true}` + "\n")
	questions.WriteString(
		`{"conversation":"d","id":"tram","question":"Which ship did Petrov sail with?","unanswerable":true}` + "\n")
	questions.WriteString(`{"conversation":"c","id":"open","question":"How do you do?","evidence":["f0"]}` + "\n")
	set, err := Load(t.Context(), "generic",
		[]string{write(t, t.TempDir(), map[string]string{"talk.jsonl": talk.String(),
			"questions.jsonl": questions.String()})})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func rowOf(t *testing.T, r *AnswerReport, policy string) AnswerRow {
	t.Helper()
	for _, row := range r.Rows {
		if row.Policy == policy {
			return row
		}
	}
	t.Fatalf("no row of %s in %+v", policy, r.Rows)
	return AnswerRow{}
}

// A context that has the evidence gives better answers than the newest messages, and
// than a history that is cut to them.
func TestBetterContextsGiveBetterAnswers(t *testing.T) {
	noLeaks(t)
	s := &talker{t: t}
	var details bytes.Buffer
	var done, total int64
	report, err := Answer(t.Context(), factSet(t), Options{
		Budgets: []int{200}, Policies: []string{"hybrid"}, Model: flat{}, Details: &details,
		Progress: func(d, n int64) { done, total = d, n },
	}, AnswerOptions{Server: s.start(), Window: 1000, Concurrency: 3})
	if err != nil {
		t.Fatal(err)
	}
	if report.Questions != 4 || report.Unanswerable != 2 || report.Without != 1 || report.Cut != 1 || done != total {
		t.Errorf("%+v, progress %d of %d", report, done, total)
	}
	hybrid, recent, whole := rowOf(t, report, "hybrid"), rowOf(t, report, "recent"), rowOf(t, report, Whole)
	if hybrid.F1 < 50 || recent.F1 != 0 || whole.F1 != 0 {
		t.Errorf("hybrid %.1f, recent %.1f, whole %.1f", hybrid.F1, recent.F1, whole.F1)
	}
	if recent.Declined != 100 || hybrid.Declined != 0 || hybrid.Refused != 100 || hybrid.Unanswerable != 2 ||
		hybrid.Tokens == 0 {
		t.Errorf("%+v\n%+v", hybrid, recent)
	}
	lines := strings.Split(strings.TrimSpace(details.String()), "\n")
	if len(lines) != 6*3 || s.calls() != 6*3 {
		t.Errorf("%d details, %d calls", len(lines), s.calls())
	}
	var got answered
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Policy != "hybrid" || got.ID != "q0" || got.Gold != "behind the fuse box" ||
		got.F1 != f1(got.Answer, got.Gold) || got.Exact || !strings.Contains(got.Context, "fuse box") {
		t.Errorf("%+v", got)
	}
	// With room for all of it the whole history answers too.
	report, err = Answer(t.Context(), factSet(t), Options{Budgets: []int{200}, Policies: []string{"recent"}},
		AnswerOptions{Server: s.start(), Window: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if whole := rowOf(t, report, Whole); whole.F1 != hybrid.F1 || report.Cut != 0 {
		t.Errorf("%+v, cut %d", whole, report.Cut)
	}
}

// A failure is counted, and is no answer.
func TestFailedCallsAreNoAnswers(t *testing.T) {
	noLeaks(t)
	s := &talker{t: t, first: func(n int, w http.ResponseWriter) bool {
		if n != 3 {
			return false
		}
		http.Error(w, `{"error":{"message":"context too long for sk-secret"}}`, http.StatusBadRequest)
		return true
	}}
	var details bytes.Buffer
	report, err := Answer(t.Context(), factSet(t), Options{Budgets: []int{200, 200},
		Policies: []string{"recent", "keyword", "keyword"}, Details: &details},
		AnswerOptions{Server: s.start(), Window: 100_000, Limit: 2, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	whole := rowOf(t, report, Whole)
	if report.Questions+report.Unanswerable != 2 || whole.Failures != 1 || whole.Questions+whole.Unanswerable != 1 ||
		rowOf(t, report, "keyword").Failures != 0 {
		t.Errorf("%+v", report)
	}
	if !strings.Contains(report.Fault, "context too long for [not kept]") ||
		!strings.Contains(report.Fault, "--window") {
		t.Error(report.Fault)
	}
	for line := range strings.Lines(details.String()) {
		if strings.Contains(line, `"policy":"whole"`) && !strings.Contains(line, `"context":""`) {
			t.Errorf("the whole history among the details: %.200s", line)
		}
	}
	if _, err := Answer(t.Context(), factSet(t), Options{Budgets: []int{200}, Policies: []string{"recent"}},
		AnswerOptions{Server: s.start(), Window: 10}); !errors.Is(err, ErrOption) {
		t.Errorf("a window of 10: %v", err)
	}
}

func TestServersThatNeverAnswer(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		status int
		kind   error
		hint   string
		most   int // calls
	}{
		{http.StatusUnauthorized, ErrServer, "$OPENAI_API_KEY", 2},
		{http.StatusNotFound, ErrServer, "--answer", 2},
		{http.StatusServiceUnavailable, ErrFailed, "(5 tries)", 5 * (hopeless + 10)},
	} {
		s := &talker{t: t, first: func(_ int, w http.ResponseWriter) bool {
			http.Error(w, "sk-secret is not liked", c.status)
			return true
		}}
		_, err := Answer(t.Context(), factSet(t), Options{Budgets: []int{100, 200}, Policies: []string{"recent"}},
			AnswerOptions{Server: s.start(), Window: 1000, Concurrency: 2})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.hint) ||
			strings.Contains(err.Error(), "sk-secret") || s.calls() > c.most {
			t.Errorf("%d: %v after %d calls", c.status, err, s.calls())
		}
	}
}

// What may succeed later is tried again, after the time that the server asks for.
func TestCallsAreTriedAgain(t *testing.T) {
	s := &talker{t: t, first: func(n int, w http.ResponseWriter) bool {
		switch n {
		case 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			http.Error(w, `{"error":{"message":"Unsupported value: 'temperature'"}}`, http.StatusBadRequest)
		case 4:
			fmt.Fprint(w, `{"choices":[{"message":{"content":"<think>hm</think> Yes. "}}]}`)
		default:
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return true
	}}
	var waits []time.Duration
	server := s.startWith(func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil })
	got, err := server.ask(t.Context(), ask("a: b", "c?"))
	if err != nil || got.text != "Yes." || !server.unset.Load() {
		t.Errorf("%+v, %v", got, err)
	}
	if len(waits) != 2 || waits[0] != 7*time.Second || waits[1] < time.Second/2 || waits[1] > time.Second {
		t.Errorf("waited %v", waits)
	}
	if _, err := server.ask(t.Context(), ask("a: b", "c?")); err == nil ||
		!strings.Contains(err.Error(), "wait for 1h") {
		t.Errorf("an hour is too long: %v", err)
	}
}

func TestRepliesThatAreNone(t *testing.T) {
	for _, raw := range []string{"", "[]", `{"choices":[]}`, `{"choices":[{"message":{"content":null}}]}`, "<html>"} {
		s := &talker{t: t, first: func(_ int, w http.ResponseWriter) bool { fmt.Fprint(w, raw); return true }}
		if _, err := s.start().ask(t.Context(), ask("a: b", "c?")); !errors.Is(err, ErrFailed) || s.calls() != 1 {
			t.Errorf("%q: %v after %d calls", raw, err, s.calls())
		}
	}
}

// A server may tell of an error with status 200: that is tried again.
func TestErrorsInsideRepliesAreTriedAgain(t *testing.T) {
	s := &talker{t: t, first: func(n int, w http.ResponseWriter) bool {
		if n == 2 {
			fmt.Fprint(w, `{"choices":[{"message":{"content":"Yes."}}]}`)
		} else {
			fmt.Fprint(w, `{"error":{"message":"overloaded, says sk-secret"}}`)
		}
		return true
	}}
	server := s.start()
	if got, err := server.ask(t.Context(), ask("a: b", "c?")); err != nil || got.text != "Yes." {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := server.ask(t.Context(), ask("a: b", "c?")); !errors.Is(err, ErrFailed) ||
		!strings.Contains(err.Error(), "overloaded, says [not kept] (5 tries): lower --concurrency") {
		t.Error(err)
	}
}

func TestAddressesOfServers(t *testing.T) {
	for _, c := range []struct{ url, model, key, want string }{
		{"127.0.0.1:8080", "m", "", "--answer"}, {"ftp://x/v1", "m", "", "such as http://"},
		{"http://u:p@x/v1", "m", "", "user and password"},
		{"http://example.com/v1", "m", "k", "unencrypted"}, {"https://example.com/v1", "", "k", "--model"},
		{"https://example.com/v1", "m", "a b", "OPENAI_API_KEY"},
		{"http://127.0.0.1/v1", "m", "k", ""}, {"http://192.168.0.7/v1", "m", "k", ""},
		{"http://example.com/v1", "m", "", ""},
	} {
		_, err := NewServer(c.url, c.model, c.key)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrOption) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.url, err)
		}
	}
}

func TestScoresAreThoseOfSQuAD(t *testing.T) {
	for _, c := range []struct {
		answer, gold string
		exact        bool
		f1           float64
	}{
		{"The Fuse-Box.", "fusebox", true, 1},
		{"on a  Wednesday", "Wednesday", false, 2. / 3},
		{"red red", "red", false, 2. / 3},
		{"blue", "red", false, 0},
		{"", "red", false, 0},
		{"the", "a", true, 1},
		{"$5", "5", true, 1},
	} {
		if exact(c.answer, c.gold) != c.exact ||
			strconv.FormatFloat(f1(c.answer, c.gold), 'f', 6, 64) != strconv.FormatFloat(c.f1, 'f', 6, 64) {
			t.Errorf("%q, %q: %v %v", c.answer, c.gold, exact(c.answer, c.gold), f1(c.answer, c.gold))
		}
	}
	for answer, want := range map[string]bool{
		"No information available.": true, "This is not mentioned in the excerpts.": true, "I don't know": true,
		"Unknown": true,
		"Based on the chat, there is no information related to it.": true, "A knot": false, "7 May 2023": false,
		"": false,
	} {
		if declines(answer) != want {
			t.Errorf("%q", answer)
		}
	}
}
