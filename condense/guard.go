package condense

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errors of Run. Each is wrapped in an [*Error].
var (
	// ErrNothing: there was nothing to condense.
	ErrNothing = errors.New("nothing to condense")
	// ErrEmpty: the text was empty or white space.
	ErrEmpty = errors.New("the summary is empty")
	// ErrRefused: the model refused.
	ErrRefused = errors.New("the model refused to summarise")
	// ErrCutOff: the model ran into its output limit.
	ErrCutOff = errors.New("the summary was cut off")
	// ErrLarger: the text is not clearly smaller than what it stands for.
	ErrLarger = errors.New("the summary is not smaller than its input")
	// ErrTooLong: the text exceeds Input.Max, and not even its first sentence
	// fits.
	ErrTooLong = errors.New("the summary is over its limit")
	// ErrNested: the text contains another summary's marker.
	ErrNested = errors.New("the summary contains another summary")
)

// Error describes a failed condensation: why, what it cost, and what to do.
type Error struct {
	// Err is one of the errors above, or the condenser's.
	Err error
	// Cost, TokensIn and TokensOut are those of the failed call (SPEC B5).
	Cost                float64
	TokensIn, TokensOut int
	// Hint is what a person can do; it may be empty.
	Hint string
}

func (e *Error) Error() string {
	s := "condense: " + e.Err.Error()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(out Output, err error, hint string) error {
	return &Error{Err: err, Cost: out.Cost, TokensIn: out.TokensIn, TokensOut: out.TokensOut, Hint: hint}
}

// Run condenses a span and accepts only a text that may replace it; see the
// package comment for its guarantees. The returned text has its marker. Every
// error is an *Error, including that of a cancelled context (errors.Is finds it).
func Run(ctx context.Context, c Condenser, in Input) (Output, error) {
	covered := in.covered()
	in = in.withDefaults()
	if len(in.Messages) == 0 {
		return Output{}, fail(Output{}, ErrNothing, "give at least one message that is not a summary")
	}
	limit := in.Max
	// The longer header, and a token for the line break.
	in.Max = limit - max(in.Count(header(KindSummary, covered, in.Tool)+"\n"),
		in.Count(header(KindDigest, covered, in.Tool)+"\n")) - 1
	if in.Max <= 0 {
		return Output{}, fail(Output{}, ErrTooLong,
			fmt.Sprintf("%d tokens only have room for the marker: raise the limit", limit))
	}
	out, err := c.Condense(ctx, in)
	if err != nil {
		var known *Error
		if errors.As(err, &known) {
			return Output{}, err
		}
		return Output{}, fail(out, err, "")
	}
	if err := check(&out, in); err != nil {
		return Output{}, err
	}
	if out.Kind != KindDigest {
		out.Kind = KindSummary
	}
	body := out.Text
	for room := in.Max; ; {
		out.Text = header(out.Kind, covered, in.Tool) + "\n" + body
		size := in.Count(out.Text)
		if size <= limit {
			break
		}
		// Header and body together may have more tokens than separately, and
		// models exceed limits.
		room -= max(1, size-limit)
		if body = clipAtSentence(body, room, in.Count); body == "" {
			hint := fmt.Sprintf("%d tokens, %d allowed: raise the limit or ask the model for less", size, limit)
			return Output{}, fail(out, ErrTooLong, hint)
		}
	}
	if !smaller(out.Text, in) {
		return Output{}, fail(out, ErrLarger, "condense a longer span")
	}
	return out, nil
}

// check refuses texts that must not replace a span, and cuts a long one at the
// end of a sentence.
func check(out *Output, in Input) error {
	text := strings.ToValidUTF8(out.Text, "\ufffd")
	text, _, _ = Unmark(text) // a model may copy a marker from its input
	switch stop := strings.ToLower(out.Stop); {
	case stop == "refusal" || stop == "content_filter" || refuses(text):
		return fail(*out, ErrRefused, "use another model, or a method without one")
	case text == "":
		hint := "use another model, or a method without one"
		if out.Kind == KindDigest {
			hint = "nothing in the span is worth saying"
		} else if out.TokensOut > 0 {
			hint = fmt.Sprintf(
				"%d tokens went into thinking or tool calls: give the model more room or turn thinking off",
				out.TokensOut)
		}
		return fail(*out, ErrEmpty, hint)
	case cutOff(stop):
		return fail(*out, ErrCutOff, "raise the output limit of the summarising model")
	case nested(text):
		return fail(*out, ErrNested, "pass the earlier summary as Previous")
	}
	if size := in.Count(text); size > in.Max {
		text = clipAtSentence(text, in.Max, in.Count)
		if text == "" {
			hint := fmt.Sprintf("%d tokens, %d allowed: raise the limit or ask the model for less", size, in.Max)
			return fail(*out, ErrTooLong, hint)
		}
	}
	out.Text = text
	return nil
}

// cutOff reports whether a stop reason means that the reply hit a limit.
func cutOff(stop string) bool {
	switch stop {
	case "max_tokens", "length", "max_output_tokens", "incomplete", "model_context_window_exceeded", "pause_turn":
		return true
	}
	return false
}

// refusals are beginnings of replies that refuse; excuses do if words of a
// refusal follow. Both are compared in lower case with straight apostrophes.
var (
	refusals = []string{
		"i can't", "i cannot", "i can not", "i'm unable", "i am unable", "i'm not able", "i am not able",
		"i won't", "i will not", "i must decline", "i have to decline",
	}
	excuses = []string{"i'm sorry", "i am sorry", "sorry", "i apologize", "i apologise", "as an ai", "unfortunately"}
	denials = []string{"can't", "cannot", "can not", "unable", "not able", "won't", "will not", "decline"}
)

// refuses reports whether a text begins like a refusal. A long text that does is
// still a summary: refusals are short.
func refuses(text string) bool {
	if len(text) > 1000 {
		return false
	}
	head := strings.ToLower(strings.ReplaceAll(text[:min(len(text), 200)], "’", "'"))
	for _, r := range refusals {
		if strings.HasPrefix(head, r) {
			return true
		}
	}
	for _, e := range excuses {
		if !strings.HasPrefix(head, e) {
			continue
		}
		for _, d := range denials {
			if strings.Contains(head, d) {
				return true
			}
		}
	}
	return false
}

// smaller reports whether the text is at least a tenth smaller than the span and
// its base (SPEC B3, E3). It stops counting when the answer is certain.
func smaller(text string, in Input) bool {
	need := (in.Count(text)*10 + 8) / 9
	have := 0
	if in.Previous != "" {
		have = in.Count(in.Previous)
	}
	for i := range in.Messages {
		for j := range in.Messages[i].Parts {
			if have >= need {
				return true
			}
			have += weigh(&in.Messages[i].Parts[j], in.Count)
		}
	}
	return have >= need
}
