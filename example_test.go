package oriel_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
)

// A conversation stays within its window; what leaves it is told, kept, recalled when
// it is needed, and can be brought back.
func Example() {
	ctx := context.Background()
	noon := time.Date(2025, 7, 10, 12, 0, 0, 0, time.UTC)
	e, err := oriel.Open(ctx, oriel.Config{MaxItems: 3, Policy: "fifo", Now: func() time.Time { return noon }})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	c, err := e.Conversation(ctx, "holiday")
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range []oriel.Item{
		{Source: "user", Content: "My name is Ann."},
		{Source: "assistant", Content: "Hello Ann."},
		{Source: "file", Content: "packing.txt: tent, stove"},
		{Source: "assistant", Content: "You pack a tent and a stove."},
	} {
		id, evicted, err := c.Add(ctx, it)
		if err != nil {
			log.Fatal(err)
		}
		for _, out := range evicted {
			fmt.Printf("item %d came, item %d left\n", id, out.ID)
		}
	}

	view, err := c.Context(ctx, "What is my name?", oriel.ContextOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.Text)
	for _, m := range view.Messages {
		fmt.Printf("%s:\n", m.Role)
		for _, p := range m.Parts {
			fmt.Printf("  %s\n", p.Text)
		}
	}

	// The item that left is in the history, and undoing brings it back into view.
	first, err := c.Item(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("history:", first.Content)
	plans, err := c.Plans(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Undo(ctx, plans[0].Undo); err != nil {
		log.Fatal(err)
	}
	items, err := c.Items(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range items {
		fmt.Println("in view:", it.ID, it.Content)
	}
	// Output:
	// item 4 came, item 1 left
	// # Recent Context
	// [Oriel: earlier parts of this conversation are left out here; its history keeps them]
	//
	// [assistant] Hello Ann.
	//
	// [file] packing.txt: tent, stove
	//
	// [assistant] You pack a tent and a stove.
	//
	// # Relevant Historical Context
	// [2025-07-10 12:00 user] My name is Ann.
	//
	// # Current Query
	// What is my name?
	// user:
	//   [Oriel: earlier parts of this conversation are left out here; its history keeps them]
	// assistant:
	//   Hello Ann.
	// user:
	//   [file] packing.txt: tent, stove
	// assistant:
	//   You pack a tent and a stove.
	// user:
	//   # Relevant Historical Context
	// [2025-07-10 12:00 user] My name is Ann.
	//   What is my name?
	// history: My name is Ann.
	// in view: 1 My name is Ann.
	// in view: 3 packing.txt: tent, stove
	// in view: 4 You pack a tent and a stove.
}

// Everything that was said can be found, in view or not. What the user wants from now
// on is shown in every view.
func ExampleConversation_Recall() {
	ctx := context.Background()
	day := time.Date(2025, 7, 10, 12, 0, 0, 0, time.UTC)
	e, err := oriel.Open(ctx, oriel.Config{MaxItems: 2, Now: func() time.Time { return day }})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	c, err := e.Conversation(ctx, "garden")
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range []oriel.Item{
		{Source: "user", Content: "Always give lengths in metres."},
		{Source: "user", Content: "The hedge along the road is eighteen metres long."},
		{Source: "assistant", Content: "Noted. Shall we plan the flower beds?"},
		{Source: "user", Content: "Yes, with roses and lavender."},
	} {
		if _, _, err := c.Add(ctx, it); err != nil {
			log.Fatal(err)
		}
	}
	hits, err := c.Recall(ctx, "how long is the hedge?", oriel.RecallOptions{Top: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits.Passages {
		fmt.Println(h.Item, h.Role, h.Text)
	}
	view, err := c.Context(ctx, "how long is the hedge?", oriel.ContextOptions{Recall: oriel.RecallOptions{Top: 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.Text)
	// Output:
	// 2 user The hedge along the road is eighteen metres long.
	// # Recent Context
	// [Oriel: earlier parts of this conversation are left out here; its history keeps them]
	//
	// [assistant] Noted. Shall we plan the flower beds?
	//
	// [user] Yes, with roses and lavender.
	//
	// # Relevant Historical Context
	// [2025-07-10 12:00 user] Always give lengths in metres.
	//
	// [2025-07-10 12:00 user] The hedge along the road is eighteen metres long.
	//
	// # Current Query
	// how long is the hedge?
}

// With a folder, conversations are there again when the program begins anew, and
// other programs see them.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "oriel")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, text := range []string{"My name is Ann.", "Remember it."} {
		e, err := oriel.Open(ctx, oriel.Config{Dir: dir})
		if err != nil {
			log.Fatal(err)
		}
		c, err := e.Conversation(ctx, "holiday")
		if err != nil {
			log.Fatal(err)
		}
		id, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: text})
		if err != nil {
			log.Fatal(err)
		}
		if err := c.Pin(ctx, 1); err != nil {
			log.Fatal(err)
		}
		items, err := c.Items(ctx, 0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("added", id, "in view", len(items), "the first is pinned:", items[0].Pinned())
		if err := e.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// added 1 in view 1 the first is pinned: true
	// added 2 in view 2 the first is pinned: true
}

// A request body is fitted to a budget. The plan says what left and why; dropping
// it, and sending the body that was given, undoes it.
func ExampleFit() {
	body := []byte(`{"messages":[
 {"role":"user","content":"Hello!"}, {"role":"assistant","content":"Hi."},
 {"role":"user","content":"How are you?"}, {"role":"assistant","content":"Well."},
 {"role":"user","content":"Good."}]}`)
	fitted, plan, err := oriel.Fit(context.Background(), body, oriel.FitOptions{Policy: "fifo", MaxItems: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Action, strings.Count(string(fitted), `"role"`), "messages")
	for _, b := range plan.Blocks {
		fmt.Println(b.Index, b.Role, b.Verdict)
	}
	// Output:
	// evict 3 messages
	// 0 user evict
	// 1 assistant evict
	// 2 user keep
	// 3 assistant keep
	// 4 user keep
}

// A program that uses a vendor's SDK, or net/http alone, gets what the proxy does in
// process: each call is recorded, and sent within what fits.
func ExampleEngine_Transport() {
	ctx := context.Background()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"r1","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello Ann."}}]}`)
	}))
	defer provider.Close()

	e, err := oriel.Open(ctx, oriel.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	client := &http.Client{Transport: e.Transport(http.DefaultTransport)} // or the SDK's option for it

	req, err := http.NewRequest(http.MethodPost, provider.URL+"/v1/chat/completions",
		strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"My name is Ann."}]}`))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("X-Oriel-Conversation", "ann") // optional: Oriel finds out by itself
	res, err := client.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Header.Get("X-Oriel-Conversation"), res.Header.Get("X-Oriel-Action"),
		res.Header.Get("X-Oriel-Tokens-After"))
	// Output: ann none 12
}
