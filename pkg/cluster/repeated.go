package cluster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Manifests are those of one spec of an Application, as JSON. Its objects repeat them, and so
// does its status: what is packed beside them has the places where they do, and not the text
// once more. That counts where a text cannot be compressed.
//
// They are never changed. What was packed beside them keeps them, whatever becomes of the
// Application, so that nothing else is needed to read it.
type Manifests struct {
	content Packed
	length  int
}

// Shorter manifests are not worth it; those of a large Application would have to be unpacked
// for each of its many objects.
const (
	fewestManifests = 1 << 10
	mostManifests   = 256 << 10
)

// manifestsOf are those of an Application: the very ones as before, if they are equal. nil for
// none that are worth it.
func manifestsOf(u *unstructured.Unstructured, before *Manifests) *Manifests {
	spec, _ := u.Object["spec"].(map[string]any)
	text, err := json.Marshal(spec["manifest"])
	if err != nil || len(text) < fewestManifests || len(text) > mostManifests {
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

// pack packs the JSON of an object, beside manifests if it repeats them.
func (o *Object) pack(text []byte, manifests *Manifests) {
	rest, _ := without(text, o.identity(), 1)
	if manifests != nil && len(rest) >= shortest && manifests.length >= len(rest)/4 {
		if less, worthIt := without(rest, manifests.content.JSON(), block); worthIt {
			o.content, o.beside = Pack(less), manifests
			return
		}
	}
	o.content, o.beside = Pack(rest), nil
}

// Reader reads objects: those of one Application quickest one after the other.
type Reader struct {
	manifests *Manifests
	text      []byte
}

// JSON is an object without managedFields.
func (r *Reader) JSON(o *Object) []byte {
	rest := o.content.JSON()
	if o.beside != nil {
		if r.manifests != o.beside {
			r.manifests, r.text = o.beside, o.beside.content.JSON()
		}
		rest = with(rest, r.text)
	}
	return with(rest, o.identity())
}

// Content decodes an object; the caller owns the result.
func (r *Reader) Content(o *Object) map[string]any {
	content, err := manifest.DecodeJSON(r.JSON(o))
	if err != nil {
		return nil // it was encoded by us
	}
	return content
}

// block is how long a text is at least that is found in another one: somewhat more where not
// every byte is looked up.
const block = 16

// blockIndex finds blocks of a text. Of two with the same hash one is forgotten.
type blockIndex [1 << 14]uint32

var indexPool = sync.Pool{New: func() any { return new(blockIndex) }}

// at is the entry of the block that a text begins with.
func (p *blockIndex) at(text []byte) *uint32 {
	a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
	return &p[(a*0x9e3779b97f4a7c15^b)*0xff51afd7ed558ccd>>50]
}

// without is a text without what is found in another one, and how to put it together again:
// a brace, as the beginning of all that is packed, and then in turns a text with its length
// before it, and the length and the place of what is found. It is worth it if most of the text
// is found. Every so many bytes of the other one are looked up.
func without(text, other []byte, every int) (rest []byte, worthIt bool) {
	index := indexPool.Get().(*blockIndex)
	defer indexPool.Put(index)
	clear(index[:])
	for i := (len(other) - block) / every * every; i >= 0 && i+block <= len(other); i -= every { // the first of equal blocks is found: most follows it
		*index.at(other[i:]) = uint32(i + 1) //nolint:gosec // at most mostManifests
	}
	rest = []byte{'{'}
	begin, found := 0, 0
	for i := 0; i+block <= len(text); {
		at := int(*index.at(text[i:])) - 1
		if at < 0 || !bytes.Equal(text[i:i+block], other[at:at+block]) {
			i++
			continue
		}
		end := block
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

func appendText(to, text []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// with puts a text together again; nil if the two do not belong together.
func with(rest, other []byte) (text []byte) {
	length, ok := parts(rest, other, func([]byte) {})
	if !ok {
		return nil
	}
	text = make([]byte, 0, length)
	_, _ = parts(rest, other, func(part []byte) { text = append(text, part...) })
	return text
}

// parts calls a function with what a text is put together from, and returns how long that is
// in all. It is not ok if the two do not belong together.
func parts(rest, other []byte, part func([]byte)) (length int, ok bool) {
	if len(rest) == 0 {
		return 0, false
	}
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
