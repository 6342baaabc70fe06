package plan

import (
	"bytes"
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

// maxHolders is how long the annotation of the holders may be. Beyond that, the longest lists of
// leaves are left out: an Application without one holds all that the others do not name.
const maxHolders = 16 * 1024

// holder is one Application that holds leaves of a shared object, as the annotation
// holdfast.dev/holders has it.
type holder struct {
	UID string `json:"uid"`
	// Created is when the Application was created.
	Created string `json:"created,omitempty"`
	// Leaves are the paths of what it holds; null stands for all that no other one names.
	Leaves []string `json:"leaves"`
	// PendingClaims are the paths that it waits for, since other Applications hold them.
	PendingClaims []string `json:"pending,omitempty"`
	// Wants is the key of PendingClaims before v0.1.0. It is read for one version.
	Wants []string `json:"wants,omitempty"`
}

// holders are those of an object, by namespace/name of the Application. What others have
// written is kept as it is.
type holders map[string]json.RawMessage

// holdersOf reads the annotation; nil if there is none, as on nearly all objects. Any client may
// have written it: what no Application writes says nothing, and is left out of the next write.
func holdersOf(live map[string]any) holders {
	written := text(live, "metadata", "annotations", v1alpha1.AnnotationHolders)
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

// entry returns what the annotation says of an Application. It is false for one that no
// Application writes.
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

// isLeaf reports whether a text is the path of a field.
func isLeaf(path string) bool {
	parsed, err := observer.ParsePath(path)
	return err == nil && parsed != nil && parsed.String() == path
}

// get is what an Application holds, if it is there, in this life of it.
func (h holders) get(app *v1alpha1.Application) (holder, bool) {
	own, ok := h.entry(holderName(app))
	return own, ok && own.UID == string(app.UID)
}

func holderName(app *v1alpha1.Application) string { return app.Namespace + "/" + app.Name }

// isNamed reports whether a shared object names the Application among its holders, holds
// whether it says that the Application holds leaves of it.
func isNamed(app *v1alpha1.Application, live map[string]any) bool {
	_, named := holdersOf(live).get(app)
	return named
}

func holds(app *v1alpha1.Application, live map[string]any) bool {
	own, named := holdersOf(live).get(app)
	return named && (own.Leaves == nil || len(own.Leaves) > 0)
}

// isHeldByOthers reports whether other Applications hold fields of an object, or want to.
func isHeldByOthers(app *v1alpha1.Application, live map[string]any) bool {
	for name := range holdersOf(live) {
		if name != holderName(app) {
			return true
		}
	}
	return false
}

// withApplication is the annotation with what an Application holds, and waits for.
func (h holders) withApplication(app *v1alpha1.Application, leaves, wants []string) string {
	own := holder{UID: string(app.UID), Created: createdAt(app), Leaves: append([]string{}, leaves...), PendingClaims: wants}
	slices.Sort(own.Leaves)
	if h == nil {
		h = holders{}
	}
	h[holderName(app)] = marshal(own)
	value := marshal(h)
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
		h[longest] = marshal(entry)
		value = marshal(h)
	}
	return string(value)
}

// createdAt is when an Application was created, as the holders have it.
func createdAt(app *v1alpha1.Application) string {
	if app.CreationTimestamp.IsZero() {
		return ""
	}
	return app.CreationTimestamp.UTC().Format(time.RFC3339)
}

// older reports whether one Application goes before another where both say that they hold a
// leaf: it was created first, or has the smaller UID.
func (h holder) older(other holder) bool {
	return cmp.Or(strings.Compare(h.Created, other.Created), strings.Compare(h.UID, other.UID)) < 0
}

// marshal writes without escaping what is no HTML.
func marshal(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // texts and lists of texts
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// sharedMarks are the marks of a shared object, as this Application has them.
func (res *resource) sharedMarks(app *v1alpha1.Application) map[string]map[string]string {
	return map[string]map[string]string{
		"labels":      {v1alpha1.LabelHeld: "true"},
		"annotations": {v1alpha1.AnnotationHolders: holdersOf(res.live).withApplication(app, res.leaves, res.pendingClaims)},
	}
}

// marked is the resource with our marks on it.
func (res *resource) marked(app *v1alpha1.Application) (*observer.Schema, map[string]any) {
	if res.policy.claims {
		if app.UID == "" || res.holdsNothing() || len(res.leaves)+len(res.pendingClaims) == 0 && res.awaitedOwner == "" && !isNamed(app, res.live) {
			return res.entry, res.desired // an older one goes first, or it is free
		}
		marks := res.sharedMarks(app)
		return res.entry.WithMetadata(marks), observer.MarkedObject(res.desired, marks)
	}
	entry, desired := withTracking(app, res.entry, res.desired)
	if app.UID == "" {
		return entry, desired
	}
	more := map[string]string{}
	if res.policy.existed {
		more[v1alpha1.AnnotationAdopted] = "true"
	}
	if isHeldByOthers(app, res.live) {
		more[v1alpha1.AnnotationHolders] = holdersOf(res.live).withApplication(app, res.leaves, res.pendingClaims)
	}
	if len(more) == 0 {
		return entry, desired
	}
	marks := map[string]map[string]string{"annotations": more}
	return entry.WithMetadata(marks), observer.MarkedObject(desired, marks)
}

// withoutApplication takes an Application off the marks of a shared object: its name out of the holders,
// and the marks with the last of them that is not the owner. gone has the marks that go.
func withoutApplication(app *v1alpha1.Application, id manifest.ID, live map[string]any) (fields []delta.Difference, gone []delta.Location) {
	h := holdersOf(live)
	_, named := h[holderName(app)]
	delete(h, holderName(app))
	if _, says := h[ownerApplication(live, id)]; says && len(h) == 1 {
		h = nil
	}
	for _, mark := range sharedMarkKeys {
		at, ok := delta.Locate(nil, live, mark.path())
		switch {
		case !ok || !at.Value.Set:
		case len(h) == 0:
			gone = append(gone, at)
		case named && mark.key == v1alpha1.AnnotationHolders:
			fields = append(fields, at.Restore(string(marshal(h))))
		}
	}
	return fields, gone
}

// isReportable reports whether a difference is worth an event. The claims on a shared object are not.
func (res *resource) isReportable(d delta.Difference) bool {
	if res.policy.claims {
		_, isShown := WithoutTracking(d)
		return isShown
	}
	return !isSharedMark(d.Path) || isMetadataMap(d.Path)
}

// WithoutTracking is a field of a shared object as people are shown it: without our marks, of which
// nothing is to be known. It is false if nothing is left.
func WithoutTracking(d delta.Difference) (delta.Difference, bool) {
	for _, mark := range sharedMarkKeys {
		switch d.Path {
		case mark.path():
			return d, false
		case "metadata." + mark.field:
			var left bool
			d.Desired, left = withoutKey(d.Desired, mark.key)
			d.Live, _ = withoutKey(d.Live, mark.key)
			if !left && !d.Live.Set {
				return d, false
			}
		}
	}
	return d, true
}

// withoutKey is a map without a key. It is not set if nothing else is in it.
func withoutKey(v delta.Value, key string) (without delta.Value, left bool) {
	m, isMap := v.Any.(map[string]any)
	if !isMap {
		return v, v.Set
	}
	m = maps.Clone(m)
	delete(m, key)
	return delta.Value{Set: len(m) > 0, Any: m}, len(m) > 0
}

// Holder is one Application that holds fields of an object, as the object says.
type Holder struct {
	// Application is its namespace/name.
	Application string `json:"application" yaml:"application"`
	// Owns is true for the one that owns the object; the others share it.
	Owns bool `json:"owns,omitempty" yaml:"owns,omitempty"`
	// Whole is true if the object does not say which fields.
	Whole bool `json:"whole,omitempty" yaml:"whole,omitempty"`
	// Fields are those that it holds.
	Fields []string `json:"fields,omitempty" yaml:"fields,omitempty"`
	// PendingClaims are the fields that it waits for: others hold them.
	PendingClaims []string `json:"waits,omitempty" yaml:"waits,omitempty"`
}

// HoldersOf are the Applications that hold fields of a live object, its owner first.
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
