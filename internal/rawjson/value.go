package rawjson

import "iter"

// Kind is the type of a value.
type Kind uint8

// The kinds of value. Invalid is the kind of the absent one.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "bool", "number", "string", "array", "object"}

// String returns the kind's name in lower case, as in "object".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Invalid]
}

// kindOf maps the first byte of a value in a validated text to its kind.
var kindOf = [256]Kind{
	'n': Null, 't': Bool, 'f': Bool, '"': String, '[': Array, '{': Object, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Value is a handle on one value of a Doc, meant to be passed by value. The
// zero Value is the absent one: its kind is Invalid, it has no bytes and no
// children, and every method on it is safe.
type Value struct {
	doc  *Doc
	i    uint32 // index in the tape
	stop uint32 // index behind the last sibling
}

// entry returns the value's tape record; ok is false for an absent or void value.
func (v Value) entry() (e entry, ok bool) {
	if v.doc == nil || uint(v.i) >= uint(len(v.doc.tape)) {
		return entry{}, false
	}
	return v.doc.tape[v.i], true
}

// container returns the value's tape record if its text starts with open.
func (v Value) container(open byte) (e entry, ok bool) {
	e, ok = v.entry()
	return e, ok && v.doc.data[e.start] == open
}

// Kind returns the value's type; Invalid if it is absent.
func (v Value) Kind() Kind {
	e, ok := v.entry()
	if !ok {
		return Invalid
	}
	return kindOf[v.doc.data[e.start]]
}

// Exists reports whether the value is there. A null exists.
func (v Value) Exists() bool {
	_, ok := v.entry()
	return ok
}

// Raw returns the value's bytes as they stand in the text, quotes and brackets
// included: a part of the slice that was parsed, not a copy. An append to it
// copies.
func (v Value) Raw() []byte {
	e, ok := v.entry()
	if !ok {
		return nil
	}
	return v.doc.data[e.start:e.end:e.end]
}

// Span returns the range of the value's bytes in the text; 0, 0 if it is absent.
func (v Value) Span() (start, end int) {
	e, _ := v.entry()
	return int(e.start), int(e.end)
}

// First returns the first element of an array or the first member's name of an
// object; absent if there is none.
func (v Value) First() Value {
	e, ok := v.entry()
	if !ok || e.next == v.i+1 {
		return Value{}
	}
	return Value{doc: v.doc, i: v.i + 1, stop: e.next}
}

// Next returns the next sibling: the next element of an array; in an object a
// name's value, and after that the next name. Absent at the end.
func (v Value) Next() Value {
	e, ok := v.entry()
	if !ok || e.next >= v.stop {
		return Value{}
	}
	return Value{doc: v.doc, i: e.next, stop: v.stop}
}

// Len returns the number of an array's elements or an object's members; 0 for other
// kinds. It walks over them.
func (v Value) Len() int {
	n := 0
	for c := v.First(); c.doc != nil; c = c.Next() {
		n++
	}
	if v.Kind() == Object {
		n /= 2
	}
	return n
}

// Elems returns the elements of an array in order; none for other kinds.
func (v Value) Elems() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for c := v.First(); c.doc != nil; c = c.Next() {
			if !yield(c) {
				return
			}
		}
	}
}

// Members returns the members of an object in order, name (a String) and value,
// those of the same name included; none for other kinds.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(name, value Value) bool) {
		if v.Kind() != Object {
			return
		}
		for name := v.First(); name.doc != nil; {
			value := name.Next()
			if !yield(name, value) {
				return
			}
			name = value.Next()
		}
	}
}

// Get returns the value of an object's last member of that name, as most parsers
// have it. Names are compared decoded. Absent if there is no such member or v
// is not an object.
func (v Value) Get(key string) Value {
	found, _ := v.lookup(key)
	return found
}

// Has reports whether an object has a member of that name.
func (v Value) Has(key string) bool {
	return v.Get(key).doc != nil
}

// Count returns how many members of an object have that name.
func (v Value) Count(key string) int {
	_, n := v.lookup(key)
	return n
}

// lookup returns the last member of that name and how many there are.
func (v Value) lookup(key string) (last Value, count int) {
	e, ok := v.container('{')
	if !ok {
		return Value{}, 0
	}
	tape, data := v.doc.tape, v.doc.data
	for i := v.i + 1; i < e.next; {
		name := tape[i]
		if equalString(data[name.start+1:name.end-1], key) {
			last, count = Value{doc: v.doc, i: i + 1, stop: e.next}, count+1
		}
		i = tape[i+1].next
	}
	return last, count
}

// Bool reports whether the value is true.
func (v Value) Bool() bool {
	e, ok := v.entry()
	return ok && v.doc.data[e.start] == 't'
}
