package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// tensors is a safetensors file: a JSON header that says where each tensor lies,
// then the values.
type tensors struct {
	entries map[string]entry
	values  []byte
}

type entry struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// readTensors reads the content of a file; path is for errors.
func readTensors(path string, data []byte) (*tensors, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%s: too short for a safetensors file", path)
	}
	size := binary.LittleEndian.Uint64(data)
	if size > uint64(len(data)-8) {
		return nil, fmt.Errorf("%s: a header of %d bytes in a file of %d", path, size, len(data))
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+size], &all); err != nil {
		return nil, fmt.Errorf("%s: header: %w", path, err)
	}
	t := &tensors{entries: make(map[string]entry), values: data[8+size:]}
	for name, raw := range all {
		if name == "__metadata__" {
			continue
		}
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("%s: tensor %s: %w", path, name, err)
		}
		t.entries[name] = e
	}
	return t, nil
}

// get returns the values of a float32 tensor.
func (t *tensors) get(name string) ([]float32, error) {
	e, ok := t.entries[name]
	if !ok {
		return nil, fmt.Errorf("no tensor %s", name)
	}
	if e.Type != "F32" {
		return nil, fmt.Errorf("tensor %s is %s, not F32", name, e.Type)
	}
	from, to := e.Offsets[0], e.Offsets[1]
	n := 1
	for _, d := range e.Shape {
		n *= d
	}
	if from < 0 || to > len(t.values) || to-from != 4*n {
		return nil, fmt.Errorf("tensor %s of shape %v lies at bytes %d to %d of %d", name, e.Shape, from, to,
			len(t.values))
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.values[from+4*i:]))
	}
	return out, nil
}
