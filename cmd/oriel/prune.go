package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/importer/copier"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// prunedInfo is the JSON form of a pruning.
type prunedInfo struct {
	Deleted []string `json:"deleted"`
	// Messages and Bytes are how much the history has shrunk.
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
	DryRun   bool  `json:"dry_run"`
	// Pending reports that the deleted bytes are still in the files.
	Pending bool `json:"pending,omitempty"`

	titles map[string]string // by id, as far as they are known
}

func pruneCommand() *cobra.Command {
	var olderThan, maxSize string
	var dryRun, yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old conversations, or the oldest above a size",
		Long: `Delete the conversations whose last message is older than --older-than. Then, while all
contents together have more than --max-size bytes (uncompressed, as oriel stats counts
them), delete the one whose last message is the oldest. The time of a message is when it
was said, not when it was imported. Content that another conversation uses stays. The
command asks first. Without a terminal it needs --yes.

--dry-run prints what would be deleted and deletes nothing. To find out what that is, this and
the question work on a copy in the folder for temporary files.`,
		Example: `  oriel prune --older-than 90d --dry-run
  oriel prune --older-than 1y --max-size 2GB --yes`,
		Args: noArguments,
	}
	f := cmd.Flags()
	f.StringVar(&olderThan, "older-than", "", "`age` of the last message: 12h, 90d, 8w, 2y")
	f.StringVar(&maxSize, "max-size", "", "`size` of all contents: 500MB, 2GB")
	f.BoolVar(&dryRun, "dry-run", false, "print what would be deleted, and delete nothing")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		policy, err := prunePolicy(olderThan, maxSize)
		if err != nil {
			return err
		}
		result := prunedInfo{Deleted: []string{}, DryRun: dryRun}
		use := data.change
		asks := !yes && !dryRun && term.IsTerminal(cmd.InOrStdin())
		if dryRun || asks {
			defer endBySignals(cmd)() // the copy is a file to remove
		}
		if dryRun {
			use = data.with
		}
		err = use(cmd.Context(), func(s tenantStore) error {
			if dryRun {
				if err := onCopy(cmd.Context(), s, func(copied tenantStore) error {
					return result.prune(cmd.Context(), copied, policy)
				}); err != nil || asJSON {
					return err
				}
				return result.name(cmd.Context(), s)
			}
			question := "" // without a terminal there is none
			if asks {
				var would prunedInfo
				if err := onCopy(cmd.Context(), s,
					func(copied tenantStore) error { return would.prune(cmd.Context(), copied, policy) }); err != nil {
					return err
				}
				if len(would.Deleted) == 0 {
					return nil
				}
				if err := would.name(cmd.Context(), s); err != nil {
					return err
				}
				var err error
				if question, err = would.question(cmd.Context(), s); err != nil {
					return err
				}
				result.titles = would.titles
				would.DryRun = true
				if _, err := cmd.ErrOrStderr().Write(would.words(term.Width(cmd.ErrOrStderr()))); err != nil {
					return err
				}
			}
			if err := confirmDelete(cmd, yes, question); err != nil {
				return err
			}
			return result.prune(cmd.Context(), s, policy)
		})
		if err := tolerateNone(cmd, err); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), result)
		}
		_, err = cmd.OutOrStdout().Write(result.words(term.ScreenOf(cmd.OutOrStdout()).Width))
		return err
	}
	return cmd
}

func prunePolicy(olderThan, maxSize string) (p timeline.Policy, err error) {
	if olderThan == "" && maxSize == "" {
		return p, fmt.Errorf("no limit: give --older-than, --max-size or both; see oriel prune --help")
	}
	if olderThan != "" {
		if p.OlderThan, err = report.Age(olderThan); err != nil {
			return p, fmt.Errorf("--older-than: %w", err)
		}
	}
	if maxSize != "" {
		if p.MaxBytes, err = byteCount(maxSize); err != nil {
			return p, fmt.Errorf("--max-size: %w", err)
		}
	}
	return p, nil
}

// prune deletes and counts what is gone.
func (r *prunedInfo) prune(ctx context.Context, s tenantStore, p timeline.Policy) error {
	before, err := s.Stats(ctx, s.tenant)
	if err != nil {
		return &failure{err}
	}
	gone, err := timeline.Prune(ctx, s, s.tenant, p, time.Now())
	if err != nil {
		return &failure{fmt.Errorf("%w: %s had been deleted before", err,
			term.Plural(len(gone), "conversation", "conversations"))}
	}
	after, err := s.Stats(ctx, s.tenant)
	if err != nil {
		return &failure{err}
	}
	r.Deleted = append(r.Deleted, gone...)
	r.Pending = after.Pending && !r.DryRun && len(gone) > 0
	r.Messages, r.Bytes = before.Messages-after.Messages, before.Bytes-after.Bytes
	return nil
}

// name reads the titles of the conversations from a store that still has them.
func (r *prunedInfo) name(ctx context.Context, s tenantStore) error {
	r.titles = map[string]string{}
	for _, name := range r.Deleted[:min(len(r.Deleted), maxShown)] {
		title, err := titleOf(ctx, s, name)
		if err != nil {
			return err
		}
		r.titles[name] = term.OneLine(title, 60)
	}
	return nil
}

// question returns what a person is asked before a store loses the conversations.
func (r *prunedInfo) question(ctx context.Context, s tenantStore) (string, error) {
	var first, last time.Time
	for _, name := range r.Deleted {
		c, err := s.Conversation(ctx, s.tenant, name)
		if errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			continue
		}
		if err != nil {
			return "", &failure{err}
		}
		said, err := timeline.Said(ctx, s, s.tenant, &c)
		if err != nil {
			return "", &failure{err}
		}
		if first.IsZero() || said.Before(first) {
			first = said
		}
		if said.After(last) {
			last = said
		}
	}
	return fmt.Sprintf("Delete %s (%s, last used %s) permanently?",
		term.Plural(len(r.Deleted), "conversation", "conversations"),
		term.Bytes(r.Bytes), days(first.Local(), last.Local(), time.Now())), nil
}

// days writes the days from first to last in the zone of these, with the year unless it is
// that of now.
func days(first, last, now time.Time) string {
	const day, withYear = "2 Jan", "2 Jan 2006"
	from, to := withYear, withYear
	if first.Year() == last.Year() {
		from = day
		if last.Year() == now.Year() {
			to = day
		}
	}
	end := last.Format(to)
	if first.Format(withYear) == last.Format(withYear) {
		return end
	}
	return first.Format(from) + " – " + end
}

// words returns the result as lines for people, of at most width columns; 0 means any number.
func (r *prunedInfo) words(width int) []byte {
	var b bytes.Buffer
	done := "deleted"
	if r.DryRun {
		done = "would delete"
	}
	for i, name := range r.Deleted {
		if i == maxShown {
			fmt.Fprintf(&b, "and %s more\n", term.Thousands(len(r.Deleted)-i))
			break
		}
		fmt.Fprintf(&b, "%s %s\n", done, titled(term.OneLine(name, 60), r.titles[name], cmp.Or(width, 200)-len(done)-1))
	}
	fmt.Fprintf(&b, "%s %s: %s, %s of content\n", done, term.Plural(len(r.Deleted), "conversation", "conversations"),
		term.Plural(int(r.Messages), "message", "messages"), term.Bytes(r.Bytes))
	if r.Pending {
		fmt.Fprintln(&b, pendingNote)
	}
	return b.Bytes()
}

// onCopy runs do on a temporary copy of the history.
func onCopy(ctx context.Context, s tenantStore, do func(tenantStore) error) (err error) {
	dir, err := os.MkdirTemp("", "oriel-prune-")
	if err != nil {
		return &failure{err}
	}
	defer os.RemoveAll(dir)
	database, isDatabase := s.Store.(*postgres.Store)
	if !isDatabase {
		if err := s.Backup(ctx, filepath.Join(dir, "oriel.db")); err != nil {
			return &failure{err}
		}
	}
	copied, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return &failure{err}
	}
	if isDatabase {
		if _, err := copier.Copy(ctx, database, copied, copier.Options{}); err != nil {
			return errors.Join(&failure{err}, copied.Close())
		}
	}
	return errors.Join(do(tenantStore{copied, s.tenant}), copied.Close())
}

// byteCount parses a size: 500MB, 2GB, 1GiB.
func byteCount(s string) (int64, error) {
	units := []struct {
		name string
		n    float64
	}{
		{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
		{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"t", 1e12}, {"b", 1},
		{"", 1},
	}
	text := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err == nil && n > 0 && n*u.n < float64(1<<62) {
				return int64(n * u.n), nil
			}
			break
		}
	}
	return 0, fmt.Errorf("%q is not a size: give one such as 500MB or 2GB", s)
}
