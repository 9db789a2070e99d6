package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"

	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/internal/vector/mat"
)

// fastest names the best kernels for each architecture.
var fastest = map[string]string{"amd64": "avx512vnni", "arm64": "neondot"}

// checkKernels checks that embeddings and vectors use the best kernels of this
// CPU.
func (d *doctor) checkKernels() finding {
	return judgeKernels(runtime.GOARCH, d.env.get(mat.Variable), d.build.Kernels, mat.All()[0].Name)
}

// judgeKernels judges the kernels in use; best is the CPU's best.
func judgeKernels(arch, wish string, in kernels, best string) finding {
	f := finding{"kernels", fine, in.String(), ""}
	switch {
	case in.Error != "":
		f.Status, f.Advice = failed, "unset "+mat.Variable
	case in.Embed != best:
		f.Status = warning
		f.Found += fmt.Sprintf(", because %s is %q", mat.Variable, wish)
		f.Advice = fmt.Sprintf("unset it to use %s, which is faster", best)
	case best == "go" && fastest[arch] != "":
		f.Status = warning
		f.Advice = "this build has no faster one for this CPU: embeddings take about thirty times as long"
	case best == "go":
		f.Status = warning
		f.Advice = "there are none for " + arch + ": embeddings take some thirty times as long"
	case best != fastest[arch]:
		f.Found += fmt.Sprintf("; this CPU has not what %s needs, which is faster", fastest[arch])
	}
	return f
}

// checkMemory checks that there is as much memory as a server with recall
// stays within.
func checkMemory() finding {
	available, err := availableMemory()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return finding{"memory", warning, err.Error(), "look into the system's log"}
	}
	return judgeMemory(available, err == nil, debug.SetMemoryLimit(-1))
}

// judgeMemory judges the available memory. limit is Go's memory limit; the
// largest number means none.
func judgeMemory(available uint64, known bool, limit int64) finding {
	f := finding{"memory", fine, "not known on " + runtime.GOOS, ""}
	if known {
		f.Found = term.Bytes(int64(min(available, math.MaxInt64))) + " available"
	}
	if limit == math.MaxInt64 {
		f.Found += "; GOMEMLIMIT is not set, a server stays within " + term.Bytes(serve.LibraryMemory)
	} else {
		f.Found += "; GOMEMLIMIT is " + term.Bytes(limit)
	}
	switch {
	case limit < serve.ServerMemory:
		f.Status, f.Advice = warning, "a server needs "+term.Bytes(serve.LibraryMemory)+
			" to be fast: raise GOMEMLIMIT or unset it"
	case known && available < serve.LibraryMemory:
		f.Status, f.Advice = warning,
			"that is less than a server with recall may take: end other programs, or set GOMEMLIMIT lower"
	}
	return f
}

// fewFiles is a limit of open files that many agents at once can reach: each
// call takes two connections.
const fewFiles = 1024

func checkFiles() finding {
	limit, err := fileLimit()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{"open files", fine, "no limit is known on " + runtime.GOOS, ""}
	case err != nil:
		return finding{"open files", warning, err.Error(), "look into the system's log"}
	}
	return judgeFiles(limit)
}

func judgeFiles(limit uint64) finding {
	f := finding{"open files", fine, "as many as one likes", ""}
	if limit < math.MaxInt32 {
		f.Found = "at most " + term.Thousands(int(limit))
	}
	if limit < fewFiles {
		f.Status, f.Advice = warning, "raise the limit (ulimit -n 4096): each call of an agent takes two"
	}
	return f
}
