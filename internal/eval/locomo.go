package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"github.com/oriel-context/oriel/internal/importer"
)

// locomoKinds are the names of LoCoMo's categories.
var locomoKinds = []string{"", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial"}

// locomoRef matches the ids of turns, including two in one string and a common
// misspelling.
var locomoRef = regexp.MustCompile(`D:?(\d+):(\d+)`)

// locomo reads files of LoCoMo's schema. It names conversations by their
// position.
func (s *Set) locomo(ctx context.Context, paths []string) error {
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		type sample struct {
			QA []struct {
				Question string
				Evidence []string
				Category int
				Answer   gold
			}
		}
		var samples []sample
		if err := json.Unmarshal(raw, &samples); err != nil {
			var one sample
			if json.Unmarshal(raw, &one) != nil {
				return fmt.Errorf("%w: %s: %w", ErrInput, path, err)
			}
			samples = []sample{one}
		}
		talks, err := told(ctx, path, importer.Locomo)
		if err != nil {
			return err
		}
		if len(talks) != len(samples) {
			return fmt.Errorf("%w: %s: %d conversations, but %d have questions: two have the same name", ErrInput, path,
				len(talks), len(samples))
		}
		for i, sample := range samples {
			c := talks[i]
			c.Name = strconv.Itoa(len(s.Conversations))
			for k, qa := range sample.QA {
				q := Question{ID: "qa" + strconv.Itoa(k), Text: qa.Question, Kind: "other"}
				if 0 < qa.Category && qa.Category < len(locomoKinds) {
					q.Kind = locomoKinds[qa.Category]
				}
				q.Aside = q.Kind == "adversarial"
				q.Unanswerable = q.Aside
				if !q.Unanswerable {
					q.Answer = string(qa.Answer)
				}
				for _, e := range qa.Evidence {
					for _, m := range locomoRef.FindAllStringSubmatch(e, -1) {
						q.Evidence = append(q.Evidence, "D"+m[1]+":"+m[2])
					}
				}
				c.Questions = append(c.Questions, q)
			}
			s.Conversations = append(s.Conversations, c)
		}
	}
	return nil
}
