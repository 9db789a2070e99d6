package prices

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"

	"github.com/oriel-context/oriel/token"
)

// maxFile bounds a price file, in bytes: LiteLLM's has 3 MB. A wheel has 41 MB.
const (
	maxFile  = 32 << 20
	maxWheel = 256 << 20
)

// Read reads the price file at path: a snapshot in Oriel's form, LiteLLM's file, or a wheel
// of LiteLLM. LiteLLM's has no date: it gets the day on which the file was last written.
func Read(file string) (token.Snapshot, error) {
	info, err := os.Stat(file) // to open a pipe may wait for ever
	switch {
	case err != nil:
		return token.Snapshot{}, err
	case !info.Mode().IsRegular():
		return token.Snapshot{}, fmt.Errorf("%s: is not a file", file)
	case info.Size() > maxWheel:
		return token.Snapshot{}, fmt.Errorf("%s: %d bytes: is it the right file?", file, info.Size())
	}
	f, err := os.Open(file)
	if err != nil {
		return token.Snapshot{}, err
	}
	defer f.Close()
	name, data := "LiteLLM's "+filepath.Base(file), []byte(nil)
	if head := make([]byte, 4); func() bool { _, err = f.ReadAt(head, 0); return string(head) == "PK\x03\x04" }() {
		name, data, err = fromWheel(f, info.Size())
	} else {
		data, err = bounded(f)
	}
	if err == nil {
		var s token.Snapshot
		if s, err = parse(data, name, info.ModTime()); err == nil {
			return s, nil
		}
	}
	return token.Snapshot{}, fmt.Errorf("%s: %w", file, err)
}

func bounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("more than %d bytes: is it the right file?", maxFile)
	}
	return data, err
}

// parse tells a snapshot from LiteLLM's file by its first fields.
func parse(data []byte, name string, written time.Time) (token.Snapshot, error) {
	var own struct {
		Source *string         `json:"source"`
		Models json.RawMessage `json:"models"`
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return token.Snapshot{}, errors.New("is empty")
	}
	if json.Unmarshal(data, &own) == nil && own.Source != nil && own.Models != nil {
		return token.ReadSnapshot(data)
	}
	models, err := readLiteLLM(data)
	if err != nil {
		return token.Snapshot{}, err
	}
	if len(models) == 0 {
		return token.Snapshot{}, errors.New("has no model of a vendor: give LiteLLM's " +
			"model_prices_and_context_window.json, a wheel of LiteLLM, or a file that this command stored")
	}
	s := token.Snapshot{Source: name, Date: written.UTC().Format(time.DateOnly), Models: models}
	stored, err := s.Encode()
	if err != nil {
		return token.Snapshot{}, err
	}
	return token.ReadSnapshot(stored) // which refuses impossible numbers
}

// wheelInfo matches the folder of a wheel that has its version in its name.
var wheelInfo = regexp.MustCompile(`^litellm-([\w.+]+)\.dist-info/`)

// fromWheel returns the price file of a wheel, and its name with LiteLLM's version.
func fromWheel(r io.ReaderAt, size int64) (name string, data []byte, err error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return "", nil, err
	}
	name = "LiteLLM"
	for _, f := range z.File {
		if m := wheelInfo.FindStringSubmatch(f.Name); m != nil {
			name = "LiteLLM " + m[1]
		}
		if path.Base(f.Name) != "model_prices_and_context_window_backup.json" || data != nil {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return "", nil, err
		}
		data, err = bounded(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return "", nil, err
		}
	}
	if data == nil {
		return "", nil, errors.New("is an archive without a price file of LiteLLM")
	}
	return name, data, nil
}
