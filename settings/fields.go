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
	// key is its name in the file, with that of its section before it; env is its
	// variable, flag that of oriel serve, "" for none.
	key, env, flag            string
	secret, restart, protects bool
	// owner and name are those of the struct's field, which has the documentation.
	owner, name string
	index       []int
}

// section is a table of the file; the first has no name.
type section struct {
	name        string
	owner, here string // the struct's field
	fields      []field
}

// sections are all settings but those of models, in the struct's order.
var sections = sync.OnceValue(func() []section {
	root := reflect.TypeFor[Settings]()
	out := []section{{fields: leaves(root, "", nil)}}
	for _, f := range reflect.VisibleFields(root) {
		if f.Type.Kind() == reflect.Struct {
			name := f.Tag.Get("toml")
			out = append(out, section{name: name, owner: root.Name(), here: f.Name, fields: leaves(f.Type, name+".", f.Index)})
		}
	}
	return out
})

// fields are those of all sections.
var fields = sync.OnceValue(func() []field {
	var out []field
	for _, s := range sections() {
		out = append(out, s.fields...)
	}
	return out
})

// modelFields and profileFields are those of a model and of a profile; their keys are
// without its name.
var (
	modelFields   = sync.OnceValue(func() []field { return leaves(reflect.TypeFor[Model](), "", nil) })
	profileFields = sync.OnceValue(func() []field { return leaves(reflect.TypeFor[Profile](), "", nil) })
)

// named are the fields of tables that have names of their own, [models.NAME] and
// [profiles.NAME]; nil for others.
func named(section string) []field {
	switch section {
	case "models":
		return modelFields()
	case "profiles":
		return profileFields()
	}
	return nil
}

// leaves are the fields of a struct that hold values.
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
			key: key, env: env, flag: f.Tag.Get("flag"), secret: f.Tag.Get("secret") != "", restart: f.Tag.Get("restart") != "", protects: f.Tag.Get("protects") != "",
			owner: t.Name(), name: f.Name, index: append(append([]int(nil), index...), f.Index...),
		})
	}
	return out
}

// findField is the setting of a key; nil for none.
func findField(key string) *field {
	all := fields()
	for i := range all {
		if all[i].key == key {
			return &all[i]
		}
	}
	return nil
}

// KeyOfFlag is the key that a flag of oriel serve sets; "" where there is none, or more
// than one.
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

// last is the key without its section.
func (f *field) last() string { return f.key[strings.LastIndexByte(f.key, '.')+1:] }

func (f *field) of(s *Settings) reflect.Value { return reflect.ValueOf(s).Elem().FieldByIndex(f.index) }

//go:embed settings.go
var source string

// docs are the comments of the structs' fields, by Struct.Field.
var docs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	file, err := parser.ParseFile(token.NewFileSet(), "settings.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		panic(err) // it is what this package was built from
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

// doc is what the manual says of it.
func (f *field) doc() string { return docs()[f.owner+"."+f.name] }
