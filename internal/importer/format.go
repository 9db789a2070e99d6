package importer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// Format is an input format. The zero value means that the content decides.
type Format string

const (
	Auto Format = ""
	// ClaudeCode is a session of Claude Code: one event per line.
	ClaudeCode Format = "claude-code"
	// OpenAI, Anthropic and Responses are request bodies: a single one, or the
	// successive calls of one conversation as a list or as lines. They and the bodies of
	// other protocols have the names of wire's formats.
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
	Responses Format = "responses"
	// Generic is one object per line: conversation, ref, time, role, name, text.
	Generic Format = "generic"
	// Codex is a rollout of Codex, GeminiCLI a session of Gemini CLI, QwenCode one of Qwen
	// Code, OpenCode one of opencode, Cline the history of a task of Cline or Roo Code, Aider the chat
	// history of aider.
	Codex     Format = "codex"
	GeminiCLI Format = "gemini-cli"
	QwenCode  Format = "qwen-code"
	OpenCode  Format = "opencode"
	Cline     Format = "cline"
	Aider     Format = "aider"
	// Pi is a session of Pi, Copilot one of GitHub Copilot CLI, Continue one of Continue,
	// Goose the database of Goose, Crush that of Crush.
	Pi       Format = "pi"
	Copilot  Format = "copilot-cli"
	Continue Format = "continue"
	Goose    Format = "goose"
	Crush    Format = "crush"
	// ChatGPT and ClaudeAI are the conversations.json of an export from these sites.
	ChatGPT  Format = "chatgpt"
	ClaudeAI Format = "claude-ai"
	// Locomo is a LoCoMo file: a list of samples or a single one.
	Locomo Format = "locomo"
	// Beam is the chat.json of a BEAM chat.
	Beam Format = "beam"
	// TauBench is a file of results of tau-bench: a list of runs with their trajectories.
	TauBench Format = "tau-bench"
)

// Formats returns all formats except Auto.
func Formats() []Format {
	all := []Format{ClaudeCode, Codex, GeminiCLI, QwenCode, OpenCode, Cline, Aider, Pi, Copilot, Continue, Goose,
		Crush, ChatGPT, ClaudeAI}
	for _, f := range wire.Protocols() {
		all = append(all, ofWire(f))
	}
	return append(all, Generic, Locomo, Beam, TauBench)
}

func formatList() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// ParseFormat returns the format with a name, which may be "auto".
func ParseFormat(name string) (Format, error) {
	if name == "" || name == "auto" {
		return Auto, nil
	}
	for _, f := range Formats() {
		if string(f) == name {
			return f, nil
		}
	}
	return Auto, fmt.Errorf("unknown format %q: use one of auto, %s", name, formatList())
}

// isBody reports whether a format is that of request bodies.
func (f Format) isBody() bool {
	_, ok := wire.ByName(string(f))
	return ok
}

// isSession reports whether agents write a format whose sessions may have been recorded under
// another name. Claude Code and Codex have always sent the names of theirs.
func (f Format) isSession() bool {
	switch f {
	case GeminiCLI, QwenCode, OpenCode, Cline, Aider, Pi, Copilot, Continue, Goose, Crush:
		return true
	}
	return false
}

// isParsedAnew reports whether earlier versions parsed messages of a format differently.
func (f Format) isParsedAnew() bool {
	return f == GeminiCLI || f == OpenCode || f == Aider || f == ChatGPT || f == ClaudeAI
}

// isNamedByFolder reports whether all files of a format have the same name.
func (f Format) isNamedByFolder() bool {
	return f == Beam || f == Cline || f == Aider || f == Copilot
}

func (f Format) reader() func(context.Context, *source, io.Reader, taker) error {
	switch f {
	case ClaudeCode:
		return readClaudeCode
	case Codex:
		return readCodex
	case GeminiCLI:
		return readGeminiCLI
	case QwenCode:
		return readQwenCode
	case OpenCode:
		return readOpenCode
	case Cline:
		return readCline
	case Pi:
		return readPi
	case Copilot:
		return readCopilot
	case Continue:
		return readContinue
	case Goose:
		return readGoose
	case Crush:
		return readCrush
	case Aider:
		return readAider
	case ChatGPT:
		return readChatGPT
	case ClaudeAI:
		return readClaudeAI
	case Generic:
		return readGeneric
	case Locomo:
		return readLocomo
	case Beam:
		return readBeam
	case TauBench:
		return readTauBench
	}
	return readBodies
}

// shape is the way in which a file holds its units.
type shape uint8

const (
	lines    shape = iota // one JSON object per line
	list                  // one JSON array
	whole                 // one JSON object over several lines
	database              // a SQLite file
)

type kind struct {
	format Format
	shape  shape
}

// sniffLines is the number of lines searched for one that reveals the kind.
const sniffLines = 50

// sniff determines the kind of a file from its content, or only its shape if a
// format is given. An unknown file gets the format Auto.
func (s *source) sniff(ctx context.Context, want Format) (kind, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return kind{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	defer f.Close()
	k, err := sniff(f)
	if err == nil && k.shape == database {
		k.format, err = s.sniffDatabase(ctx)
		if err == nil && want != Auto && want != k.format {
			err = noTables(want)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", s.path, err)
		}
	}
	if err != nil {
		return kind{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if k.format == Auto && k.shape == list && filepath.Base(s.path) == "api_conversation_history.json" {
		k.format = Cline
	}
	if k.format.isBody() && want != Auto && !want.isBody() {
		return kind{}, fmt.Errorf(
			"%w: %s is a request body in the form %s, not %s: leave the form out, or name that one", ErrInput, s.path,
			k.format, want)
	}
	if want != Auto {
		k.format = want
	}
	return k, nil
}

func sniff(f io.ReadSeeker) (kind, error) {
	first, err := firstByte(f)
	if err == nil && first == '#' {
		return sniffMarkdown(f)
	}
	if err == nil && first == databaseHead[0] {
		return sniffHead(f)
	}
	if err != nil || first != '[' && first != '{' {
		return kind{}, err
	}
	var k kind
	if first == '{' {
		var done bool
		if k, done, err = sniffFromLines(f); done || err != nil {
			return k, err
		}
		k.shape = whole
	} else {
		k.shape = list
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return kind{}, err
	}
	elements := elementsOf(f, k.shape)
	raw, err := elements.next()
	if err != nil {
		return kind{shape: min(k.shape, list)}, nil // not JSON after all
	}
	if root, err := rawjson.ParseLenient(raw, timeline.MaxContent); err == nil {
		k.format = formatOf(root)
	}
	if k.format == ClaudeCode { // it writes lines: this is the log of another agent
		k.format = Auto
	}
	return k, nil
}

// databaseHead begins a SQLite file.
const databaseHead = "SQLite format 3\x00"

// sniffHead recognises SQLite files.
func sniffHead(f io.ReadSeeker) (kind, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return kind{}, err
	}
	head := make([]byte, len(databaseHead))
	if _, err := io.ReadFull(f, head); err == nil && string(head) == databaseHead {
		return kind{shape: database}, nil
	}
	return kind{}, nil
}

// sniffMarkdown recognises aider's history.
func sniffMarkdown(f io.ReadSeeker) (kind, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return kind{}, err
	}
	line, err := newLines(f).next()
	if err == nil && bytes.HasPrefix(line, []byte(aiderStart)) {
		return kind{format: Aider, shape: lines}, nil
	}
	return kind{}, nil
}

// firstByte returns the first byte that is not white space, or 0 for an empty
// file.
func firstByte(f io.ReadSeeker) (byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	r := bufio.NewReader(f)
	for {
		c, err := r.ReadByte()
		switch {
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, err
		case c == 0xef || c == 0xbb || c == 0xbf: // a byte order mark
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c, nil
		}
	}
}

// sniffFromLines looks for a line that reveals the kind. done is false if the
// first line is not a complete object: the file may then be one object over many
// lines.
func sniffFromLines(f io.ReadSeeker) (k kind, done bool, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return kind{}, true, err
	}
	guess := Auto
	l := newLines(f)
	for n := 0; n < sniffLines; n++ {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil && err != errLong {
			return kind{}, true, err
		}
		root, parseErr := rawjson.ParseLenient(line, timeline.MaxContent)
		if err == nil && parseErr == nil {
			switch format := formatOf(root); {
			case format == ClaudeCode && !root.Get("message").Has("content"):
				guess = ClaudeCode // Qwen Code may write such lines, too
			case format == ClaudeCode, format == QwenCode, guess == Auto && format != Auto:
				return kind{format: format, shape: lines}, true, nil
			}
			continue
		}
		if n == 0 && isObject(f) {
			return kind{}, false, nil
		}
	}
	return kind{format: guess, shape: lines}, true, nil
}

// isObject reports whether the file is one JSON object from its first byte on. It
// reads from the beginning and stops where the text is not JSON.
func isObject(f io.ReadSeeker) bool {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false
	}
	defer f.Seek(at, io.SeekStart)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	_, err = elementsOf(f, whole).next()
	return err == nil
}

// formatOf determines a format from one of its units: a line, a body, a sample, a
// batch.
func formatOf(root rawjson.Value) Format {
	switch {
	case root.Kind() != rawjson.Object:
		return Auto
	case root.Get("conversation").Kind() == rawjson.Object:
		return Locomo
	case isRollout(root):
		return Codex
	case root.Get("traj").Kind() == rawjson.Array:
		return TauBench
	case root.Get("mapping").Kind() == rawjson.Object && (root.Has("current_node") || root.Has("title")):
		return ChatGPT
	case root.Get("chat_messages").Kind() == rawjson.Array:
		return ClaudeAI
	case isGemini(root):
		return GeminiCLI
	case isQwen(root):
		return QwenCode
	case isPi(root):
		return Pi
	case isCopilot(root):
		return Copilot
	case isContinue(root):
		return Continue
	case isClineSession(root):
		return Cline
	case isOpenCode(root):
		return OpenCode
	case root.Has("messages") || root.Has("input"):
		f, err := wire.Detect(root.Raw(), wire.Limits{Bytes: timeline.MaxContent})
		if err != nil {
			return Auto
		}
		return ofWire(f)
	case root.Get("type").Kind() == rawjson.String:
		for _, key := range []string{"uuid", "sessionId", "leafUuid", "parentUuid", "messageId"} {
			if root.Has(key) {
				return ClaudeCode
			}
		}
		return Auto
	case root.Get("text").Kind() == rawjson.String:
		return Generic
	case hasTurns(root, 0):
		return Beam
	}
	return Auto
}

// ofWire returns the format of a protocol's bodies.
func ofWire(f wire.Format) Format {
	if !f.IsProtocol() {
		return Auto
	}
	return Format(f.String())
}

// hasTurns reports whether nested lists contain turns of BEAM.
func hasTurns(v rawjson.Value, depth int) bool {
	if depth > 6 {
		return false
	}
	if v.Kind() == rawjson.Object {
		if v.Get("turns").Kind() == rawjson.Array {
			return true
		}
		for _, member := range v.Members() {
			if member.Kind() == rawjson.Array && hasTurns(member, depth+1) {
				return true
			}
		}
	}
	for e := range v.Elems() {
		if hasTurns(e, depth+1) {
			return true
		}
		break // the first element decides
	}
	return false
}

// elements reads the elements of a JSON array, or one object, as raw bytes of up to maxLine.
type elements struct {
	in    *boundedReader
	dec   *json.Decoder
	shape shape
	n     int
}

func elementsOf(r io.Reader, s shape) *elements {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = in.Discard(3)
	}
	bounded := &boundedReader{r: in}
	return &elements{in: bounded, dec: json.NewDecoder(bounded), shape: s}
}

// boundedReader reads up to an offset, and then fails: the decoder holds an element in
// memory before anybody can see how long it is.
type boundedReader struct {
	r        io.Reader
	read, to int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.read >= b.to {
		return 0, errLongElement
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.to-b.read)])
	b.read += int64(n)
	return n, err
}

// errLongElement: an element is longer than any store accepts. What follows it cannot be
// read.
var errLongElement = errors.New("an element of more than 256 MiB: split the file")

// between is more than what stands between two elements of a list.
const between = 1 << 16

// next returns the next element, or io.EOF.
func (e *elements) next() ([]byte, error) {
	e.in.to = e.dec.InputOffset() + int64(maxLine) + between
	if e.shape == list {
		if e.n == 0 {
			if t, err := e.dec.Token(); err != nil {
				return nil, unexpected(err)
			} else if t != json.Delim('[') {
				return nil, fmt.Errorf("want a list")
			}
		}
		if !e.dec.More() {
			if _, err := e.dec.Token(); err != nil {
				return nil, unexpected(err)
			}
			return nil, io.EOF
		}
	} else if e.n > 0 && !e.dec.More() {
		return nil, io.EOF
	}
	e.n++
	var raw json.RawMessage
	if err := e.dec.Decode(&raw); err != nil {
		return nil, unexpected(err)
	}
	return raw, nil
}

// unexpected turns the end of a text into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
