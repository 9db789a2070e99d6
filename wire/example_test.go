package wire_test

import (
	"fmt"
	"log"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// A history is cut to its newest turns. What stays keeps its bytes, and the tool
// call stays with its result although only the answer was asked for.
func Example() {
	data := []byte(`{"model":"gpt-4o", "messages":[
 {"role":"user","content":"Hello!"}, {"role":"assistant","content":"Hi."},
 {"role":"user","content":"Rain in Troms\u00f8?"},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},
 {"role":"tool","tool_call_id":"c1","content":"none"},
 {"role":"assistant","content":"No."},
 {"role":"user","content":"Thanks!"}], "n":1}`)

	body, err := wire.Read(data, wire.Auto, wire.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	cuts := chat.NewCuts(body.Messages, body.Rules())
	wanted := make([]bool, len(cuts.Exchanges))
	wanted[3] = true // the call and its result
	keep := cuts.Keep(wanted)
	out, err := body.Write(body.Select(cuts.Messages(keep)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(out))
	// Output:
	// {"model":"gpt-4o", "messages":[
	//  {"role":"user","content":"Rain in Troms\u00f8?"},
	//  {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},
	//  {"role":"tool","tool_call_id":"c1","content":"none"},
	//  {"role":"assistant","content":"No."},
	//  {"role":"user","content":"Thanks!"}], "n":1}
}
