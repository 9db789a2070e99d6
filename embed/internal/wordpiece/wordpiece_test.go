package wordpiece

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// testVocab is the vocabulary of all-MiniLM-L6-v2, which is that of BERT uncased.
var testVocab = sync.OnceValues(func() ([]byte, error) {
	f, err := os.Open("testdata/vocab.txt.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
})

var testTokenizer = sync.OnceValues(func() (*Tokenizer, error) {
	vocab, err := testVocab()
	if err != nil {
		return nil, err
	}
	return New(vocab)
})

func vocabulary(t testing.TB) []byte {
	t.Helper()
	vocab, err := testVocab()
	if err != nil {
		t.Fatal(err)
	}
	return vocab
}

func tokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := testTokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestNewRefusesWhatIsNoVocabulary(t *testing.T) {
	for _, test := range []struct{ name, vocab, want string }{
		{"nothing", "", "no piece [UNK]"},
		{"no unknown", "[CLS]\n[SEP]\na\n", "no piece [UNK]"},
		{"no start", "[UNK]\n[SEP]\na\n", "no piece [CLS]"},
		{"no end", "[UNK]\n[CLS]\na\n", "no piece [SEP]"},
		{"part of a special", "[UNK]\n[CLS\n[SEP]\n", "no piece [CLS]"},
		{"doubled", "[UNK]\n[CLS]\n[SEP]\nab\nb\nab\n", `lines 4 and 6 of the vocabulary are the same piece, "ab"`},
		{"doubled continuation", "##a\n[UNK]\n[CLS]\n[SEP]\n##a\n",
			`lines 1 and 5 of the vocabulary are the same piece, "a"`},
		{"empty line", "[UNK]\n\n[CLS]\n[SEP]\n", "line 2 of the vocabulary is empty"},
		{"longer than any word", "[UNK]\n[CLS]\n[SEP]\n" + strings.Repeat("a", 500) + "\n",
			"line 4 of the vocabulary is longer"},
		{"not text", "[UNK]\n[CLS]\n[SEP]\n\xff\n", "not UTF-8"},
		{"mark out of order", "[UNK]\n[CLS]\n[SEP]\n##\u302e\n", "line 4 of the vocabulary"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tok, err := New([]byte(test.vocab))
			if err == nil || !strings.Contains(err.Error(), test.want) || tok != nil {
				t.Errorf("New gives %v, %v; want an error with %q", tok, err, test.want)
			}
		})
	}
}

func TestNewTakesEitherLineEndAndKeepsNoReference(t *testing.T) {
	for _, text := range []string{
		"[UNK]\n[CLS]\n[SEP]\na\n##b",
		"[UNK]\n[CLS]\n[SEP]\na\n##b\n",
		"[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n##b\r\n",
	} {
		vocab := []byte(text)
		tok, err := New(vocab)
		if err != nil {
			t.Fatal(err)
		}
		clear(vocab)
		equal(t, tok.Encode(nil, "AB b [SEP] [PAD]", 64), []int32{1, 3, 4, 0, 2, 0, 0, 0, 2})
	}
}

func TestEveryPieceIsFoundByItself(t *testing.T) {
	tok := tokenizer(t)
	for id, line := range bytes.Split(bytes.TrimSpace(vocabulary(t)), []byte("\n")) {
		root := tok.trie.start
		if rest, ok := bytes.CutPrefix(line, []byte(continuation)); ok {
			root, line = tok.trie.rest, rest
		}
		if got, n := tok.trie.longest(root, line); int(got) != id || n != len(line) {
			t.Fatalf("piece %q, line %d: found %d of length %d", line, id, got, n)
		}
	}
}

func TestTrieIsSmall(t *testing.T) {
	if size := 8 * cap(tokenizer(t).trie.cells); size > 1<<20 {
		t.Errorf("the trie takes %d bytes", size)
	}
}
