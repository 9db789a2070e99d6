package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/token"
)

// The bill has every module that a program names, and the data that NOTICE names.
func TestBillHasWhatAProgramIsMadeOf(t *testing.T) {
	info := &buildinfo.BuildInfo{
		GoVersion: "go1.26.8 X:none", Main: debug.Module{Path: "github.com/oriel-context/oriel"},
		Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.2.3",
			Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "-s"}},
	}
	b, err := billOf("v1", info)
	if err != nil {
		t.Fatal(err)
	}
	if c := b.Metadata.Component; c.Version != "v1" || len(c.Properties) != 1 {
		t.Errorf("%+v", c)
	}
	for _, purl := range []string{"pkg:golang/std@1.26.8", "pkg:golang/example.com/a@v1.2.3", data[0].PURL,
		data[1].PURL} {
		if !slices.ContainsFunc(b.Components, func(p part) bool { return p.PURL == purl }) {
			t.Errorf("%s is missing", purl)
		}
	}
	notice, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range data {
		if name, _, _ := strings.Cut(p.Name, " "); !bytes.Contains(notice, []byte(strings.TrimSuffix(name, ","))) {
			t.Errorf("NOTICE does not name %s", name)
		}
	}
}

// The versions are those of the files that the table of models was made from.
func TestBillHasTheVersionsOfTheSnapshot(t *testing.T) {
	s := token.BuiltinSnapshot()
	for _, want := range []string{s.Source, s.Also} {
		_, version, _ := strings.Cut(want, " ")
		if !slices.ContainsFunc(data, func(p part) bool { return p.Version == version }) {
			t.Errorf("%s is missing: token/snapshot.json has it", want)
		}
	}
}

// What cannot be named is refused.
func TestBillRefusesWhatIsNotReleased(t *testing.T) {
	for _, m := range []debug.Module{
		{Path: "example.com/a", Version: "v1.2.3", Replace: &debug.Module{Path: "../a"}},
		{Path: "example.com/a", Version: "v1.2.3"},
	} {
		if _, err := billOf("v1", &buildinfo.BuildInfo{GoVersion: "go1.26", Deps: []*debug.Module{&m}}); err == nil ||
			!strings.Contains(err.Error(), m.Path) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if err := run(&bytes.Buffer{}, "v1", "../../NOTICE"); err == nil {
		t.Error("a bill of a text")
	}
}
