package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/prompt"
)

// maxText is the most bytes of text in an answer: some 6,000 tokens. Agents cut off or
// refuse answers of 10,000.
const maxText = 24_000

// answer is what a tool returns. Its JSON form is the structured one.
type answer interface {
	// text returns the same for clients that read only text.
	text() string
}

// The descriptions of the tools.
var (
	recallTool = &sdk.Tool{
		Name: prompt.ToolRecall, Title: "Search the history",
		Description: `Search everything that was said, decided, read or run before, by words and meaning, also what is no longer in your context window. Ask in plain words, with the names and terms that the answer would have. Returns the passages that answer it, oldest first, each with its conversation and message id; read shows a message whole.`,
		Annotations: reads("Search the history"),
	}
	readTool = &sdk.Tool{
		Name: prompt.ToolRead, Title: "Read messages whole",
		Description: `Read messages of a conversation whole, by id: one (from), or several (from, to). The ids are those that recall returns; the messages before and after an id show what led to it.`,
		Annotations: reads("Read messages whole"),
	}
	listTool = &sdk.Tool{
		Name: prompt.ToolListConversations, Title: "List conversations",
		Description: `List the conversations of the history, the one that was used last first, with title, project, number of messages and time.`,
		Annotations: reads("List conversations"),
	}
	directivesTool = &sdk.Tool{
		Name: prompt.ToolDirectives, Title: "List standing instructions",
		Description: `List what people said should always hold ("always …", "never …", "from now on …", "I prefer …"), oldest first: in this conversation, with scope project in all conversations of this project, with scope user in all there are.`,
		Annotations: reads("List standing instructions"),
	}
	changeDirectiveTool = &sdk.Tool{
		Name: prompt.ToolChangeDirective, Title: "Edit or dismiss a standing instruction",
		Description: `Replace a standing instruction by text, or dismiss it if text is left out, when the person asks for that: an instruction that no longer holds, or holds in another form. It applies to later conversations too. The message in which it was said stays in the history.`,
		Annotations: changes("Edit or dismiss a standing instruction", true),
	}
	pinTool = &sdk.Tool{
		Name: prompt.ToolPin, Title: "Keep a message in the context window",
		Description: `Keep a message in the context window for the rest of the conversation, and bring it back if it has left, from the next call on. Use it for what must not be lost; read is enough to see something once.`,
		Annotations: changes("Keep a message in the context window", false),
	}
	unpinTool = &sdk.Tool{
		Name: prompt.ToolUnpin, Title: "Stop keeping a message",
		Description: `Let a pinned message leave the context window in its turn. The history keeps it.`,
		Annotations: changes("Stop keeping a message", true),
	}
	undoTool = &sdk.Tool{
		Name: prompt.ToolUndo, Title: "Bring back what left the context window",
		Description: `Bring back everything that one cut of the context window left out, the newest cut unless plan names another, from the next call on. Older messages leave for it if there is no room. To see only some of it, use read or pin instead.`,
		Annotations: changes("Bring back what left the context window", false),
	}
)

// reads annotates a tool that changes nothing.
func reads(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(bool),
		OpenWorldHint: new(bool)}
}

// changes annotates a tool that changes what a model is shown, and never the history.
func changes(title string, destructive bool) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, IdempotentHint: true, DestructiveHint: &destructive,
		OpenWorldHint: new(bool)}
}

// add adds a tool. Its schemas are those of In and Out. The SDK's own AddTool sorts the
// members of an answer, and a model reads the note first.
func add[In any, Out answer](s *sdk.Server, t *tools, tool *sdk.Tool,
	do func(context.Context, *request, *In) (Out, error)) {
	described := *tool
	in := schemaOf[In]()
	described.InputSchema, described.OutputSchema = in, schemaOf[Out]()
	s.AddTool(&described, func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, callWait)
		defer cancel()
		out, err := run(ctx, t, tool.Name, in, call.Params.Arguments, do)
		if err != nil {
			failed := &sdk.CallToolResult{}
			failed.SetError(errors.New(clip.To(err.Error(), clip.Text)))
			return failed, nil
		}
		structured, err := json.Marshal(out)
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.text()}},
			StructuredContent: json.RawMessage(structured)}, nil
	})
}

// run decodes the arguments of a call and does it.
func run[In, Out any](ctx context.Context, t *tools, name string, schema *jsonschema.Schema, arguments []byte,
	do func(context.Context, *request, *In) (Out, error)) (out Out, err error) {
	in := new(In)
	if err := decode(name, schema, arguments, in); err != nil {
		return out, err
	}
	r, err := t.open(ctx, name, arguments)
	if err != nil {
		return out, t.explain(err)
	}
	out, err = do(ctx, r, in)
	return out, t.explain(err)
}

// decode reads the arguments of a tool. An error names the argument and says what to give.
func decode(name string, schema *jsonschema.Schema, arguments []byte, in any) error {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	known := strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil || members == nil {
		return fmt.Errorf("the arguments of %s are not a JSON object: give one with %s", name, known)
	}
	for member, value := range members {
		property := schema.Properties[member]
		switch {
		case property == nil:
			return fmt.Errorf("%s has no argument %q: it takes %s", name, clip.To(member, 40), known)
		case string(value) == "null":
			delete(members, member) // as if it were left out
		}
	}
	for _, required := range schema.Required {
		if _, ok := members[required]; !ok {
			return fmt.Errorf("%s is missing: %s", required, schema.Properties[required].Description)
		}
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		property := schema.Properties[member]
		resolved, err := property.Resolve(nil)
		if err != nil {
			return err
		}
		var value any
		if err := json.Unmarshal(members[member], &value); err != nil {
			return err
		}
		if resolved.Validate(value) != nil {
			return fmt.Errorf("%s: %s does not fit: %s%s", member, clip.To(string(members[member]), 60),
				property.Description, limits(property))
		}
	}
	plain, err := json.Marshal(members)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	if err := d.Decode(in); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the arguments of %s cannot be read: %w", name, err)
	}
	return nil
}

// limits describes the values that a property may have.
func limits(p *jsonschema.Schema) string {
	switch {
	case len(p.Enum) > 0:
		var values []string
		for _, v := range p.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return " (" + strings.Join(values, ", ") + ")"
	case p.Type == "integer" && p.Minimum != nil && p.Maximum != nil:
		return fmt.Sprintf(" (a number from %.0f to %.0f)", *p.Minimum, *p.Maximum)
	case p.Type == "integer" && p.Minimum != nil:
		return fmt.Sprintf(" (a number from %.0f on)", *p.Minimum)
	case p.MaxLength != nil:
		return fmt.Sprintf(" (a text of at most %d characters)", *p.MaxLength)
	}
	return ""
}
