package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	noPart  = 0xFFFFF // left part of an entry that is no pair
	literal = 0
	hole    = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A vocab is a vocabulary by id and by bytes. A hole is an empty string.
type vocab struct {
	tokens []string
	rank   map[string]int
}

// readRanks reads a rank file: a line per token, base64 of its bytes and its
// rank, which is its id.
func readRanks(dir string, src source) (*vocab, error) {
	data, err := os.ReadFile(filepath.Join(dir, src.file))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != src.sum {
		return nil, fmt.Errorf("%s: SHA-256 is %x, want %s", src.file, sum, src.sum)
	}
	v := &vocab{rank: map[string]int{}}
	for line := range bytes.Lines(data) {
		tok, num, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if !ok {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(tok)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.file, err)
		}
		id, err := strconv.Atoi(num)
		if err != nil || id < len(v.tokens) || id >= noPart-1 || len(raw) == 0 || len(raw) > 255 {
			return nil, fmt.Errorf("%s: bad line %q", src.file, line)
		}
		for len(v.tokens) < id {
			v.tokens = append(v.tokens, "")
		}
		v.tokens = append(v.tokens, string(raw))
		v.rank[string(raw)] = id
	}
	return v, nil
}

// split returns the two parts from which merging makes the token, and false
// if merging its bytes stops before two parts are left.
func (v *vocab) split(tok string) (left, right int, ok bool) {
	parts := make([]string, 0, len(tok))
	for i := range len(tok) {
		parts = append(parts, tok[i:i+1])
	}
	for len(parts) > 2 {
		best, at := -1, -1
		for i := range len(parts) - 1 {
			if r, ok := v.rank[parts[i]+parts[i+1]]; ok && (best < 0 || r < best) {
				best, at = r, i
			}
		}
		if at < 0 {
			return 0, 0, false
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	left, okL := v.rank[parts[0]]
	right, okR := v.rank[parts[1]]
	return left, right, okL && okR
}

// encode writes the table file and returns it with its number of literals.
func (v *vocab) encode() (data []byte, literals int, err error) {
	le := binary.LittleEndian
	data = append(data, "ORIELBPE"...)
	data = le.AppendUint32(data, 1)
	data = le.AppendUint32(data, uint32(len(v.tokens)))
	data = append(data, make([]byte, 8)...)
	var lit []byte
	for id, tok := range v.tokens {
		left, right := noPart, hole
		if tok != "" {
			l, r, ok := 0, 0, false
			if len(tok) > 1 {
				l, r, ok = v.split(tok)
			}
			if ok {
				left, right = l, r
				if left >= id || right >= id {
					return nil, 0, fmt.Errorf("id %d is made of %d and %d, which come later", id, left, right)
				}
			} else {
				right = literal
				lit = append(append(lit, byte(len(tok))), tok...)
				literals++
			}
		}
		e := uint64(left) | uint64(right)<<20
		data = append(data, byte(e), byte(e>>8), byte(e>>16), byte(e>>24), byte(e>>32))
	}
	data = append(data, lit...)
	le.PutUint32(data[16:], uint32(len(lit)))
	sum := crc32.Update(crc32.Checksum(data[:20], castagnoli), castagnoli, data[24:])
	le.PutUint32(data[20:], sum)
	return data, literals, nil
}

// encodeClasses turns the list of classes into the runs of classes.bin.
func encodeClasses(path string) ([]byte, error) {
	code := map[string]uint64{"other": 0, "lower": 1, "upper": 2, "letter": 3, "mark": 4, "number": 5, "space": 6,
		"newline": 7}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := append([]byte("ORIELCLS"), 1, 0, 0, 0, 0, 0, 0, 0)
	next := uint64(0) // first code point not yet written
	run := func(end, class uint64) {
		if end > next {
			data = binary.AppendUvarint(data, (end-next)<<3|class)
			next = end
		}
	}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		var first, last uint64
		var name string
		if _, err := fmt.Sscanf(sc.Text(), "%X %X %s", &first, &last, &name); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, sc.Text(), err)
		}
		class, ok := code[name]
		if !ok || first < next || last < first {
			return nil, fmt.Errorf("%s: bad line %q", path, sc.Text())
		}
		run(first, 0)
		run(last+1, class)
	}
	run(0x110000, 0)
	binary.LittleEndian.PutUint32(data[12:], crc32.Checksum(data[16:], castagnoli))
	return data, sc.Err()
}
