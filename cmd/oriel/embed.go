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
		Short: "Turn texts into vectors, one per line",
		Long: `Read one text per line from FILE or standard input, and write the vector of its
meaning as one JSON array of 384 numbers per line. Vectors have length 1, so the dot product
of two is their cosine.

The model is all-MiniLM-L6-v2, which is part of this program: no network is used.
It reads the first 256 word pieces of a text. An empty line is a text, too. Each vector
is written as soon as its text was read, so that a program can keep the command open.

$ORIEL_KERNEL forces the code for one kind of CPU (avx512vnni, avx2, neondot, neon,
go), or with a minus sign switches it off (-avx512vnni).`,
		Example: `  echo "how do I get my money back?" | oriel embed
  oriel embed questions.txt > vectors.jsonl`,
		Args: oneFile,
	}
	// The output is the same; the flag is for programs that always pass
	// --json.
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
		sayReading(cmd, inputName(args))
		err = embedLines(cmd.Context(), model, in, cmd.OutOrStdout())
		switch {
		case errors.Is(err, context.Canceled):
			return &exit{code: exitInterrupted}
		case err != nil:
			return fmt.Errorf("%s: %w", inputName(args), err)
		}
		return nil
	}
	return cmd
}

// Lines that have arrived are embedded together, up to these limits.
const (
	embedTexts = 256
	embedBytes = 8 << 20
)

// embedLines writes a vector for each line. It never waits for more lines
// while one is unanswered.
func embedLines(ctx context.Context, model *minilm.Model, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan []string)
	var failed error
	go func() {
		defer close(batches)
		failed = readLines(ctx, in, batches)
	}()
	var b bytes.Buffer
	for {
		var texts []string
		select {
		case batch, open := <-batches:
			if !open {
				return failed
			}
			texts = batch
		case <-ctx.Done():
			return &failure{ctx.Err()}
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

// readLines sends the lines of in without line ends, in batches of those that
// have arrived.
func readLines(ctx context.Context, in io.Reader, batches chan<- []string) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var batch []string
	size := 0
	for n := 1; ; n++ {
		line, err := readLine(r)
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			err = fmt.Errorf("line %d has more than %d bytes, which is the largest text: shorten it", n, maxInput)
		case err == nil:
			batch = append(batch, line)
			size += len(line)
		}
		arrived, _ := r.Peek(r.Buffered())
		if len(batch) > 0 && (err != nil || len(batch) == embedTexts || size > embedBytes ||
			bytes.IndexByte(arrived, '\n') < 0) {
			select {
			case batches <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
			batch, size = nil, 0
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns a line without its line end, and io.EOF only if there is
// none.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxInput:
			return "", bufio.ErrTooLong
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(line) == 0):
			return "", err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		return string(bytes.TrimSuffix(line, []byte("\r"))), nil
	}
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
