package call_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Engines on one store recall what one engine alone recalls, if all have indexed and embedded
// the history: nothing else differs between them.
func TestEnginesThatHaveIndexedEverythingRecallTheSame(t *testing.T) {
	var libraries []*recall.Library
	open := func(store timeline.Store, shared bool) *call.Engine {
		library := recall.NewLibrary(store, recall.LibraryOptions{Model: lengths{}})
		e := call.NewForTest(call.TestOptions{Options: call.Options{RecallWait: time.Minute},
			Parts: call.Parts{Store: store, Recall: library, Shared: shared,
				Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}}})
		t.Cleanup(func() {
			must(e.Close(ctx))
			library.Close()
		})
		libraries = append(libraries, library)
		return e
	}
	one := open(memory.New(), false)
	together := memory.New()
	many := []*call.Engine{open(&deaf{Store: together}, true), open(&deaf{Store: together}, true),
		open(&deaf{Store: together}, true)}
	random := rand.New(rand.NewPCG(3, 1))
	recalled := 0
	for _, name := range []string{"named", ""} {
		talk := &member{name: name, profile: "thrifty", budget: "2500", model: "gpt-4o", factor: 1}
		names := [2]string{} // of the conversation, on the one and on the many
		for i := range 40 {
			text := fmt.Sprintf("The number of badge %s%d is %d. %s", name, i, 1000+random.IntN(9000),
				randomWords(random, 120))
			if i%3 == 2 {
				text = fmt.Sprintf("What was the number of badge %s%d?", name, random.IntN(i))
			}
			talk.list = append(talk.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text)))
			must(one.Wait(ctx))
			for k, l := range libraries {
				if name := names[min(k, 1)]; name != "" {
					l.Prepare(recall.Where{Tenant: timeline.Local, Conversation: name})
				}
				must(l.Wait(ctx))
			}
			want, told := talk.call(one, fmt.Sprint("one", name, i))
			which := random.IntN(len(many))
			got, heard := talk.call(many[which], fmt.Sprint("one", name, i))
			if !bytes.Equal(got[0], want[0]) {
				t.Fatalf("%q, call %d: engine %d sends, by plan %q,\n%s\ninstead of, by plan %q,\n%s", name, i, which,
					heard.Get("X-Oriel-Plan"), got[0], told.Get("X-Oriel-Plan"), want[0])
			}
			names = [2]string{told.Get("X-Oriel-Conversation"), heard.Get("X-Oriel-Conversation")}
			if bytes.Contains([]byte(heard.Get("X-Oriel-Action")), []byte("recall")) {
				recalled++
			}
			talk.list = append(talk.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
		}
	}
	if recalled < 8 {
		t.Errorf("only %d calls recalled something", recalled)
	}
}
