package v1alpha1

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// A packed record has three JSON strings for each resource: the desired state, the schema, and the observed
// state. The last two usually follow from the desired state. The record then contains a short form in their
// place:
//
//	in the place of    the record has                means
//	the schema         "as desired"                  every leaf of the desired state is observed, every list has its length
//	                   ["as desired",3,8]            the same, but the maps or lists 3 and 8, counted from 0, are one leaf each
//	                   "as desired, open"            every leaf is observed, every list has its length as minimum, and no maximum
//	                   ["as desired, open",3,8]      the same, with leaves
//	the observed state "as desired"                  the same JSON as the desired state
//	                   "as desired, with lengths"    the same, with the number of its elements at the end of each list
//	any of them        anything else                 itself
//
// This defines a storage format, not which fields are held. It must never change, even if the default
// schema changes between versions. It refers to the desired state in the same record, never to the spec. A
// value that does not follow byte for byte is stored unchanged. So is each schema with a raised maximum: a
// version that does not know this format would truncate these lists.
var (
	asDesired   = []byte(`"as desired"`)
	openLists   = []byte(`"as desired, open"`)
	withLengths = []byte(`"as desired, with lengths"`)
)

// shortEntry returns the short form of a schema, or the schema itself if it does not follow from the
// desired state.
func shortEntry(entry, desired []byte) []byte {
	for _, text := range [][]byte{asDesired, openLists} {
		if short := shortEntryAs(text, entry, desired); len(short) > 0 && len(short) < len(entry) {
			return short
		}
	}
	return entry
}

// shortEntryAs returns the short form of a schema with the given text, or nil if the schema does not follow.
func shortEntryAs(text, entry, desired []byte) []byte {
	var leaves []int
	whole, ok := follow(desired, &entryForm{open: bytes.Equal(text, openLists), isLeaf: func(n, at int) bool {
		is := at < len(entry) && bytes.HasPrefix(entry[at:], leafText)
		if is {
			leaves = append(leaves, n)
		}
		return is
	}})
	if !ok || !bytes.Equal(whole, entry) {
		return nil
	}
	if len(leaves) == 0 {
		return text
	}
	short := append([]byte("["), text...)
	for _, n := range leaves {
		short = strconv.AppendInt(append(short, ','), int64(n), 10)
	}
	return append(short, ']')
}

// wholeEntry reverses shortEntry. It returns input that is not a short form unchanged.
func wholeEntry(short, desired []byte) []byte {
	open, leaves, is := parseShort(short)
	if !is {
		return short
	}
	whole, ok := follow(desired, &entryForm{open: open, isLeaf: func(n, _ int) bool {
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

// parseShort returns the parts of the short form of a schema: whether its lists are open, and its leaves. It
// returns false for anything else.
func parseShort(short []byte) (open bool, leaves []int, is bool) {
	for _, text := range [][]byte{asDesired, openLists} {
		open = bytes.Equal(text, openLists)
		if bytes.Equal(short, text) {
			return open, nil, true
		}
		if rest, with := bytes.CutPrefix(short, slices.Concat([]byte("["), text, []byte(","))); with {
			err := json.Unmarshal(append([]byte("["), rest...), &leaves)
			return open, leaves, err == nil
		}
	}
	return false, nil, false
}

// shortObserved returns the short form of an observed state, or the observed state itself if it does not
// follow from the desired state.
func shortObserved(observed, desired []byte) []byte {
	if bytes.Equal(observed, desired) {
		return asDesired
	}
	if whole, ok := follow(desired, nil); ok && bytes.Equal(whole, observed) {
		return withLengths
	}
	return observed
}

// wholeObserved reverses shortObserved. It returns input that is not a short form unchanged.
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

var leafText = []byte(`"observed"`)

// entryForm makes follow derive a schema instead of an observed state.
type entryForm struct {
	// isLeaf reports whether the nth map or list, in the order of the JSON, is a leaf of the schema. at is
	// the offset at which its JSON would begin.
	isLeaf func(n, at int) bool
	asked  int
	open   bool // lists have no maximum
}

// follow derives a schema, or an observed state if entry is nil, from JSON without spaces. ok is false for
// any other input.
func follow(desired []byte, entry *entryForm) (whole []byte, ok bool) {
	f := recordDeriver{from: desired, to: make([]byte, 0, len(desired)+len(desired)/4), entry: entry}
	ok = f.value(inRoot) && len(f.from) == 0
	return f.to, ok
}

// scope is the position of a value in the object. Fields that identify the object are copied into its
// schema.
type scope int

const (
	inRoot scope = iota
	inMetadata
	inIdentity
	elsewhere
)

func (s scope) child(name []byte) scope {
	switch {
	case s == inRoot && string(name) == `"metadata"`:
		return inMetadata
	case s == inRoot && (string(name) == `"apiVersion"` || string(name) == `"kind"`), s == inMetadata && string(name) == `"name"`:
		return inIdentity
	}
	return elsewhere
}

// recordDeriver reads the JSON of the desired state and writes the derived JSON.
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
		if f.to = append(f.to, name...); name == nil || !f.copy(':') || !f.value(at.child(name)) {
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
	most := n
	if f.entry.open {
		most = 0
	}
	f.to = strconv.AppendInt(append(f.to, `{"observer_schema_list_max_length":`...), most, 10)
	f.to = append(strconv.AppendInt(append(f.to, `,"observer_schema_list_min_length":`...), n, 10), '}')
	return f.copy(']')
}

// scalar copies a scalar. In a schema it writes a leaf instead, unless the scalar identifies the object.
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

// next returns the next byte without consuming it, or 0 at the end.
func (f *recordDeriver) next() byte {
	if len(f.from) == 0 {
		return 0
	}
	return f.from[0]
}

// copy copies the next byte if it is c, and reports whether it is.
func (f *recordDeriver) copy(c byte) bool {
	if f.next() != c {
		return false
	}
	f.from, f.to = f.from[1:], append(f.to, c)
	return true
}

// text consumes a string and returns it with its quotes. It returns nil if the next value is not a string.
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

// skip consumes a map or a list.
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
