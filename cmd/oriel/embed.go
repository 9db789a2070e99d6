package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/embed/minilm"
)

func embedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "embed [FILE]",
		Short: "Turn texts into vectors, one a line",
		Long: `Read one text a line, from FILE or standard input, and write for each the vector
of its meaning: one JSON array of 384 numbers a line, of length 1, so that the
sum of the products of two is their cosine.

The model is all-MiniLM-L6-v2, which is part of this program: no network is used.
It reads the first 256 word pieces of a text. An empty line is a text, too.
Vectors are written as texts come, so that a program may keep the command open.

$ORIEL_KERNEL forces the code for one kind of CPU (avx512vnni, avx2, neondot, neon,
go), or with a minus sign switches it off (-avx512vnni).`,
		Example: `  echo "how do I get my money back?" | oriel embed
  oriel embed questions.txt > vectors.jsonl`,
		Args: oneFile,
	}
	// The form of the output is the same; programs that always say --json may.
	cmd.Flags().Bool("json", false, "print one JSON array a line, as without it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in, err := openInput(cmd, args)
		if err != nil {
			return err
		}
		defer in.Close()
		model, err := minilm.Open(minilm.Options{})
		if err != nil {
			return err
		}
		defer model.Close()
		if err := embedLines(cmd.Context(), model, in, cmd.OutOrStdout()); err != nil {
			return fmt.Errorf("%s: %w", inputName(args), err)
		}
		return nil
	}
	return cmd
}

// embedTexts is how many lines are embedded together, where that many are there.
const embedTexts = 256

// embedLines writes a vector for each line. Lines that have arrived are embedded
// together; it never waits for more while one is unanswered.
func embedLines(ctx context.Context, model *minilm.Model, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan string, embedTexts)
	var failed error
	go func() {
		defer close(lines)
		failed = readLines(ctx, in, lines)
	}()
	var texts []string
	var b bytes.Buffer
	for {
		select {
		case line, open := <-lines:
			if !open {
				return failed
			}
			texts = append(texts[:0], line)
		case <-ctx.Done():
			return &failure{ctx.Err()}
		}
	gather:
		for len(texts) < embedTexts {
			select {
			case next, open := <-lines:
				if !open {
					break gather
				}
				texts = append(texts, next)
			default:
				break gather
			}
		}
		vectors, err := model.Embed(ctx, texts)
		if err != nil {
			return &failure{err}
		}
		b.Reset()
		for _, v := range vectors {
			b.Write(appendVector(b.AvailableBuffer(), v))
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			return &failure{err}
		}
	}
}

// readLines sends the lines of in without their ends.
func readLines(ctx context.Context, in io.Reader, lines chan<- string) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxInput)
	n := 0
	for s.Scan() {
		n++
		select {
		case lines <- s.Text():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d bytes, which is the largest text: shorten it", n+1, maxInput)
	}
	return s.Err()
}

func appendVector(b []byte, v []float32) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']', '\n')
}
