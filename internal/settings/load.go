package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// Sources are the sources of settings. Flags override the environment, which overrides
// the file.
type Sources struct {
	// File is the TOML file, "" for none. If Optional is set, it need not exist.
	File     string
	Optional bool
	// Env returns an environment variable; "" means unset. A nil Env means no variables.
	Env func(name string) string
	// Flags maps keys to the values of given flags.
	Flags map[string]string
	// Prices is the file of newer prices that oriel models --update stores, "" for none. It
	// need not exist.
	Prices string
}

// Loaded holds valid settings.
type Loaded struct {
	Settings
	// File is the file that was read, "" if none.
	File string
	// Warnings describes values that are not used, and secrets that others can read.
	Warnings []string
	// Table is the table of models, with ModelsFile and Models merged into it.
	Table *token.Models
	// ProfileTable holds all profiles, including the built-in ones.
	ProfileTable *window.ProfileTable
	// Instructions is the content of the file Condense.Prompt.
	Instructions string

	from     map[string]Source // by key; missing for defaults
	prices   string            // Sources.Prices
	files    []string          // all files that were read or looked for
	contents string            // of files
}

// Source is the origin of a value.
type Source struct {
	// Kind is default, file, environment or flag.
	Kind string `json:"source"`
	// Where is FILE:LINE, the variable or the flag; empty for a default.
	Where string `json:"where,omitempty"`
}

// Load reads and checks all sources. It returns the error of the first source that has
// one; for a file, it reports all unknown keys at once.
func Load(s Sources) (*Loaded, error) {
	l, err := load(s)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// load implements Load. Even with an error, the result lists the files that were read.
func load(s Sources) (*Loaded, error) {
	l := &Loaded{Settings: Default(), from: map[string]Source{}, prices: s.Prices}
	if s.File != "" {
		if err := l.readFile(s.File); err != nil && !(s.Optional && errors.Is(err, fs.ErrNotExist)) {
			return l, err
		}
	}
	for _, f := range fields() {
		if s.Env == nil {
			break
		}
		if text := s.Env(f.env); text != "" {
			if err := l.setText(&f, text, Source{"environment", "$" + f.env}); err != nil {
				return l, err
			}
		}
	}
	for _, f := range fields() {
		if text, ok := s.Flags[f.key]; ok {
			if err := l.setText(&f, text, Source{"flag", "--" + f.flag}); err != nil {
				return l, err
			}
		}
	}
	if err := l.readThresholds(s.Flags); err != nil {
		return l, err
	}
	if err := l.check(); err != nil {
		return l, err
	}
	l.warnOfReaders()
	return l, l.readOthers()
}

// warnOfReaders warns of a file with secrets that other users can read.
func (l *Loaded) warnOfReaders() {
	if l.File == "" || runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(l.File)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return
	}
	for _, f := range fields() {
		if f.secret && l.from[f.key].Kind == "file" {
			l.Warnings = append(l.Warnings,
				fmt.Sprintf("%s contains %s and is readable by other users: chmod 600 %[1]s", l.File, f.key))
			return
		}
	}
}

// readThresholds reads thresholds of the user's own profiles from flags, whose keys look
// like those of built-in profiles.
func (l *Loaded) readThresholds(flags map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		name, ok := strings.CutPrefix(key, "thresholds.")
		if !ok || findField(key) != nil {
			continue
		}
		p, known := l.Profiles[name]
		if !known {
			_, err := l.profiles().Lookup(name)
			return fmt.Errorf("--threshold: %w", err)
		}
		var err error
		if p.Threshold, err = strconv.ParseFloat(flags[key], 64); err != nil {
			return fmt.Errorf("--threshold: %w", errNumber)
		}
		l.setProfile(name, p)
		l.from[toml.Key{"profiles", name, "threshold"}.String()] = Source{"flag", "--threshold"}
	}
	return nil
}

// UserFile returns the path of the user's own file, which need not exist, or "" if there
// is no place for it.
func UserFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "oriel", "config.toml")
}

// UserPrices returns the path of the user's own file of newer prices, which need not exist,
// or "" if there is no place for it.
func UserPrices() string {
	if file := UserFile(); file != "" {
		return filepath.Join(filepath.Dir(file), "prices.json")
	}
	return ""
}

// SourceOf returns the source of a key's value.
func (l *Loaded) SourceOf(key string) Source {
	if s, ok := l.from[key]; ok {
		return s
	}
	return Source{Kind: "default"}
}

// setText sets a value given in a variable or a flag.
func (l *Loaded) setText(f *field, text string, from Source) error {
	l.from[f.key] = from
	v := f.of(&l.Settings)
	x, err := read(v.Type(), text)
	if err == nil {
		err = assign(v, x)
	}
	if err != nil {
		return l.bad(f.key, err)
	}
	return nil
}

// bad returns an error about the value of a key that names its source.
func (l *Loaded) bad(key string, err error) error {
	from := l.SourceOf(key)
	if from.Kind == "file" {
		return fmt.Errorf("%s: %s: %w", from.Where, key, err)
	}
	return fmt.Errorf("%s: %w", from.Where, err)
}

// MaxFile is the size limit of any file, maxSettings that of a settings file, in bytes.
const (
	MaxFile     = 1 << 20
	maxSettings = 64 << 10
)

// openFile reads a file and remembers its content.
func (l *Loaded) openFile(path string) (string, error) {
	text, err := readAll(path)
	l.files = append(l.files, path)
	l.contents += content(text, err)
	return text, err
}

func readAll(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("%s: more than %d bytes: is it the right file?", path, MaxFile)
	}
	return string(data), err
}

// readFile merges a file into the settings.
func (l *Loaded) readFile(path string) error {
	text, err := l.openFile(path)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	if len(text) > maxSettings {
		return fmt.Errorf("%s: more than %d bytes: is it the right file?", path, maxSettings)
	}
	l.File = path
	return l.readTOML(path, text)
}

func (l *Loaded) readTOML(path, text string) error {
	top := map[string]toml.Primitive{}
	md, err := toml.Decode(text, &top)
	if err != nil {
		return syntaxError(path, text, err)
	}
	d := &decoder{l: l, path: path, md: &md}
	d.table(nil, top)
	if len(d.errs) == 0 {
		return nil
	}
	all := make([]string, len(d.errs))
	for i, err := range d.errs {
		all[i] = err.Error()
	}
	return errors.New(strings.Join(all, "; ") + "; oriel config --init lists all keys")
}

// decoder copies values from a parsed TOML file.
type decoder struct {
	l    *Loaded
	path string
	md   *toml.MetaData
	errs []error
}

// placed captures a value and its position. It refuses to be decoded, because the library
// reports positions only in errors.
type placed struct{ value any }

var errPlaced = errors.New("here it is")

func (p *placed) UnmarshalTOML(v any) error {
	p.value = v
	return errPlaced
}

// value returns the value of a key and its position.
func (d *decoder) value(p toml.Primitive) (value any, from Source) {
	var got placed
	from = Source{"file", d.path}
	var at toml.ParseError
	if errors.As(d.md.PrimitiveDecode(p, &got), &at) && at.Position.Line > 0 {
		from.Where = fmt.Sprintf("%s:%d", d.path, at.Position.Line)
	}
	return got.value, from
}

// maxErrors is the number of errors reported at once.
const maxErrors = 10

// table copies the values of a table.
func (d *decoder) table(under toml.Key, table map[string]toml.Primitive) {
	for _, name := range inOrder(d.md, under, table) {
		if len(d.errs) == maxErrors {
			return
		}
		key := append(slices.Clone(under), name)
		value, from := d.value(table[name])
		d.l.from[key.String()] = from
		_, isTable := value.(map[string]any)
		err := d.set(key, value)
		if errors.Is(err, errTable) && isTable {
			inner := map[string]toml.Primitive{}
			if err = d.md.PrimitiveDecode(table[name], &inner); err == nil {
				d.table(key, inner)
			}
		} else if errors.Is(err, errTable) {
			err = fmt.Errorf("this is a section: write [%s] on a line of its own, and its keys below", key)
		}
		var unknown *unknownKey
		switch {
		case errors.As(err, &unknown):
			d.errs = append(d.errs, fmt.Errorf("%s: %w", from.Where, err))
			delete(d.l.from, key.String())
		case err != nil:
			d.errs = append(d.errs, d.l.bad(key.String(), err))
		}
	}
}

// inOrder returns the names of a table in the order of the file.
func inOrder(md *toml.MetaData, under toml.Key, table map[string]toml.Primitive) []string {
	var out []string
	seen := map[string]bool{}
	for _, k := range md.Keys() {
		if n := len(under); len(k) > n && slices.Equal(k[:n], under) && !seen[k[n]] {
			seen[k[n]] = true
			if _, ok := table[k[n]]; ok {
				out = append(out, k[n])
			}
		}
	}
	return out
}

// errTable: the key is a table's.
var errTable = errors.New("a table")

// set sets the value of a key.
func (d *decoder) set(key toml.Key, value any) error {
	s := &d.l.Settings
	if named(key[0]) != nil {
		switch len(key) {
		case 1:
			return errTable
		case 2:
			if _, ok := value.(map[string]any); ok && key[0] == "profiles" {
				d.l.setProfile(key[1], d.l.Profiles[key[1]]) // a profile may have no keys
			}
			return errTable
		case 3:
			return d.setNamed(key, value)
		}
		return newUnknown(key)
	}
	f := findField(strings.Join(key, "."))
	if f != nil && len(key) == strings.Count(f.key, ".")+1 {
		return assign(f.of(s), value)
	}
	if len(key) == 1 &&
		slices.ContainsFunc(sections(), func(s section) bool { return s.name == key[0] && s.name != "" }) {
		return errTable
	}
	if t, ok := value.(map[string]any); ok && len(key) == 1 && len(t) > 0 {
		return errTable // errors about its unknown keys say more
	}
	return newUnknown(key)
}

func (l *Loaded) setProfile(name string, p Profile) {
	if l.Profiles == nil {
		l.Profiles = map[string]Profile{}
	}
	l.Profiles[name] = p
}

// setNamed sets a value of a model, a profile or a tenant.
func (d *decoder) setNamed(key toml.Key, value any) error {
	for _, f := range named(key[0]) {
		if f.key != key[2] {
			continue
		}
		if key[0] == "profiles" {
			p := d.l.Profiles[key[1]]
			if err := assign(reflect.ValueOf(&p).Elem().FieldByIndex(f.index), value); err != nil {
				return err
			}
			d.l.setProfile(key[1], p)
			return nil
		}
		if key[0] == "tenants" {
			t := d.l.Tenants[key[1]]
			if err := assign(reflect.ValueOf(&t).Elem().FieldByIndex(f.index), value); err != nil {
				return err
			}
			if d.l.Tenants == nil {
				d.l.Tenants = map[string]Tenant{}
			}
			d.l.Tenants[key[1]] = t
			return nil
		}
		m := d.l.Models[key[1]]
		if err := assign(reflect.ValueOf(&m).Elem().FieldByIndex(f.index), value); err != nil {
			return err
		}
		if d.l.Models == nil {
			d.l.Models = map[string]Model{}
		}
		if d.l.Models[key[1]] = m; m == (Model{}) {
			delete(d.l.Models, key[1])
		}
		return nil
	}
	return newUnknown(key)
}

// syntaxError says where a file is not TOML. It replaces the library's message for a line
// with a secret, which may quote it.
func syntaxError(path, text string, err error) error {
	var at toml.ParseError
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, err)
	}
	message := at.Message
	lines := strings.Split(text, "\n")
	for i := max(at.Position.Line-2, 0); i < min(at.Position.Line+1, len(lines)); i++ {
		words := strings.FieldsFunc(lines[i], func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
		for _, f := range fields() {
			if f.secret && slices.Contains(words, f.last()) {
				message = "this cannot be read: write the value in quotes, and the key once"
			}
		}
	}
	where := fmt.Sprintf("%s:%d", path, at.Position.Line)
	if at.LastKey != "" {
		where += ": " + at.LastKey
	}
	return fmt.Errorf("%s: %s", where, strings.TrimSuffix(message, "."))
}
