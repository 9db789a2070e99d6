// Package embed judges package minilm on real texts against ONNX Runtime, the same
// model's float32 weights and itself.
//
//	./scripts/check embed [-n 1500] [-seed 1] PATH…
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
// Without mvn, all that is compared with ONNX Runtime is skipped.
package embed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check judges the model on the texts of the paths.
func Check(args []string) error {
	flags := kit.Flags("embed")
	n := flags.Int("n", 1500, "how many texts to take beside those of LoCoMo")
	seed := flags.Uint64("seed", 1, "seed of the samples and batches")
	paths := kit.Parse(flags, args)
	if len(paths) == 0 {
		return errors.New("name files or folders of conversations")
	}
	texts, err := collect(paths, *n, *seed)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "check-embed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in := inputs{texts: filepath.Join(dir, "texts.jsonl"), f32: filepath.Join(dir, "f32.oriel"), seed: *seed}
	f, err := os.Create(in.texts)
	if err == nil {
		err = errors.Join(writeTexts(f, texts), f.Close())
	}
	if err != nil {
		return err
	}
	if err := references(&in, dir); err != nil {
		return err
	}
	missed, err := judge(in, os.Stdout)
	if err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%w: %d limits missed", kit.ErrFailed, missed)
	}
	return nil
}

// references makes what the model is compared with: the float32 weights, whose
// golden vectors are tested with every kernel, and ONNX Runtime's vectors.
func references(in *inputs, dir string) error {
	source, err := filepath.Abs(kit.Source())
	if err != nil {
		return err
	}
	bench := filepath.Join(source, "tools", "bench", "minilm")
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = source, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "ORIEL_MINILM_F32="+in.f32)
		return cmd
	}
	fetch := command(filepath.Join(bench, "fetch"))
	err = fetch.Run()
	skipped := fetch.ProcessState != nil && fetch.ProcessState.ExitCode() == 3
	if err != nil && !skipped {
		return fmt.Errorf("%s: %w", fetch.Path, err)
	}
	models := filepath.Join(bench, ".models")
	commands := []*exec.Cmd{
		command("go", "-C", "tools", "run", "./minilmgen", "-f32", "-o", in.f32, filepath.Join(models, "model")),
		command("go", "test", "-count=1", "-run", "Float32VectorsAreThoseOfTheReference", "./embed/minilm"),
	}
	if skipped {
		fmt.Println("!! SKIPPED: ONNX Runtime, because mvn is missing")
	} else {
		in.reference, in.usual = filepath.Join(dir, "reference"), filepath.Join(dir, "usual")
		for model, vectors := range map[string]string{"f32": in.reference, "int8": in.usual} {
			commands = append(commands, command(filepath.Join(bench, ".venv", "bin", "python"),
				filepath.Join(source, "tools", "check", "embed", "reference.py"),
				filepath.Join(models, model+".onnx"), filepath.Join(models, "model", "tokenizer.json"), in.texts,
				vectors))
		}
	}
	for _, c := range commands {
		if err := c.Run(); err != nil {
			return fmt.Errorf("%v: %w", c.Args, err)
		}
	}
	return nil
}
