package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/term"
)

// topClient asks the API of a running server.
type topClient struct {
	base   string // such as http://127.0.0.1:8780
	token  string
	client *http.Client
}

// stay follows no redirect: the token is for the server that was named.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// newTopClient reads the address of a server: its base URL, also with /k/TOKEN, or the
// address of its console, also with #token=TOKEN or, as in older links, ?token=TOKEN.
func newTopClient(address, token string) (*topClient, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--url %q: give the address that oriel serve prints, such as http://127.0.0.1:8780",
			term.OneLine(address, 60))
	}
	if t, ok := strings.CutPrefix(u.Fragment, "token="); ok && token == "" {
		token = t
	}
	if token == "" {
		token = u.Query().Get("token")
	}
	path, _, _ := strings.Cut(u.Path+"/", "/oriel/")
	if rest, ok := strings.CutPrefix(path, "/k/"); ok {
		own, _, _ := strings.Cut(rest, "/")
		if token == "" {
			token = own
		}
		path = ""
	}
	return &topClient{base: u.Scheme + "://" + u.Host + strings.TrimRight(path, "/"), token: token,
		client: &http.Client{CheckRedirect: stay}}, nil
}

// topWait limits one question to the server.
const topWait = 20 * time.Second

// maxTopAnswer limits the size of an answer; a strip of 100,000 messages has about 1 MB.
const maxTopAnswer = 32 << 20

func (c *topClient) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+"/oriel/api/"+path, in)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Oriel-Console", "1")
	if c.token != "" {
		r.Header.Set("X-Oriel-Token", c.token)
	}
	res, err := c.client.Do(r)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("%s cannot be reached (%w): is oriel serve running there? --url names another address",
			c.base, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	var problem struct {
		Detail, Hint string
		Error        struct{ Message string }
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if json.Unmarshal(text, &problem) != nil || problem.Detail+problem.Error.Message == "" {
		return nil, fmt.Errorf("%s answered %s: is this the address of an oriel serve of this version?", c.base,
			res.Status)
	}
	said := problem.Detail + problem.Error.Message
	if problem.Hint != "" {
		said += ": " + problem.Hint
	}
	return nil, errors.New(term.OneLine(said, maxError))
}

// ask asks and reads the JSON answer into out.
func (c *topClient) ask(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, topWait)
	defer cancel()
	res, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxTopAnswer)).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return nil
}

func conversationPath(id, rest string) string { return "conversations/" + url.PathEscape(id) + rest }

// follow calls changed for every event of the server until ctx ends or the server is gone.
func (c *topClient) follow(ctx context.Context, changed func()) error {
	res, err := c.request(ctx, http.MethodGet, "events", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event:") {
			changed()
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the server is gone (%w)", err)
	}
	return errors.New("the server is gone")
}

// topOverview is what the API's overview has for this screen.
type topOverview struct {
	Version, Profile string
	Today            struct {
		Calls, Failed, Cuts, Recalls int
		Tokens                       struct {
			Sent, Without int
			LeftOut       int `json:"left_out"`
		}
		Money struct {
			Cost, Without, Saved float64
			UnknownModels        []string `json:"unknown_models"`
		}
	}
	FailOpen struct{ Total int } `json:"fail_open"`
	// Unread are requests that the server did not read, the most frequent first.
	Unread []topUnread
	// Calibration.Error is a share: 0.012 means 1.2%.
	Calibration struct {
		Error float64
		Calls int
	}
	Store struct {
		Status string
		Disk   int64
	}
	Queue struct{ Calls int }
	Live  []topCall
	// Running are calls that have not ended. MS is how long they had run when the server
	// answered, at got.
	Running []topCall
	got     time.Time
}

// topUnread counts requests of a client that the server did not read.
type topUnread struct {
	Client, Path, Why string
	Count             int
}

// topCall is a call in the list.
type topCall struct {
	Time         time.Time // when it began
	Conversation string
	Title        string
	ID, Model    string
	TokensBefore int `json:"tokens_before"`
	TokensAfter  int `json:"tokens_after"`
	Plan         string
	MS           float64 // until the answer ended
	Cost         float64
	Priced       *bool // nil: an earlier server does not say it
	Error        string
}

// passes reports whether a filter lets a call through.
func (c *topCall) passes(filter string) bool {
	return strings.Contains(strings.ToLower(c.Title+" "+c.Conversation+" "+c.Model+" "+c.Plan), strings.ToLower(filter))
}

// topStrip is all messages of a conversation in short.
type topStrip struct {
	Conversation string
	Call, Calls  int
	Count, Upto  int
	TokensBefore int `json:"tokens_before"`
	TokensAfter  int `json:"tokens_after"`
	Budget       int
	Plan         string
	Verdicts     []topVerdict
	Pinned       []int
	Held         [][2]int
	Recalled     []struct{ Into, ID int }
	Kinds        string
	Tokens       []int
}

// topVerdict is what became of messages first to last.
type topVerdict struct {
	first, last int
	verdict     string
}

// UnmarshalJSON reads [first, last, "verdict"].
func (v *topVerdict) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[3]any{&v.first, &v.last, &v.verdict})
}

// topMessage is one message.
type topMessage struct {
	ID                    int
	Role, By              string
	Tokens                int
	Pinned                bool
	Parts                 []struct{ Kind, Text, Name, Media string }
	Verdict, Reason, Plan string
}

// topUndo is what an undo does.
type topUndo struct {
	Plan, Back, Leaves string
	BackTokens         int `json:"back_tokens"`
	LeavesTokens       int `json:"leaves_tokens"`
}
