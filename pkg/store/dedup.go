package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Manifests contains the manifests of an Application's spec, as JSON. Its objects and its status repeat most of them.
// They are stored as references into the manifests, which saves memory where compression cannot.
//
// Manifests are immutable. Objects keep the Manifests that they refer to, so they can be read even after the
// Application has changed.
//
//	JSON of an object   – repetitions of its identity   – repetitions of the manifests   → compressed
//	                      (Object.identity)               (Object.beside)                  (Packed)
type Manifests struct {
	content Packed
	// length is the number of bytes of the uncompressed manifests.
	length int
}

// Limits of the manifests that objects can refer to. Shorter ones save no memory. Larger ones would be
// decompressed for each of the many objects of the Application.
const (
	minManifestsBytes = 1 << 10
	maxManifestsBytes = 256 << 10
)

// manifestsOf returns the manifests of an Application. It returns before if they are equal, and nil if they
// are outside of the limits.
func manifestsOf(u *unstructured.Unstructured, before *Manifests) *Manifests {
	spec, _ := u.Object["spec"].(map[string]any)
	text, err := json.Marshal(spec["manifest"])
	if err != nil || len(text) < minManifestsBytes || len(text) > maxManifestsBytes {
		return nil
	}
	if before != nil && before.length == len(text) && bytes.Equal(before.content.JSON(), text) {
		return before
	}
	return &Manifests{Pack(text), len(text)}
}

func isApplication(u *unstructured.Unstructured) bool {
	return u.GetKind() == v1alpha1.Kind && u.GetAPIVersion() == v1alpha1.GroupVersion.String()
}

// blockBytes is the minimum length of a repetition. If not every position is indexed, repetitions must be
// slightly longer.
const blockBytes = 16

// blockIndex maps hashes of blocks to positions plus one; 0 means none. If hashes collide, only one position is kept.
type blockIndex [1 << 14]uint32

var indexPool = sync.Pool{New: func() any { return new(blockIndex) }}

// slot returns the slot of the block at the start of a text.
func (p *blockIndex) slot(text []byte) *uint32 {
	a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
	return &p[(a*0x9e3779b97f4a7c15^b)*0xff51afd7ed558ccd>>50]
}

// removeRepeats replaces parts of a text that repeat another text by references. The result starts with a
// brace, as Pack requires, followed by pairs of a literal text with its length, and the length and position
// of a repetition. worthIt is true if most of the text was replaced. Every n-th position of the other text
// is indexed, where n is every.
func removeRepeats(text, other []byte, every int) (rest []byte, worthIt bool) {
	// An index has 64 KiB, which is too much to allocate for each object.
	index := indexPool.Get().(*blockIndex)
	defer indexPool.Put(index)
	clear(index[:])
	for i := (len(other) - blockBytes) / every * every; i >= 0 && i+blockBytes <= len(other); i -= every { // the first of equal blocks wins, because most of the text follows it
		*index.slot(other[i:]) = uint32(i + 1) //nolint:gosec // at most mostManifests
	}
	rest = []byte{'{'}
	begin, found := 0, 0
	for i := 0; i+blockBytes <= len(text); {
		at := int(*index.slot(text[i:])) - 1
		if at < 0 || !bytes.Equal(text[i:i+blockBytes], other[at:at+blockBytes]) {
			i++
			continue
		}
		end := blockBytes
		for i+end < len(text) && at+end < len(other) && text[i+end] == other[at+end] {
			end++
		}
		for i > begin && at > 0 && text[i-1] == other[at-1] {
			i, at, end = i-1, at-1, end+1
		}
		rest = appendText(rest, text[begin:i])
		rest = binary.AppendUvarint(binary.AppendUvarint(rest, uint64(end)), uint64(at)) //nolint:gosec // lengths
		i += end
		begin, found = i, found+end
	}
	return appendText(rest, text[begin:]), found >= len(text)/2
}

// appendText appends a literal text with its length.
func appendText(to, text []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// restoreRepeats reverses removeRepeats. It returns nil if the texts do not belong together.
func restoreRepeats(rest, other []byte) (text []byte) {
	length, ok := parts(rest, other, func([]byte) {})
	if !ok {
		return nil
	}
	text = make([]byte, 0, length)
	_, _ = parts(rest, other, func(part []byte) { text = append(text, part...) })
	return text
}

// parts calls a function with each part of the original text, and returns the total length. ok is false if
// the texts do not belong together.
func parts(rest, other []byte, part func([]byte)) (length int, ok bool) {
	if len(rest) == 0 {
		return 0, false
	}
	// The first byte is the brace for Pack.
	rest = rest[1:]
	for {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) { //nolint:gosec // not negative
			return 0, false
		}
		rest = rest[used:]
		part(rest[:n])
		length += int(n) //nolint:gosec // compared above
		if rest = rest[n:]; len(rest) == 0 {
			return length, true
		}
		n, used = binary.Uvarint(rest)
		at, usedAt := binary.Uvarint(rest[max(used, 0):])
		if used <= 0 || usedAt <= 0 || at > uint64(len(other)) || n > uint64(len(other))-at {
			return 0, false
		}
		part(other[at : at+n])
		length += int(n) //nolint:gosec // compared above
		rest = rest[used+usedAt:]
	}
}
