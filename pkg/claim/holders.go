package claim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// maxHolders limits the length of the holders annotation in bytes. If it is exceeded, the longest lists of
// leaves are omitted: an Application without a list holds all leaves that no other one names.
const maxHolders = 16 * 1024

// Entry is one Application that holds leaves of a shared object, as in the annotation
// holdfast.dev/holders:
//
//	{"prod/web": {"uid": "0a1b…", "created": "2026-01-31T08:00:00Z",
//	  "leaves": ["spec.replicas"], "pending": ["spec.paused"]}}
type Entry struct {
	// UID is the UID of the Application, so that an entry does not apply to a later one of the same name.
	UID string `json:"uid"`
	// Created is when the Application was created, in RFC 3339 and UTC, so that strings compare like times.
	Created string `json:"created,omitempty"`
	// Leaves are the paths of the held leaves; null means all that no other holder names.
	Leaves []string `json:"leaves"`
	// PendingClaims are the leaves that it will hold when their current holders release them.
	PendingClaims []string `json:"pending,omitempty"`
	// raw is the JSON from which the entry was read, so that entries of other Applications are kept unchanged.
	raw []byte
}

// UnmarshalJSON reads an entry. An entry that no Application would write becomes the zero Entry.
func (h *Entry) UnmarshalJSON(raw []byte) error {
	type plain Entry
	var read plain
	err := json.Unmarshal(raw, &read)
	// One path that is not normalized makes the whole entry invalid: its leaves could not be compared.
	isOther := func(path string) bool { return !IsLeaf(path) }
	if err == nil && read.UID != "" && !slices.ContainsFunc(slices.Concat(read.Leaves, read.PendingClaims), isOther) {
		read.raw = slices.Clone(raw)
		*h = Entry(read)
	}
	return nil
}

// MarshalJSON writes an entry as it was read.
func (h Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	if h.raw != nil {
		return h.raw, nil
	}
	return manifest.EncodeJSON(plain(h)), nil
}

// Holders is the content of the annotation, by namespace/name of the Application.
type Holders map[string]Entry

// ReadHolders parses the annotation; nil if there is none, as on most objects. Any client may have written
// the annotation. Entries that no Application would write are ignored, and are dropped with the next write. An
// annotation that is not a JSON object counts as none.
func ReadHolders(live map[string]any) Holders {
	written := manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationHolders)
	if written == "" {
		return nil
	}
	var h Holders
	if json.Unmarshal([]byte(written), &h) != nil {
		return nil
	}
	maps.DeleteFunc(h, func(name string, entry Entry) bool { return entry.UID == "" || !isHolderName(name) })
	return h
}

// isHolderName reports whether a string can be the namespace/name of an Application. The API server rejects a read of
// any other name, so whether its Application exists would never be known.
func isHolderName(text string) bool {
	namespace, name, _ := strings.Cut(text, "/")
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// IsLeaf reports whether a string is the normalized path of a field.
func IsLeaf(path string) bool {
	parsed, err := observer.ParsePath(path)
	return err == nil && parsed != nil && parsed.String() == path
}

// Get returns the holder entry of an Application, if it has the Application's UID.
func (h Holders) Get(app *v1alpha1.Application) (Entry, bool) {
	own, ok := h[HolderName(app)]
	return own, ok && own.UID == string(app.UID)
}

// HolderName returns the name of an Application in the annotation.
func HolderName(app *v1alpha1.Application) string { return app.Namespace + "/" + app.Name }

// IsHolder reports whether a shared object names the Application among its holders.
func IsHolder(app *v1alpha1.Application, live map[string]any) bool {
	_, named := ReadHolders(live).Get(app)
	return named
}

// Holds reports whether an entry has leaves that its Application holds. The zero Entry has none.
func (h Entry) Holds() bool { return h.UID != "" && (h.Leaves == nil || len(h.Leaves) > 0) }

// IsHeldByOthers reports whether other Applications have claims or pending claims on an object, according to its
// annotation only.
func IsHeldByOthers(app *v1alpha1.Application, live map[string]any) bool {
	return len(OtherHolders(app, live)) > 0
}

// WithApplication returns the value of the annotation with the claims and pending claims of an Application, in place
// of its earlier ones. It does not change its arguments. Equal inputs give the same text, because the annotation is
// held like any field.
func (h Holders) WithApplication(app *v1alpha1.Application, leaves, pending []string) string {
	// Leaves is never null here: null would claim all leaves.
	own := Entry{UID: string(app.UID), Created: createdAt(app), Leaves: append([]string{}, leaves...), PendingClaims: pending}
	slices.Sort(own.Leaves)
	if h = maps.Clone(h); h == nil {
		h = Holders{}
	}
	h[HolderName(app)] = own
	value := manifest.EncodeJSON(h)
	if len(value) <= maxHolders {
		return string(value)
	}
	// The order of the names decides between equal lengths, so that all Applications shorten the same entry.
	names, lengths := slices.Sorted(maps.Keys(h)), make(map[string]int, len(h))
	for _, name := range names {
		lengths[name] = len(manifest.EncodeJSON(h[name]))
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(lengths[b], lengths[a]) })
	// An entry without a list cannot be shortened. If there are only such entries, the limit is exceeded.
	length := len(value)
	for _, name := range names {
		if length <= maxHolders {
			break
		}
		if h[name].Leaves == nil {
			continue
		}
		h[name] = Entry{UID: h[name].UID, Created: h[name].Created}
		length += len(manifest.EncodeJSON(h[name])) - lengths[name]
	}
	return string(manifest.EncodeJSON(h))
}

// createdAt returns the creation time of an Application in the format of the annotation, or "" if it has none.
func createdAt(app *v1alpha1.Application) string {
	if app.CreationTimestamp.IsZero() {
		return ""
	}
	return app.CreationTimestamp.UTC().Format(time.RFC3339)
}

// IsOlder reports whether a holder has precedence over another that claims the same leaf: it was created
// first, or, at the same time, has the smaller UID.
func (h Entry) IsOlder(other Entry) bool {
	return cmp.Or(strings.Compare(h.Created, other.Created), strings.Compare(h.UID, other.UID)) < 0
}

// WithoutApplication removes an Application from the tracking metadata of a shared object. fields is the
// change of the holders. gone lists the tracking metadata to remove, if no holder other than the owner is
// left. all lists the valid holders of the object: invalid ones are removed, too. It changes neither all nor live.
func WithoutApplication(app *v1alpha1.Application, id manifest.ID, live map[string]any, all Holders) (fields []delta.Difference, gone []delta.Location) {
	h := maps.Clone(all)
	delete(h, HolderName(app))
	changes := len(h) < len(ReadHolders(live))
	// Without sharers, an owner does not write the annotation.
	if _, says := h[OwnerApplication(live, id)]; says && len(h) == 1 {
		h = nil
	}
	for _, mark := range SharedTrackingKeys {
		at, ok := delta.Locate(nil, live, mark.Path())
		switch {
		case !ok || !at.Value.Set:
		case len(h) == 0:
			gone = append(gone, at)
		case changes && mark.Key == v1alpha1.AnnotationHolders:
			fields = append(fields, at.Restore(string(manifest.EncodeJSON(h))))
		}
	}
	return fields, gone
}

// Holder is one Application that holds fields of an object, according to the object.
type Holder struct {
	// Application is its namespace/name.
	Application string `json:"application" yaml:"application"`
	// Owns is true for the Application that owns the object; the others share it.
	Owns bool `json:"owns,omitempty" yaml:"owns,omitempty"`
	// Whole is true if the object does not name the fields that the Application holds.
	Whole bool `json:"whole,omitempty" yaml:"whole,omitempty"`
	// Fields are the paths of the fields that it holds.
	Fields []string `json:"fields,omitempty" yaml:"fields,omitempty"`
	// PendingClaims are the fields that it will hold when their current holders release them.
	PendingClaims []string `json:"waits,omitempty" yaml:"waits,omitempty"`
}

// ListHolders returns the Applications that hold fields of a live object, its owner first, and then by name. It
// returns the claims in the annotation, which may have no effect.
func ListHolders(id manifest.ID, live map[string]any) (found []Holder) {
	all, owner := ReadHolders(live), OwnerApplication(live, id)
	// Without an entry of its own, an owner holds all fields.
	if _, says := all[owner]; owner != "" && !says {
		found = append(found, Holder{Application: owner, Owns: true, Whole: true})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h := all[name]
		at := len(found)
		if name == owner {
			at = 0
		}
		found = slices.Insert(found, at, Holder{name, name == owner, h.Leaves == nil, h.Leaves, h.PendingClaims})
	}
	return found
}

// OwnerApplication returns the Application that owns a live object according to the tracking metadata, or
// "" if there is none. The tracking metadata in a copy of another object is ignored.
func OwnerApplication(live map[string]any, id manifest.ID) string {
	owner, identity, _ := strings.Cut(manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID), ":")
	if manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == "" || identity != identityOf(id) {
		return ""
	}
	return owner
}
