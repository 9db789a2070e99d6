//go:build !fuzz

package importer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
)

// databasesOfAgents are the databases of Goose, Crush and Kilo, whose is opencode's.
var databasesOfAgents = []struct {
	file, format, conversation, project, title, model string
	calls, failed                                     int
}{
	{"goose.sql", "goose", "20261119_1", "/home/ann/harbour", "tides", "", 3, 2},
	{"crush.sql", "crush", "5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10", "", "Tides", "claude-sonnet-4-5", 3, 2},
	{"kilo.sql", "opencode", "ses_e0a4827f1ffeLH0WcIekDfaHng", "/home/ann/harbour", "", "claude-sonnet-4-5", 3, 1},
}

func agentSQL(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDatabasesOfAgentsAreImportedWhole(t *testing.T) {
	for _, r := range databasesOfAgents {
		for _, withLog := range []bool{false, true} {
			h := newHistory(t)
			t.Setenv("TMPDIR", t.TempDir())
			path := h.database("data/agent.db", withLog, agentSQL(t, r.file))
			before := contents(t, filepath.Dir(path))
			report := h.importing(importer.Options{}, path)
			h.same([]string{r.conversation}, h.names())
			h.same([]string{r.format, r.project},
				[]string{string(report.Conversations[0].Format), report.Conversations[0].Project})
			h.same(0, report.Broken)
			h.sayEverything(r.conversation, nil)
			h.pairs(r.conversation, r.calls, r.failed)
			h.about(r.conversation, r.title, r.model)
			second := h.importing(importer.Options{Format: importer.Format(r.format)}, filepath.Dir(path))
			h.same(0, second.New+second.Variants)
			h.same(before, contents(t, filepath.Dir(path)))
		}
	}
}

// A row that cannot be read, or is not JSON, loses no other.
func TestBrokenRowsLoseNoOthers(t *testing.T) {
	broken := map[string]int{"goose.sql": 3, "crush.sql": 2}
	for file, breaks := range map[string]string{
		"goose.sql": `INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp)
				SELECT x'fffe', session_id, x'fffe', '[{"type":"text","text":"bytes"}]', 1 FROM messages WHERE id = 5;
			INSERT INTO sessions (id, working_dir) VALUES (x'fffe', '');
			UPDATE messages SET content_json = '{"type":"text"}' WHERE id = 3;
			UPDATE messages SET content_json = '[{"type":' WHERE id = 4;
			UPDATE messages SET role = x'ff00', created_timestamp = 'soon' WHERE id = 5;`,
		"crush.sql": `UPDATE messages SET parts = 'no' WHERE rowid = 3;
			UPDATE messages SET parts = '' WHERE rowid = 4;`,
	} {
		h := newHistory(t)
		t.Setenv("TMPDIR", t.TempDir())
		path := h.database("agent.db", false, agentSQL(t, file)+breaks)
		report := h.importing(importer.Options{}, path)
		h.same(broken[file], report.Broken)
		h.sayEverything(report.Conversations[0].Name, []string{question, thought, both, answer, again, remembered})
	}
}

func TestADatabaseOfOthersIsNotTakenForGoose(t *testing.T) {
	h := newHistory(t)
	t.Setenv("TMPDIR", t.TempDir())
	for name, statements := range map[string]string{
		"view.db":      `CREATE TABLE sessions (id); CREATE VIEW messages AS SELECT 1 AS content_json;`,
		"other.db":     `CREATE TABLE sessions (id); CREATE TABLE messages (id, text);`,
		"generated.db": `CREATE TABLE sessions (id); CREATE TABLE messages (id, content_json AS (zeroblob(1000000000)));`,
	} {
		path := h.database(name, false, statements)
		for _, f := range []importer.Format{importer.Auto, importer.Goose, importer.Crush} {
			_, err := importer.Check(t.Context(), []string{path}, importer.Options{Format: f})
			if err == nil || f == importer.Goose && !strings.Contains(err.Error(), "without Goose's tables") {
				t.Errorf("%s as %q: %v", name, f, err)
			}
		}
	}
}
