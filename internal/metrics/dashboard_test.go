package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// known are the metrics with their labels.
func known(t *testing.T) map[string][]string {
	t.Helper()
	samples, _ := scrape(t, all())
	metrics := map[string][]string{}
	for name := range samples {
		name, rest, _ := strings.Cut(name, "{")
		labels := []string{"job", "instance"} // Prometheus adds these
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(rest, -1) {
			labels = append(labels, l[1])
		}
		metrics[name] = labels
	}
	return metrics
}

var (
	promWord  = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	promText  = regexp.MustCompile(`"[^"]*"`)
	promRange = regexp.MustCompile(`\[[^\]]*\]`)
	promNames = regexp.MustCompile(`\b(by|without|on|ignoring)\s*\(([^)]*)\)`)
	promMatch = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\{([^}]*)\}`)
	promLabel = regexp.MustCompile(`^\s*(\w+)\s*(=~|!~|!=|=)\s*$`)
	functions = []string{"sum", "rate", "increase", "histogram_quantile", "min", "max", "avg"}
)

// checkQuery returns an error for a query that names a metric or a label that does not
// exist. It reads the part of PromQL that our files use.
func checkQuery(query string, metrics map[string][]string) error {
	rest := promText.ReplaceAllString(query, "")
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(rest, pair[:1]) != strings.Count(rest, pair[1:]) {
			return fmt.Errorf("%s is not balanced", pair)
		}
	}
	rest = promRange.ReplaceAllString(rest, "")
	var grouped []string
	for _, by := range promNames.FindAllStringSubmatch(rest, -1) {
		grouped = append(grouped, promWord.FindAllString(by[2], -1)...)
	}
	rest = promNames.ReplaceAllString(rest, "")
	for _, m := range promMatch.FindAllStringSubmatch(rest, -1) {
		for label := range strings.SplitSeq(m[2], ",") {
			name := promLabel.FindStringSubmatch(label)
			if name == nil || !slices.Contains(metrics[m[1]], name[1]) {
				return fmt.Errorf("%s has no label %q", m[1], strings.TrimSpace(label))
			}
		}
	}
	rest = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(rest, "")
	found := 0
	for _, at := range promWord.FindAllStringIndex(rest, -1) {
		name := rest[at[0]:at[1]]
		if strings.HasPrefix(strings.TrimLeft(rest[at[1]:], " "), "(") || slices.Contains(functions, name) {
			if !slices.Contains(functions, name) {
				return fmt.Errorf("unknown function %s", name)
			}
			continue
		}
		labels, ok := metrics[name]
		if !ok {
			return fmt.Errorf("unknown metric %s", name)
		}
		found++
		for _, label := range grouped {
			if !slices.Contains(labels, label) {
				return fmt.Errorf("%s has no label %s", name, label)
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("no metric")
	}
	return nil
}

func TestCheckQueryFindsMistakes(t *testing.T) {
	m := map[string][]string{"oriel_calls_total": {"model", "result"}}
	for query, good := range map[string]bool{
		`sum by (model) (rate(oriel_calls_total{result="ok"}[5m]))`:                        true,
		`sum by (model) (rate(oriel_calls_total{result="a{b,c"}[$__rate_interval])) > 0.5`: true,
		`oriel_call_total`:                   false,
		`sum(rate(oriel_calls_total[5m])`:    false,
		`sum by (stage) (oriel_calls_total)`: false,
		`oriel_calls_total{stage="plan"}`:    false,
		`total(oriel_calls_total)`:           false,
		`1 + 2`:                              false,
	} {
		if err := checkQuery(query, m); (err == nil) != good {
			t.Errorf("%s: %v", query, err)
		}
	}
}

type panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Datasource  struct{ Type, UID string }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

// The dashboard has what Grafana needs, every panel has a title and a unit, and every
// query names metrics that exist.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../contrib/grafana/oriel.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID, Title    string
		SchemaVersion int
		Time          struct{ From, To string }
		Templating    struct{ List []struct{ Name, Type string } }
		Panels        []panel
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || d.Time.From == "" || len(d.Templating.List) == 0 ||
		d.Templating.List[0].Type != "datasource" {
		t.Errorf("%+v", d)
	}
	metrics, ids, queries := known(t), map[int]bool{}, ""
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if p.FieldConfig.Defaults.Unit == "" || p.Description == "" || len(p.Targets) == 0 ||
			p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" {
			t.Errorf("%q has no unit, description, query or data source", p.Title)
		}
		for _, q := range p.Targets {
			if err := checkQuery(q.Expr, metrics); err != nil || q.RefID == "" {
				t.Errorf("%q: %v in %s", p.Title, err, q.Expr)
			}
			queries += q.Expr
		}
	}
	for _, name := range []string{"oriel_calls_total", "oriel_prompt_tokens_before_total",
		"oriel_provider_tokens_total", "oriel_cuts_total", "oriel_recalls_total", "oriel_fail_open_total",
		"oriel_stage_seconds", "oriel_calibration_error_ratio", "oriel_queue_calls", "oriel_store_bytes",
		"oriel_cost_dollars_total", "oriel_refused_tokens_total"} {
		if !strings.Contains(queries, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// Every alert has a query of existing metrics, a severity and a text.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("../../contrib/prometheus/oriel.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	metrics := known(t)
	alerts := strings.Split(string(data), "- alert: ")[1:]
	if len(alerts) < 5 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, a := range alerts {
		name, _, _ := strings.Cut(a, "\n")
		expr := regexp.MustCompile(`(?m)^        expr: (.+)$`).FindStringSubmatch(a)
		if expr == nil {
			t.Errorf("%s has no query on one line", name)
			continue
		}
		if err := checkQuery(expr[1], metrics); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, field := range []string{"severity: ", "summary: \"", "description: \""} {
			if !strings.Contains(a, field) {
				t.Errorf("%s has no %s", name, field)
			}
		}
		for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(a, -1) {
			if by := promNames.FindStringSubmatch(expr[1]); by == nil ||
				!slices.Contains(promWord.FindAllString(by[2], -1), label[1]) {
				t.Errorf("%s names the label %s, which its query does not keep", name, label[1])
			}
		}
	}
}
