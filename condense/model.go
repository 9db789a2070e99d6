package condense

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/token"
)

// Call asks a model once. The caller provides it and is responsible for endpoint,
// key, retries and timeout.
type Call func(ctx context.Context, r Request) (Reply, error)

// Request is the request to a model.
type Request struct {
	System, Prompt string
	// MaxTokens limits what the model may write.
	MaxTokens int
}

// Reply is a model's reply. Beside an error, Usage is what the failed call was
// charged.
type Reply struct {
	Text string
	// Stop is the provider's stop reason.
	Stop  string
	Usage token.Usage
}

// Defaults of the zero Model.
const (
	DefaultWindow      = 100_000
	DefaultResultLimit = 2000
)

// Model condenses by asking a model (SPEC B5). It is as deterministic as that
// model.
type Model struct {
	// Call calls the model. It is required.
	Call Call
	// Prompt replaces the built-in instructions, [Instructions]. "{tokens}" in it
	// stands for the limit of the summary.
	Prompt string
	// Window is the model's limit in tokens, including instructions and reply; 0
	// means DefaultWindow. The oldest messages that do not fit are omitted, with a
	// note.
	Window int
	// ResultLimit limits each tool result, in bytes, keeping both ends; 0 means
	// DefaultResultLimit, a negative value no limit.
	ResultLimit int
	// Prices convert usage to Output.Cost; the zero value gives 0.
	Prices token.Prices
}

// Instructions is the prompt if Model.Prompt is empty.
const Instructions = prompt.SummaryInstructions

var errNoCall = errors.New("no model to call")

// Condense asks the model.
func (m Model) Condense(ctx context.Context, in Input) (Output, error) {
	if m.Call == nil {
		return Output{}, &Error{Err: errNoCall, Hint: "set Model.Call"}
	}
	in = in.withDefaults()
	r, err := m.request(in)
	if err != nil {
		return Output{}, err
	}
	reply, err := m.Call(ctx, r)
	out := Output{
		Text:      reply.Text,
		Kind:      KindSummary,
		Stop:      reply.Stop,
		Cost:      m.Prices.Cost(reply.Usage),
		TokensIn:  reply.Usage.Prompt(),
		TokensOut: reply.Usage.Output,
	}
	return out, err
}

// ErrWindow: the summarising model's window has no room for the span.
var ErrWindow = errors.New("the summarising model's window is too small")

// spare is the reserve in the model's window for the structure of a request and
// for undercounting.
const spare = 200

// request builds the request to the model, within its window.
func (m Model) request(in Input) (Request, error) {
	window := m.Window
	if window <= 0 {
		window = DefaultWindow
	}
	system := m.Prompt
	if system == "" {
		system = Instructions
	}
	system = strings.ReplaceAll(system, "{tokens}", strconv.Itoa(in.Max))
	// Differences in counting must not cut off a reply that keeps to its limit.
	r := Request{System: system, MaxTokens: in.Max + in.Max/4 + 16}
	room := window - window/50 - spare - in.Count(system) - r.MaxTokens
	if room < window/8 {
		return r, &Error{Err: ErrWindow, Hint: "give Model.Window at least twice the summary's limit"}
	}
	var b strings.Builder
	if in.Previous != "" {
		// Cap the base: it is a summary and must stay one.
		base := in.Previous
		if limit := min(room/2, 2*in.Max); in.Count(base) > limit {
			cut := clipAtSentence(base, limit, in.Count)
			if cut == "" {
				cut = clipWords(base, limit, in.Count)
			}
			base = cut
		}
		b.WriteString(prompt.SummaryBase + base + prompt.SummaryBaseEnd)
		room -= in.Count(b.String())
	}
	limit := m.ResultLimit
	if limit == 0 {
		limit = DefaultResultLimit
	}
	b.WriteString(prompt.SummaryBegin)
	b.WriteString(newest(flatten(in.Messages, limit), room, in.Count))
	b.WriteString(prompt.SummaryEnd)
	r.Prompt = strings.ToValidUTF8(b.String(), "\ufffd")
	return r, nil
}

// newest joins the newest pieces that fit and notes how many do not. If even the
// newest piece is too large, it keeps its end.
func newest(list []string, room int, count func(string) int) string {
	const note = prompt.SummaryOldest
	room -= count(note) + 4
	first := len(list)
	for first > 0 {
		n := count(list[first-1]) + 2
		if n > room {
			break
		}
		room -= n
		first--
	}
	if first == len(list) && first > 0 && room > 0 {
		// Not even the newest one fits: its end is better than nothing.
		first--
		list = append(list[:first:first], clipTail(list[first], room, count))
	}
	text := strings.Join(list[first:], "\n\n")
	if first > 0 {
		text = strings.Replace(note, "%n", strconv.Itoa(first), 1) + text
	}
	return text
}

// clipTail returns the longest end of text that has at most limit tokens.
func clipTail(text string, limit int, count func(string) int) string {
	low, high := 0, len(text)
	for low < high {
		mid := border(text, (low+high)/2)
		if count(text[mid:]) <= limit {
			high = mid
		} else {
			low = mid + 1
			for low < high && border(text, low) != low {
				low++
			}
		}
	}
	return text[high:]
}
