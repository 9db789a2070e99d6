package api

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/recall"
	oriel "github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// schemas are those of the types of bodies and answers. Each struct with a name has one, and
// others refer to it.
type schemas struct {
	t     *testing.T
	names map[reflect.Type]string
	made  map[string]*jsonschema.Schema
	docs  map[string]map[string]string // by path of the package, then by type or type.field
}

// ownNames are the names of types that their own package names for itself alone.
var ownNames = map[reflect.Type]string{
	reflect.TypeFor[usage.Row](): "UsageRow", reflect.TypeFor[composition.Window](): "Composition",
	reflect.TypeFor[composition.Total](): "TotalComposition", reflect.TypeFor[settings.Value](): "Setting",
	reflect.TypeFor[conversations](): "ConversationCount", reflect.TypeFor[window.Plan](): "FitPlan",
	reflect.TypeFor[window.Block](): "FitBlock", reflect.TypeFor[window.Insertion](): "FitInsertion",
	reflect.TypeFor[oriel.Cache](): "CacheRules", reflect.TypeFor[report.Plan](): "PlanDetail",
}

func newSchemas(t *testing.T) *schemas {
	s := &schemas{t: t, names: map[reflect.Type]string{}, made: map[string]*jsonschema.Schema{},
		docs: map[string]map[string]string{}}
	s.collect(reflect.TypeFor[problem]())
	for i := range routes {
		if r := &routes[i]; r.stream == "" && r.answer != reflect.TypeFor[*raw]() {
			s.collect(r.answer)
		}
		if routes[i].order != nil {
			s.collect(routes[i].order)
		}
	}
	for of, name := range s.names {
		s.made[name] = s.schema(of)
	}
	return s
}

// plain returns the type of a value or of a list's items, however often it is one.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array ||
		t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// collect names a type and those of its fields.
func (s *schemas) collect(t reflect.Type) {
	t = plain(t)
	if _, special := known[t]; special || t.Kind() != reflect.Struct || s.names[t] != "" {
		return
	}
	if t.Name() != "" {
		s.names[t] = nameOf(t)
	}
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous && f.IsExported() && f.Tag.Get("json") != "-" {
			s.collect(f.Type)
		}
	}
}

// nameOf returns the name of a type in the description. A page is named after its items.
func nameOf(t reflect.Type) string {
	if name := ownNames[t]; name != "" {
		return name
	}
	if strings.HasPrefix(t.Name(), "list[") {
		items, _ := t.FieldByName("Items")
		return nameOf(plain(items.Type)) + "Page"
	}
	r, size := utf8.DecodeRuneInString(t.Name())
	return string(unicode.ToUpper(r)) + t.Name()[size:]
}

// of returns a reference to the schema of a type.
func (s *schemas) of(t reflect.Type) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + s.names[plain(t)]}
}

// known are types that say less than their values.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[int32]():           {Type: "integer"},
	reflect.TypeFor[window.Verdict]():  enum(window.Keep, window.Trim, window.Mask, window.Fold, window.Evict),
	reflect.TypeFor[window.Mode]():     enum(window.Soft, window.Hard, window.Recovery),
	reflect.TypeFor[recall.Mode]():     enum(recall.Hybrid, recall.Keyword, recall.Dense),
	reflect.TypeFor[recall.Reach]():    enum(recall.ReachConversation, recall.ReachProject, recall.ReachUser),
	reflect.TypeFor[oriel.Accuracy]():  enum(oriel.Exact, oriel.Estimate, oriel.Calibrated),
	reflect.TypeFor[verdicts](): {Type: "array", MinItems: new(3), MaxItems: new(3), PrefixItems: []*jsonschema.Schema{
		{Type: "integer"}, {Type: "integer"},
		enum(window.Keep, window.Trim, window.Mask, window.Fold, window.Evict)}},
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// limits are the values that members of bodies and answers may have, which their types do not
// say.
var limits = map[string]func(*jsonschema.Schema){
	"pinOrder.id":        func(s *jsonschema.Schema) { s.Minimum = new(1.0) },
	"recallOrder.query":  func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = new(1), new(maxQuery) },
	"recallOrder.budget": func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(1.0), new(float64(maxRecallBudget)) },
	"recallOrder.top":    func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(0.0), new(float64(maxTop)) },
	"recallOrder.floor":  func(s *jsonschema.Schema) { s.Maximum = new(1.0) },
	"fitOrder.format": func(s *jsonschema.Schema) {
		s.Enum = []any{"auto"}
		for _, p := range wire.Protocols() {
			s.Enum = append(s.Enum, p.String())
		}
	},
	"fitOrder.window":    notNegative,
	"fitOrder.reserve":   notNegative,
	"fitOrder.budget":    notNegative,
	"fitOrder.low":       notNegative,
	"fitOrder.pins":      func(s *jsonschema.Schema) { notNegative(s.Items) },
	"usageReport.by":     func(s *jsonschema.Schema) { s.Enum = enum(byParam.values...).Enum },
	"healthState.status": func(s *jsonschema.Schema) { s.Enum = []any{"ok", "degraded"} },
	"healthState.store":  func(s *jsonschema.Schema) { s.Enum = []any{"ok", "failed"} },
	"storeSize.status":   func(s *jsonschema.Schema) { s.Enum = []any{"ok", "failed"} },
	"Change.op":          func(s *jsonschema.Schema) { s.Enum = []any{"same", "removed", "added", "changed"} },
	"LineChange.op":      func(s *jsonschema.Schema) { s.Enum = []any{"removed", "added"} },
}

func notNegative(s *jsonschema.Schema) { s.Minimum = new(0.0) }

// schema returns the schema of a struct. Its fields, and those of structs that it embeds, are its
// members; the structs of other fields are references.
func (s *schemas) schema(t reflect.Type) *jsonschema.Schema {
	types := map[reflect.Type]*jsonschema.Schema{}
	for of, schema := range known {
		types[of] = schema
	}
	for of := range s.names {
		types[of] = s.of(of)
	}
	delete(types, t)
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			delete(types, f.Type)
		}
	}
	out, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := out.Properties[name]
		if f.Anonymous || p == nil {
			continue
		}
		notNull(p)
		owner := ownerOf(t, f)
		p.Description = s.doc(owner, f.Name)
		if limit := limits[owner.Name()+"."+name]; limit != nil {
			limit(p)
		}
	}
	out.Description = s.doc(t, "")
	return out
}

// ownerOf returns the struct that has a visible field of another.
func ownerOf(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// notNull removes null from a schema: no list and no pointer of an answer is nil.
func notNull(s *jsonschema.Schema) {
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	if len(s.Types) == 0 {
		s.Types = nil
	}
	if s.Items != nil {
		notNull(s.Items)
	}
}

// doc returns the comment of a type, or of one of its fields, as text for people who do not
// know the code: without the name that it begins with.
func (s *schemas) doc(t reflect.Type, field string) string {
	docs := s.docs[t.PkgPath()]
	if docs == nil {
		docs = s.read(t.PkgPath())
		s.docs[t.PkgPath()] = docs
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	key, subject := name, name
	if field != "" {
		key, subject = name+"."+field, field
	}
	text := docs[key]
	if field != "" {
		for i := range t.NumField() { // fields are named as members
			member, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if member != "" && member != "-" && t.Field(i).Name != field {
				text = inText(t.Field(i).Name).ReplaceAllString(text, "${1}`"+member+"`")
			}
		}
	}
	rest := regexp.MustCompile(`^(A |An )?`+regexp.QuoteMeta(subject)+`( is| are|) `).ReplaceAllString(text, "")
	if !strings.HasPrefix(rest, "and ") {
		text = rest
	}
	text, _, _ = strings.Cut(text, " Its JSON form")
	text = regexp.MustCompile(`^reports (that|whether) `).ReplaceAllString(text, "whether ")
	text = regexp.MustCompile(` \(SPEC [^)]*\)`).ReplaceAllString(text, "")
	if text == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

// inText matches the name of a field within a sentence.
func inText(name string) *regexp.Regexp { return regexp.MustCompile(`([a-z,;)] )` + name + `\b`) }

// read returns the comments of the types of a package and of their fields.
func (s *schemas) read(pkg string) map[string]string {
	const module = "github.com/oriel-context/oriel/"
	docs := map[string]string{}
	files, err := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(pkg, module), "*.go"))
	if err != nil || len(files) == 0 || !strings.HasPrefix(pkg, module) {
		s.t.Fatalf("there is no source of %s: %v", pkg, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			s.t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			group, ok := n.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				return true
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.TypeSpec)
				docs[spec.Name.Name] = oneLine(group.Doc, spec.Doc)
				if fields, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range fields.Fields.List {
						for _, name := range f.Names {
							docs[spec.Name.Name+"."+name.Name] = oneLine(f.Doc, f.Comment)
						}
					}
				}
			}
			return false
		})
	}
	return docs
}

// oneLine returns the first of two comments that there is, without line breaks.
func oneLine(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if text := strings.Join(strings.Fields(c.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}
