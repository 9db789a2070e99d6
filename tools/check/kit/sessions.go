package kit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/tools/transcript"
	"github.com/oriel-context/oriel/wire"
)

// Sessions calls visit for the recorded sessions of all paths, which are files or folders
// of Claude Code sessions (*.jsonl) or tau-bench results (*.json).
func Sessions(paths []string, visit func(*transcript.Session) error) error {
	if len(paths) == 0 {
		return errors.New("name a file or folder of recorded sessions")
	}
	for _, path := range paths {
		sessions, err := transcript.Open(path)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			if err := visit(s); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	return nil
}

// Translated is Sessions that visits chat sessions a second time as Responses items.
func Translated(paths []string, visit func(*transcript.Session)) error {
	return Sessions(paths, func(s *transcript.Session) error {
		visit(s)
		if s.Format != transcript.Chat {
			return nil
		}
		items, err := s.AsResponses()
		if err == nil {
			visit(items)
		}
		return err
	})
}

// Formats maps formats of recordings to wire formats.
var Formats = map[transcript.Format]wire.Format{
	transcript.Anthropic: wire.Anthropic, transcript.Chat: wire.Chat, transcript.Responses: wire.Responses,
}

// Judge returns how a body breaks its provider's rules. Signatures of thinking
// may be blank, as in published recordings.
func Judge(f wire.Format, body []byte) []strict.Problem {
	if f == wire.Anthropic {
		return strict.Options{BlankSignatures: true}.Anthropic(body)
	}
	return judges[f](body)
}

var judges = map[wire.Format]func([]byte) []strict.Problem{
	wire.Anthropic: strict.Anthropic, wire.Chat: strict.Chat, wire.Responses: strict.Responses,
}

// JudgeView returns how a view breaks the provider's rules in ways in which
// its original body does not. cameBroken is true if there are problems and the
// original body has some of its own.
func JudgeView(f wire.Format, came, sent []byte) (problems []strict.Problem, cameBroken bool) {
	problems = judges[f](sent)
	if !bytes.Equal(came, sent) {
		problems = append(problems, strict.SameThinking(came, sent)...)
		if f == wire.Responses {
			problems = append(problems, strict.KeptReasoning(came, sent)...)
		}
	}
	if len(problems) == 0 {
		return nil, false
	}
	broken := strict.Codes(judges[f](came))
	problems = slices.DeleteFunc(problems, func(p strict.Problem) bool { return slices.Contains(broken, p.Code) })
	return problems, len(broken) > 0
}
