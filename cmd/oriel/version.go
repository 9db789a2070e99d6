package main

import (
	"bytes"
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/internal/vector"
	"github.com/oriel-context/oriel/internal/vector/mat"
)

// release is the version that scripts/release builds (-ldflags "-X main.release=…").
var release string

// buildInfo is the JSON form of the version.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is the date of the commit in RFC 3339.
	Date string `json:"date,omitempty"`
	// Dirty reports that files were changed since the commit.
	Dirty    bool    `json:"dirty"`
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
	Kernels  kernels `json:"kernels"`
}

// kernels are the parts of the program that are chosen for the CPU.
type kernels struct {
	Embed  string `json:"embed"`
	Vector string `json:"vector"`
	JSON   string `json:"json"`
	// Error is why there are none for embeddings and vectors.
	Error string `json:"error,omitempty"`
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the build and the CPU kernels",
		Long: `Show the version, the commit that it was built from, the version of Go, the platform,
and which kernels are in use on this CPU: for embeddings, for the search in vectors, for
JSON. $ORIEL_KERNEL chooses the first two. oriel --version prints the version alone.`,
		Example: `  oriel version
  oriel version --json`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := thisBuild()
		if asJSON {
			return printJSON(cmd.OutOrStdout(), b)
		}
		var out bytes.Buffer
		t := term.Table{Left: []bool{true, true}}
		t.Row("oriel", b.Version)
		if b.Commit != "" {
			commit := b.Commit
			if b.Dirty {
				commit += ", and changes since"
			}
			t.Row("commit", commit)
			t.Row("date", b.Date)
		}
		t.Row("go", b.Go)
		t.Row("platform", b.Platform)
		t.Row("kernels", b.Kernels.String())
		t.Draw(&out)
		_, err := cmd.OutOrStdout().Write(out.Bytes())
		return err
	}
	return cmd
}

// version returns the version of the release or, without one, of the module
// that the program was built from.
func version() string { return thisBuild().Version }

func thisBuild() buildInfo {
	b := buildInfo{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kernels: kernelsInUse()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			}
		}
	}
	b.Version = cmp.Or(b.Version, "(devel)")
	return b
}

func kernelsInUse() kernels {
	k := kernels{JSON: rawjson.Kernels()[0]}
	chosen, err := mat.Choose("")
	if err == nil {
		k.Embed = chosen.Name
		k.Vector, err = vector.Kernel()
	}
	if err != nil {
		k.Error = err.Error()
	}
	return k
}

func (k kernels) String() string {
	if k.Error != "" {
		return k.Error
	}
	return "embeddings " + k.Embed + ", vectors " + k.Vector + ", JSON " + k.JSON
}
