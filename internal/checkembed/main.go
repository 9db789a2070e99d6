// Command checkembed judges package minilm on real texts against ONNX Runtime,
// the same model's float32 weights and itself. The script scripts/check-embed
// is how to run it.
//
//	checkembed texts [-n 1500] [-seed 1] PATH…          write texts as JSON lines
//	checkembed judge -f32 FILE -texts FILE [-reference VECTORS] [-usual VECTORS]
//
// A path is a file or a folder: conversations of LoCoMo (*.json), results of
// tau-bench (*.json) or sessions of Claude Code (*.jsonl). All turns and
// questions of LoCoMo are taken; of the rest a sample, as even over kinds and
// lengths as the texts allow.
//
// What must hold:
//
//   - the float32 weights give every text the vector that ONNX Runtime gives
//     it: cosine at least 0.99999;
//   - the int8 weights stay near them: cosine 0.995 on average, 0.98 at worst;
//   - of the ten turns of a conversation that are nearest to a turn, int8 finds
//     95 % on average;
//   - a text has the same vector, bit by bit, alone and in any batch;
//   - every kernel of the machine agrees with the plain Go one: cosine at least
//     0.999 at worst. A rounding that falls to the other side of a step is all
//     that may differ.
//
// It exits with 1 where one of these does not.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail(2, "say texts or judge")
	}
	switch os.Args[1] {
	case "texts":
		fs := flag.NewFlagSet("texts", flag.ExitOnError)
		n := fs.Int("n", 1500, "how many texts to take beside those of LoCoMo")
		seed := fs.Uint64("seed", 1, "seed of the sample")
		_ = fs.Parse(os.Args[2:]) // exits by itself
		if fs.NArg() == 0 {
			fail(2, "name a file or folder of conversations")
		}
		texts, err := collect(fs.Args(), *n, *seed)
		if err == nil {
			err = writeTexts(os.Stdout, texts)
		}
		if err != nil {
			fail(2, "%v", err)
		}
	case "judge":
		fs := flag.NewFlagSet("judge", flag.ExitOnError)
		var in inputs
		fs.StringVar(&in.texts, "texts", "", "`file` of texts")
		fs.StringVar(&in.f32, "f32", "", "weight `file` of float32")
		fs.StringVar(&in.reference, "reference", "", "`file` of ONNX Runtime's float32 vectors")
		fs.StringVar(&in.usual, "usual", "", "`file` of vectors of ONNX Runtime's usual int8 model")
		fs.Uint64Var(&in.seed, "seed", 1, "seed of batches and samples")
		_ = fs.Parse(os.Args[2:])
		missed, err := judge(in, os.Stdout)
		if err != nil {
			fail(2, "%v", err)
		}
		if missed > 0 {
			fail(1, "%d bars missed", missed)
		}
	default:
		fail(2, "say texts or judge, not %q", os.Args[1])
	}
}

func fail(status int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "checkembed: "+format+"\n", args...)
	os.Exit(status)
}
