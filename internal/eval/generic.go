package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/importer"
)

// questionsFile is the file with the questions, beside the conversations of a
// generic set.
const questionsFile = "questions.jsonl"

// generic reads files of the import format, or all files of a folder, with the
// questions beside them.
func (s *Set) generic(ctx context.Context, paths []string) error {
	for _, path := range paths {
		files, dir := []string{path}, filepath.Dir(path)
		if info, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		} else if info.IsDir() {
			dir = path
			if files, err = filepath.Glob(filepath.Join(escape(path), "*.jsonl")); err != nil {
				return err
			}
		}
		first := len(s.Conversations)
		for _, file := range files {
			if filepath.Base(file) == questionsFile {
				continue
			}
			talks, err := told(ctx, file, importer.Generic)
			if err != nil {
				return err
			}
			s.Conversations = append(s.Conversations, talks...)
		}
		if err := questions(filepath.Join(dir, questionsFile), s.Conversations[first:]); err != nil {
			return err
		}
	}
	return nil
}

// questions reads the questions of a generic set. A line looks like
//
//	{"conversation":"c1","id":"q1","kind":"fact","question":"…","evidence":["u17"],"answer":"…"}
//
// A question that the conversation does not answer has "unanswerable":true
// instead of an answer.
func questions(path string, talks []Conversation) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var q struct {
			Conversation, ID, Kind, Question string
			Evidence                         []string
			Answer                           gold
			Unanswerable                     bool
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("%w: %s:%d: %w", ErrInput, path, n, err)
		}
		if q.ID == "" {
			q.ID = strconv.Itoa(n)
		}
		switch q.Kind {
		case "":
			q.Kind = "other"
		case "all":
			return fmt.Errorf("%w: %s:%d: \"all\" is the name of the main figure and cannot be a kind: leave the kind out, or give another", ErrInput, path, n)
		}
		found := false
		for i := range talks {
			if talks[i].Name == q.Conversation || q.Conversation == "" && len(talks) == 1 {
				talks[i].Questions = append(talks[i].Questions, Question{
					ID: q.ID, Kind: q.Kind, Text: q.Question, Evidence: q.Evidence, Answer: string(q.Answer),
					Unanswerable: q.Unanswerable,
				})
				found = true
				break
			}
		}
		if !found {
			return fmt.Errorf("%w: %s:%d: there is no conversation %q", ErrInput, path, n, q.Conversation)
		}
	}
	return lines.Err()
}
