package condense_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/oriel-context/oriel/condense"
)

// The run that docs/reference/condense.md shows.
func Example() {
	file := strings.Repeat("… a long file …\n", 60)
	msgs := span(
		user("The importer drops the last row. Find out why and fix it. Never touch db/migrations."),
		assistant("I'll read it first."),
		did("Read", `{"file_path":"/srv/app/import/csv.go"}`, file),
		did("Bash", `{"command":"go test ./import"}`,
			"--- FAIL: TestLastRow (0.00s)\n    csv_test.go:31: got 9 rows, want 10\nFAIL"),
		did("Edit", `{"file_path":"/srv/app/import/csv.go","old_string":"a","new_string":"b"}`, "edited"),
		did("Bash", `{"command":"cd /srv/app && go test ./import 2>&1 | tail -5"}`, "ok  \tapp/import\t0.2s"),
		assistant("Fixed: the reader stopped at a missing line feed. Shall I also trim blank rows?"),
		user("no, keep them"),
	)
	out, err := condense.Run(context.Background(), condense.Digest{},
		condense.Input{Messages: msgs, Max: 300, Count: count})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text)
	// Output:
	// [Oriel digest of 12 earlier messages]
	// Task:
	// - The importer drops the last row. Find out why and fix it.
	// Decisions:
	// - user: Never touch db/migrations.
	// - assistant asked: Shall I also trim blank rows? user: no, keep them
	// Reported:
	// - Fixed: the reader stopped at a missing line feed.
	// Files changed:
	// - /srv/app/import/csv.go: changed 1×
	// Commands:
	// - `go test ./import` (2 runs, 1 failed): passed
	// Errors:
	// - --- FAIL: TestLastRow (0.00s) (no longer)
	// - csv_test.go:31: got 9 rows, want 10 (no longer)
}
