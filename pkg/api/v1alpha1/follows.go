package v1alpha1

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// What is packed has three texts for each resource: what is desired, its entry of the
// observer schema, and what is observed. As a rule the other two follow from the first, and
// in their place is only what does not follow:
//
//	in the place of    there is                      which means
//	an entry           "as desired"                  every leaf of what is desired is observed, every list has its length
//	                   ["as desired",3,8]            the same, but the maps or lists 3 and 8, counted from 0, are one leaf each
//	what is observed   "as desired"                  the very text that is desired
//	                   "as desired, with lengths"    the same, and behind the elements of each list their number
//	any of them        anything else                 itself
//
// This is a format, and no rule of what is held: it is never to change, whatever the default
// schema of a version is. It speaks of the text beside it, and never of the spec. What does
// not follow to the last byte is there as it is, and so is each entry with a maximum that was
// raised: a version that does not know this format would cut these lists.
var (
	asDesired   = []byte(`"as desired"`)
	withLengths = []byte(`"as desired, with lengths"`)
)

// shortEntry is what is in the place of an entry.
func shortEntry(entry, desired []byte) []byte {
	var leaves []int
	whole, ok := follow(desired, &entryForm{isLeaf: func(n, at int) bool {
		is := at < len(entry) && bytes.HasPrefix(entry[at:], leafText)
		if is {
			leaves = append(leaves, n)
		}
		return is
	}})
	if !ok || !bytes.Equal(whole, entry) {
		return entry
	}
	short := asDesired
	if len(leaves) > 0 {
		short = append([]byte("["), asDesired...)
		for _, n := range leaves {
			short = strconv.AppendInt(append(short, ','), int64(n), 10)
		}
		short = append(short, ']')
	}
	if len(short) >= len(entry) {
		return entry
	}
	return short
}

// wholeEntry is the entry that shortEntry was given; what cannot be understood is itself.
func wholeEntry(short, desired []byte) []byte {
	var leaves []int
	if !bytes.Equal(short, asDesired) {
		rest, is := bytes.CutPrefix(short, append([]byte("["), append(asDesired, ',')...))
		if !is || json.Unmarshal(append([]byte("["), rest...), &leaves) != nil {
			return short
		}
	}
	whole, ok := follow(desired, &entryForm{isLeaf: func(n, _ int) bool {
		is := len(leaves) > 0 && leaves[0] == n
		if is {
			leaves = leaves[1:]
		}
		return is
	}})
	if !ok {
		return short
	}
	return whole
}

// shortObserved is what is in the place of what is observed.
func shortObserved(observed, desired []byte) []byte {
	if bytes.Equal(observed, desired) {
		return asDesired
	}
	if whole, ok := follow(desired, nil); ok && bytes.Equal(whole, observed) {
		return withLengths
	}
	return observed
}

// wholeObserved is what shortObserved was given; what cannot be understood is itself.
func wholeObserved(short, desired []byte) []byte {
	if bytes.Equal(short, asDesired) {
		return bytes.Clone(desired)
	}
	if bytes.Equal(short, withLengths) {
		if whole, ok := follow(desired, nil); ok {
			return whole
		}
	}
	return short
}

// leafText is a leaf of an entry.
var leafText = []byte(`"observed"`)

// entryForm makes an entry of what follows.
type entryForm struct {
	// isLeaf is asked of each map and list, in the order of the text, whether it is a leaf;
	// at is where its text would begin.
	isLeaf func(n, at int) bool
	asked  int
}

// follow is what follows from a JSON text without spaces: an entry, or what is observed. It
// is false for any other text.
func follow(desired []byte, entry *entryForm) (whole []byte, ok bool) {
	f := recordDeriver{from: desired, to: make([]byte, 0, len(desired)+len(desired)/4), entry: entry}
	ok = f.value(inRoot) && len(f.from) == 0
	return f.to, ok
}

// scope is where a value is: what identifies an object is copied into its entry.
type scope int

const (
	inRoot scope = iota
	inMetadata
	inIdentity
	elsewhere
)

func (s scope) of(name []byte) scope {
	switch {
	case s == inRoot && string(name) == `"metadata"`:
		return inMetadata
	case s == inRoot && (string(name) == `"apiVersion"` || string(name) == `"kind"`), s == inMetadata && string(name) == `"name"`:
		return inIdentity
	}
	return elsewhere
}

// recordDeriver reads one text and writes another one.
type recordDeriver struct {
	from, to []byte
	entry    *entryForm
}

func (f *recordDeriver) value(at scope) bool {
	c := f.next()
	if c != '{' && c != '[' {
		return f.scalar(at)
	}
	if f.entry != nil {
		if f.entry.asked++; f.entry.isLeaf(f.entry.asked-1, len(f.to)) {
			f.to = append(f.to, leafText...)
			return f.skip()
		}
	}
	if c == '{' {
		return f.object(at)
	}
	return f.list()
}

func (f *recordDeriver) object(at scope) bool {
	f.copy('{')
	for first := true; f.next() != '}'; first = false {
		if !first && !f.copy(',') {
			return false
		}
		name := f.text()
		if f.to = append(f.to, name...); name == nil || !f.copy(':') || !f.value(at.of(name)) {
			return false
		}
	}
	return f.copy('}')
}

func (f *recordDeriver) list() bool {
	f.copy('[')
	n := int64(0)
	for ; f.next() != ']'; n++ {
		if (n > 0 && !f.copy(',')) || !f.value(elsewhere) {
			return false
		}
	}
	if n > 0 {
		f.to = append(f.to, ',')
	}
	if f.entry == nil {
		f.to = append(strconv.AppendInt(append(f.to, `{"observer_schema_list_current_length":`...), n, 10), '}')
		return f.copy(']')
	}
	f.to = strconv.AppendInt(append(f.to, `{"observer_schema_list_max_length":`...), n, 10)
	f.to = append(strconv.AppendInt(append(f.to, `,"observer_schema_list_min_length":`...), n, 10), '}')
	return f.copy(']')
}

// scalar is a leaf of an entry, unless it identifies the object.
func (f *recordDeriver) scalar(at scope) bool {
	text := f.text()
	if text == nil {
		n := bytes.IndexAny(f.from, ",]}")
		if n <= 0 {
			return false
		}
		text, f.from = f.from[:n], f.from[n:]
	}
	if f.entry != nil && at != inIdentity {
		text = leafText
	}
	f.to = append(f.to, text...)
	return true
}

// next is the next byte, or 0 at the end.
func (f *recordDeriver) next() byte {
	if len(f.from) == 0 {
		return 0
	}
	return f.from[0]
}

// copy copies a byte, if it is the next one.
func (f *recordDeriver) copy(c byte) bool {
	if f.next() != c {
		return false
	}
	f.from, f.to = f.from[1:], append(f.to, c)
	return true
}

// text goes behind a string, and has it with its quotes; nil if none is next.
func (f *recordDeriver) text() []byte {
	if f.next() != '"' {
		return nil
	}
	for i := 1; i < len(f.from); i++ {
		switch f.from[i] {
		case '\\':
			i++
		case '"':
			text := f.from[:i+1]
			f.from = f.from[i+1:]
			return text
		}
	}
	return nil
}

// skip goes behind a map or a list.
func (f *recordDeriver) skip() bool {
	for depth := 0; len(f.from) > 0; {
		if f.from[0] == '"' {
			if f.text() == nil {
				return false
			}
			continue
		}
		switch f.from[0] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if f.from = f.from[1:]; depth == 0 {
			return true
		}
	}
	return false
}
