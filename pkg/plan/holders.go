package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// maxHolders limits the length of the holders annotation in bytes. If it is exceeded, the longest lists of
// leaves are omitted: an Application without a list holds all leaves that no other one names.
const maxHolders = 16 * 1024

// holder is one Application that holds leaves of a shared object, as in the annotation
// holdfast.dev/holders.
type holder struct {
	UID string `json:"uid"`
	// Created is when the Application was created.
	Created string `json:"created,omitempty"`
	// Leaves are the paths of the held leaves; null means all that no other holder names.
	Leaves []string `json:"leaves"`
	// PendingClaims are the leaves that it will hold when their current holders release them.
	PendingClaims []string `json:"pending,omitempty"`
	// Wants is the key of PendingClaims before v0.1.0. It is read for one version.
	Wants []string `json:"wants,omitempty"`
}

// holders is the content of the annotation, by namespace/name of the Application. Entries of other
// Applications are kept unchanged.
type holders map[string]json.RawMessage

// holdersOf parses the annotation; nil if there is none, as on most objects. Any client may have written
// the annotation. Entries that no Application would write are ignored, and are dropped with the next write.
func holdersOf(live map[string]any) holders {
	written := manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationHolders)
	if written == "" {
		return nil
	}
	var h holders
	if json.Unmarshal([]byte(written), &h) != nil {
		return nil
	}
	maps.DeleteFunc(h, func(name string, _ json.RawMessage) bool {
		_, ok := h.entry(name)
		return !ok
	})
	return h
}

// entry returns the holder entry of an Application. It returns false for an entry that no Application would
// write.
func (h holders) entry(name string) (entry holder, ok bool) {
	if json.Unmarshal(h[name], &entry) != nil || entry.UID == "" {
		return holder{}, false
	}
	if entry.PendingClaims == nil {
		entry.PendingClaims = entry.Wants
	}
	entry.Wants = nil
	for _, path := range slices.Concat(entry.Leaves, entry.PendingClaims) {
		if !isLeaf(path) {
			return holder{}, false
		}
	}
	return entry, true
}

// isLeaf reports whether a string is the normalized path of a field.
func isLeaf(path string) bool {
	parsed, err := observer.ParsePath(path)
	return err == nil && parsed != nil && parsed.String() == path
}

// get returns the holder entry of an Application, if it has the Application's UID.
func (h holders) get(app *v1alpha1.Application) (holder, bool) {
	own, ok := h.entry(holderName(app))
	return own, ok && own.UID == string(app.UID)
}

func holderName(app *v1alpha1.Application) string { return app.Namespace + "/" + app.Name }

// isNamed reports whether a shared object names the Application among its holders.
func isNamed(app *v1alpha1.Application, live map[string]any) bool {
	_, named := holdersOf(live).get(app)
	return named
}

// holds reports whether the holders annotation records leaves that the Application holds.
func holds(app *v1alpha1.Application, live map[string]any) bool {
	own, named := holdersOf(live).get(app)
	return named && (own.Leaves == nil || len(own.Leaves) > 0)
}

// isHeldByOthers reports whether other Applications have claims or pending claims on an object.
func isHeldByOthers(app *v1alpha1.Application, live map[string]any) bool {
	for name := range holdersOf(live) {
		if name != holderName(app) {
			return true
		}
	}
	return false
}

// withApplication returns the annotation with the claims and pending claims of an Application.
func (h holders) withApplication(app *v1alpha1.Application, leaves, wants []string) string {
	own := holder{UID: string(app.UID), Created: createdAt(app), Leaves: append([]string{}, leaves...), PendingClaims: wants}
	slices.Sort(own.Leaves)
	if h = maps.Clone(h); h == nil {
		h = holders{}
	}
	h[holderName(app)] = manifest.EncodeJSON(own)
	value := manifest.EncodeJSON(h)
	for len(value) > maxHolders {
		longest := ""
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if entry, _ := h.entry(name); entry.Leaves != nil && (longest == "" || len(h[name]) > len(h[longest])) {
				longest = name
			}
		}
		if longest == "" {
			break
		}
		entry, _ := h.entry(longest)
		entry.Leaves, entry.PendingClaims = nil, nil
		h[longest] = manifest.EncodeJSON(entry)
		value = manifest.EncodeJSON(h)
	}
	return string(value)
}

// createdAt returns the creation time of an Application in the format of the annotation.
func createdAt(app *v1alpha1.Application) string {
	if app.CreationTimestamp.IsZero() {
		return ""
	}
	return app.CreationTimestamp.UTC().Format(time.RFC3339)
}

// older reports whether a holder has precedence over another that claims the same leaf: it was created
// first, or, at the same time, has the smaller UID.
func (h holder) older(other holder) bool {
	return cmp.Or(strings.Compare(h.Created, other.Created), strings.Compare(h.UID, other.UID)) < 0
}

// withoutApplication removes an Application from the tracking metadata of a shared object. fields has the
// change of the holders. gone has the tracking metadata to remove, if no holder other than the owner is
// left. all has the valid holders of the object.
func withoutApplication(app *v1alpha1.Application, id manifest.ID, live map[string]any, all holders) (fields []delta.Difference, gone []delta.Location) {
	h := maps.Clone(all)
	delete(h, holderName(app))
	changes := len(h) < len(holdersOf(live))
	if _, says := h[ownerApplication(live, id)]; says && len(h) == 1 {
		h = nil
	}
	for _, mark := range sharedMarkKeys {
		at, ok := delta.Locate(nil, live, mark.path())
		switch {
		case !ok || !at.Value.Set:
		case len(h) == 0:
			gone = append(gone, at)
		case changes && mark.key == v1alpha1.AnnotationHolders:
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

// HoldersOf returns the Applications that hold fields of a live object, its owner first.
func HoldersOf(id manifest.ID, live map[string]any) (found []Holder) {
	all, owner := holdersOf(live), ownerApplication(live, id)
	if _, says := all[owner]; owner != "" && !says {
		found = append(found, Holder{Application: owner, Owns: true, Whole: true})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if h, ok := all.entry(name); ok {
			found = append(found, Holder{name, name == owner, h.Leaves == nil, h.Leaves, h.PendingClaims})
		}
	}
	slices.SortStableFunc(found, func(a, b Holder) int {
		switch {
		case a.Owns == b.Owns:
			return 0
		case a.Owns:
			return -1
		}
		return 1
	})
	return found
}

// ownerApplication returns the Application that owns a live object according to the tracking metadata, or
// "" if there is none. The tracking metadata in a copy of another object is ignored.
func ownerApplication(live map[string]any, id manifest.ID) string {
	owner, identity, _ := strings.Cut(manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID), ":")
	if manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == "" || identity != identityOf(id) {
		return ""
	}
	return owner
}
