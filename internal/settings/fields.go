package settings

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"sync"
)

// field is one setting.
type field struct {
	// key is its name in the file, prefixed with its section; env is its
	// environment variable, flag its flag of oriel serve, or "" if there is
	// none.
	key, env, flag            string
	secret, restart, protects bool
	server                    bool // it is about the server alone: see Value
	// owner and name are the struct and its field, whose comment is the documentation.
	owner, name string
	index       []int
}

// section is a table of the file; the first has no name.
type section struct {
	name        string
	owner, here string // the struct's field
	fields      []field
}

// sections are all settings except those of models, in the struct's order.
var sections = sync.OnceValue(func() []section {
	root := reflect.TypeFor[Settings]()
	out := []section{{fields: leaves(root, "", nil)}}
	for _, f := range reflect.VisibleFields(root) {
		if f.Type.Kind() == reflect.Struct {
			name := f.Tag.Get("toml")
			out = append(out, section{name: name, owner: root.Name(), here: f.Name,
				fields: leaves(f.Type, name+".", f.Index)})
		}
	}
	return out
})

// fields are the fields of all sections.
var fields = sync.OnceValue(func() []field {
	var out []field
	for _, s := range sections() {
		out = append(out, s.fields...)
	}
	return out
})

// modelFields, profileFields and tenantFields are the fields of a model, a profile and a
// tenant; their keys do not contain its name.
var (
	tenantFields  = sync.OnceValue(func() []field { return leaves(reflect.TypeFor[Tenant](), "", nil) })
	modelFields   = sync.OnceValue(func() []field { return leaves(reflect.TypeFor[Model](), "", nil) })
	profileFields = sync.OnceValue(func() []field { return leaves(reflect.TypeFor[Profile](), "", nil) })
)

// named returns the fields of the tables that a person names, [models.NAME],
// [profiles.NAME] and [tenants.NAME], or nil for other sections.
func named(section string) []field {
	switch section {
	case "models":
		return modelFields()
	case "profiles":
		return profileFields()
	case "tenants":
		return tenantFields()
	}
	return nil
}

// leaves returns the fields of a struct that hold values.
func leaves(t reflect.Type, prefix string, index []int) []field {
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		if k := f.Type.Kind(); k == reflect.Struct || k == reflect.Map {
			continue
		}
		key := prefix + f.Tag.Get("toml")
		env := f.Tag.Get("env")
		if env == "" {
			env = "ORIEL_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		}
		out = append(out, field{
			key: key, env: env, flag: f.Tag.Get("flag"), secret: f.Tag.Get("secret") != "",
			restart: f.Tag.Get("restart") != "", protects: f.Tag.Get("protects") != "",
			server: f.Tag.Get("server") != "",
			owner:  t.Name(), name: f.Name, index: append(append([]int(nil), index...), f.Index...),
		})
	}
	return out
}

// findField returns the setting with a key, or nil.
func findField(key string) *field {
	all := fields()
	for i := range all {
		if all[i].key == key {
			return &all[i]
		}
	}
	return nil
}

// KeyOfFlag returns the key that a flag of oriel serve sets, or "" if there is none or
// more than one.
func KeyOfFlag(name string) string {
	key := ""
	for _, f := range fields() {
		switch {
		case f.flag != name:
		case key != "":
			return ""
		default:
			key = f.key
		}
	}
	return key
}

// last returns the key without its section.
func (f *field) last() string { return f.key[strings.LastIndexByte(f.key, '.')+1:] }

func (f *field) of(s *Settings) reflect.Value { return reflect.ValueOf(s).Elem().FieldByIndex(f.index) }

//go:embed settings.go
var source string

// docs maps Struct.Field to the field's comment.
var docs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	file, err := parser.ParseFile(token.NewFileSet(), "settings.go", source,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		panic(err) // this package was built from it
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				out[spec.Name.Name+"."+name.Name] = strings.TrimSpace(f.Doc.Text())
			}
		}
		return false
	})
	return out
})

// doc returns the manual's text for the setting.
func (f *field) doc() string { return docs()[f.owner+"."+f.name] }
