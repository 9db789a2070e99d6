package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/internal/importer"
)

// beam reads BEAM chat folders, each with chat.json and
// probing_questions.json.
func (s *Set) beam(ctx context.Context, paths []string) error {
	for _, path := range paths {
		found, err := folders(path, "probing_questions.json")
		if err != nil {
			return err
		}
		for _, dir := range found {
			talks, err := told(ctx, filepath.Join(dir, "chat.json"), importer.Beam)
			if err != nil {
				return err
			}
			if len(talks) != 1 {
				return fmt.Errorf("%w: %s: %d chats, want one", ErrInput, dir, len(talks))
			}
			c := talks[0]
			c.Name = s.unique(filepath.Base(dir))
			if c.Questions, err = beamQuestions(filepath.Join(dir, "probing_questions.json")); err != nil {
				return err
			}
			s.Conversations = append(s.Conversations, c)
		}
	}
	return nil
}

// unique derives a name that no conversation of the set has yet.
func (s *Set) unique(name string) string {
	for n := 2; ; n++ {
		if !slices.ContainsFunc(s.Conversations, func(c Conversation) bool { return c.Name == name }) {
			return name
		}
		name = fmt.Sprintf("%s (%d)", name, n)
	}
}

func beamQuestions(path string) ([]Question, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	var kinds map[string][]struct {
		Question string
		Source   any `json:"source_chat_ids"`
		Answer   gold
		Ideal    gold `json:"ideal_answer"`
		Summary  gold `json:"ideal_summary"`
	}
	if err := json.Unmarshal(raw, &kinds); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, path, err)
	}
	var out []Question
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for i, q := range kinds[kind] {
			// For instructions and preferences BEAM gives only a rubric.
			out = append(out, Question{
				ID: kind + strconv.Itoa(i), Kind: kind, Text: q.Question, Evidence: ids(q.Source),
				Answer: string(cmp.Or(q.Answer, q.Ideal, q.Summary)), Unanswerable: kind == "abstention",
			})
		}
	}
	return out, nil
}

// ids returns all numbers in a JSON value, at any depth.
func ids(v any) []string {
	var out []string
	switch v := v.(type) {
	case float64:
		out = append(out, strconv.Itoa(int(v)))
	case []any:
		for _, e := range v {
			out = append(out, ids(e)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, ids(v[key])...)
		}
	}
	return out
}
