package plan

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// fieldReleaser is the input and the result of the decision about the released fields of one object.
type fieldReleaser struct {
	// fieldRelease is the result. It is filled step by step.
	fieldRelease

	app *v1alpha1.Application
	// The input is policy, entry, id, kind, live, held, claimed, unrecordedLeaves and removesTracking.
	policy           claim.Policy
	entry            *observer.Schema // nil if the object is no longer in the manifests
	id               manifest.ID
	kind             *kinds.Node
	live             map[string]any
	held             []string      // leaves that are still held
	claimed          []claim.Claim // leaves that other Applications hold, or are about to
	unrecordedLeaves []string      // leaves whose baseline exceeded the size limit
	others           []claim.Claim // claims of other Applications, including keys of elements
	additions        []addition    // fields to remove, because they did not exist before the first hold
	keptPaths        []string      // paths that are not removed: left, or restored to another value
	fieldWriters
	// removesTracking is true if no field is held any more, so that the Application is removed from the
	// tracking metadata.
	removesTracking bool
}

// fieldWriters are the writers of the fields of a live object.
type fieldWriters struct {
	// writers returns an index, which is decoded at the first call. foreign is writer.ForeignTo.
	writers func() *writer.Index
	foreign func(*observer.Path) bool
}

// newFieldWriters returns the writers of the fields of a live object.
func newFieldWriters(app *v1alpha1.Application, live map[string]any) fieldWriters {
	return fieldWriters{
		writers: sync.OnceValue(func() *writer.Index { return writer.NewIndex(app, live) }),
		foreign: writer.ForeignTo(app, live),
	}
}

// addition is a field that did not exist before the first hold. root is the path of the topmost parent that
// did not exist either, or of the field itself.
type addition struct {
	at   delta.Location
	root string
}

// releaseFields decides whether the leaves of an object that have a baseline and are no longer held are
// restored. A leaf is restored if its live value is still the held value:
//
//	live value                     original value   result
//	the original value                              no change
//	the held value                 a value          the original value is written
//	absent, as held                a value          the original value is written
//	the held value                 absent           the leaf is removed. The parents that the Application
//	                                                created are removed with the last of its leaves, unless
//	                                                another client wrote in them
//	another value, or absent                        the leaf is left, and reported as not restored
//
// A baseline with a Holder is a copy from another Application. It counts when the wait for that field has ended. If
// the object shows that the holder has released the field, and the status of the holder does not yet, the copy awaits
// that status: it may be the only record of the original value.
// Source: docs/semantics.md, "Original values".
func (p releasePass) releaseFields(res fieldReleaser, baseline []v1alpha1.BaselineField) fieldRelease {
	r := &res
	r.app = p.in.Application
	r.fieldWriters = newFieldWriters(r.app, r.live)
	all := p.holdersOf(r.id, r.live)
	r.others = claim.ListWithKeys(r.app, all)
	var marks []delta.Location
	if r.removesTracking {
		r.metadata, marks = claim.WithoutApplication(r.app, r.id, r.live, all)
	}
	for _, b := range baseline {
		if slices.ContainsFunc(r.held, func(leaf string) bool { return observer.IsUnder(leaf, b.Path) }) {
			continue // the leaf, or a leaf below it, is held
		}
		i := slices.IndexFunc(r.others, func(c claim.Claim) bool { return preventsRestore(c, b.Path) })
		if b.Holder != "" && (i >= 0 || p.waitsFor(r, b, all)) {
			continue
		}
		// From here on, the leaf is released, whether its value is restored or not.
		r.baseline = append(r.baseline, b)
		// The key of an element of which another Application holds fields is left, too.
		isSharedKey := slices.ContainsFunc(r.others, func(c claim.Claim) bool { return c.Path == b.Path && observer.IsKey(b.Path) })
		switch {
		case isSharedKey, !r.restores(b.Path), p.isCopied(r, b, all):
			r.keptPaths = append(r.keptPaths, b.Path)
		case i >= 0 && !r.keepsClaims(b):
			r.keep(b.Path, "Application "+r.others[i].Holder+" holds it")
		default:
			r.judgeField(b)
		}
	}
	// After the recorded ones, and before remove, because keptPaths prevent the removal of parents.
	r.releaseUnrecorded()
	// The tracking metadata is removed like a field that did not exist before, together with an empty map around it.
	for _, at := range marks {
		r.additions = append(r.additions, addition{at, at.Path.Parent().String()})
	}
	r.remove()
	r.restored = slices.DeleteFunc(r.restored, func(d delta.Difference) bool {
		// A restore that the API server has rejected is not tried again.
		refusal := p.in.Memory.Rejections[Leaf{r.id, d.Path}]
		if refusal != nil {
			r.keep(d.Path, refusal.Problem.Message)
		}
		return refusal != nil
	})
	return r.fieldRelease
}

// preventsRestore reports whether a claim of another Application is on a path, or conflicts with it: the claim can be on
// a list, where the path is in a map. The key of an element has no holder, so a claim on it prevents nothing.
func preventsRestore(c claim.Claim, path string) bool {
	return !observer.IsKey(c.Path) && (c.Overlaps(path) || c.ConflictsWith(path, false, true))
}

// keepsClaims reports whether the restore of a value changes no field that another Application holds: these fields are
// below it, and the original value contains them with their live values.
func (r *fieldReleaser) keepsClaims(b v1alpha1.BaselineField) bool {
	before := record.Original(b)
	if !before.Set {
		return false
	}
	restored := original{object: observer.CopyMap(r.live), kind: r.kind}
	restored.put(b.Path, before.Any)
	return !slices.ContainsFunc(r.others, func(c claim.Claim) bool {
		if !preventsRestore(c, b.Path) {
			return false
		}
		now, _ := delta.Locate(r.kind, r.live, c.Path)
		then, _ := delta.Locate(r.kind, restored.object, c.Path)
		isBelow := c.Path != b.Path && observer.IsUnder(c.Path, b.Path)
		return !isBelow || !now.Value.Set || !then.Value.Equal(now.Value)
	})
}

// releaseUnrecorded leaves the released leaves whose baseline exceeded the size limit. It reports them as not
// restored if they should be. Leaves that are still held are skipped.
func (r *fieldReleaser) releaseUnrecorded() {
	for _, path := range r.unrecordedLeaves {
		if slices.ContainsFunc(r.held, func(leaf string) bool { return observer.IsUnder(leaf, path) }) {
			continue
		}
		r.unrecorded = append(r.unrecorded, path)
		if r.keptPaths = append(r.keptPaths, path); r.restores(path) {
			r.keep(path, "its original value was too large to record")
		}
	}
}

// restores reports whether the original value of a leaf is restored. The lists leave and restore of spec.fields have
// precedence over spec.onRelease.
func (r *fieldReleaser) restores(path string) bool {
	switch r.entry.Released(path) {
	case observer.ReleasedLeave:
		return false
	case observer.ReleasedRestore:
		return true
	}
	return r.policy.Restores
}

// judgeField decides whether a leaf is restored, removed or left: see the table of releaseFields.
func (r *fieldReleaser) judgeField(b v1alpha1.BaselineField) {
	before := record.Original(b)
	at, ok := delta.Locate(r.kind, r.live, b.Path)
	switch {
	// Also if both are absent.
	case at.Value.Equal(before):
	case before.Set && !at.Value.Set && record.HoldsAbsent(b):
		r.restoreRemoved(b, before)
	case !ok || !at.Value.Set:
		r.keep(b.Path, "it no longer exists")
	case !slices.Contains(b.Held, record.Digest(at.Value.Any)):
		// The report names the writer, whom only managedFields show.
		r.needsManagedFields = r.needsManagedFields || r.foreign == nil
		if !before.Set && r.isDefaulted(at) {
			return // an earlier patch of this release removed the field
		}
		writer, _ := r.writers().OfValue(at.Path)
		r.keep(b.Path, "it was changed"+quotedBy(writer.Manager)+" while it was held")
	case before.Set:
		r.restored = append(r.restored, at.Restore(before.Any))
		r.keptPaths = append(r.keptPaths, b.Path)
	case b.From == "" && isKindDefault(r.kind, at.Path, at.Value.Any):
		// The API server would set it again, so that its removal changes nothing.
	default:
		r.additions = append(r.additions, addition{at, cmp.Or(b.From, b.Path)})
		r.removeAlias(at)
	}
}

// isDefaulted reports whether the API server has set the default of a field.
func (r *fieldReleaser) isDefaulted(at delta.Location) bool {
	return r.foreign != nil && !r.foreign(at.Path) && isServerDefault(r.kind, r.live, at.Path, at.Value.Any)
}

// removeAlias removes the older name of a field that is removed. Otherwise, the API server would set the field to the
// value of the older name again.
func (r *fieldReleaser) removeAlias(field delta.Location) {
	if field.Path.Name() != "serviceAccountName" {
		return
	}
	path := field.Path.Parent().Field("serviceAccount")
	at, _ := delta.Locate(r.kind, r.live, path.String())
	isHeld := func(leaf string) bool { return claim.Overlap(leaf, path.String()) }
	isRecorded := func(b v1alpha1.BaselineField) bool { return isHeld(b.Path) }
	isClaimed := func(c claim.Claim) bool { return c.Overlaps(path.String()) }
	isUsed := slices.ContainsFunc(r.held, isHeld) || slices.ContainsFunc(r.baseline, isRecorded) || slices.ContainsFunc(r.others, isClaimed)
	if isUsed || !at.Value.Set || !at.Value.Equal(field.Value) {
		return
	}
	if r.needsManagedFields = r.needsManagedFields || r.foreign == nil; r.foreign != nil && !r.foreign(path) {
		r.additions = append(r.additions, addition{at, path.String()})
	}
}

// restoreRemoved restores a removed field, with the maps around it that are missing because they were empty
// without it. b.From is the topmost of these maps. Fields that share such a map are restored in one operation.
func (r *fieldReleaser) restoreRemoved(b v1alpha1.BaselineField, before delta.Value) {
	at, ok := delta.Locate(r.kind, r.live, b.Path)
	path, _ := observer.ParsePath(b.Path) // valid: see record.Baseline
	value := before.Any
	// Up to the topmost missing map, at most to b.From.
	for !ok && b.From != "" && path.String() != b.From {
		value = map[string]any{path.Name(): value}
		path = path.Parent()
		at, ok = delta.Locate(r.kind, r.live, path.String())
	}
	if !ok {
		r.keep(b.Path, "the object or list that contained it no longer exists")
		return
	}
	r.keptPaths = append(r.keptPaths, b.Path)
	i := slices.IndexFunc(r.restored, func(d delta.Difference) bool { return d.Path == at.Path.String() })
	if i < 0 {
		r.restored = append(r.restored, at.Restore(value))
		return
	}
	union, _ := mergeStates(nil, r.restored[i].Desired.Any, value)
	r.restored[i] = at.Restore(union)
}

// keep leaves a field that should be restored, and records why.
func (r *fieldReleaser) keep(path, why string) {
	r.kept = append(r.kept, UnrestoredField{ID: r.id, Path: path, Why: why})
	r.keptPaths = append(r.keptPaths, path)
}

// remove removes the additions. It removes a root as one value if no other client has a value in it, and
// otherwise only the Application's fields below it. It sorts r.restored for execution.
func (r *fieldReleaser) remove() {
	// The shortest roots first, because the removal of a root covers those below it.
	slices.SortStableFunc(r.additions, func(a, b addition) int { return cmp.Compare(len(a.root), len(b.root)) })
	var done []string
	for _, m := range r.additions {
		if slices.ContainsFunc(done, func(root string) bool { return observer.IsUnder(m.root, root) }) {
			continue
		}
		done = append(done, m.root)
		var ours []delta.Location
		for _, other := range r.additions {
			if observer.IsUnder(other.at.Path.String(), m.root) {
				ours = append(ours, other.at)
			}
		}
		root, ok := delta.Locate(r.kind, r.live, m.root)
		if !ok {
			continue
		}
		if r.isExclusive(root, ours) {
			r.restored = append(r.restored, root.Remove(ours))
			continue
		}
		r.removeParts(root, ours)
	}
	slices.SortStableFunc(r.restored, func(a, b delta.Difference) int { // the last elements of a list first, so that the indexes remain valid
		return cmp.Compare(sortable(b.LivePath()), sortable(a.LivePath()))
	})
}

// isExclusive reports whether a map or list that the Application created can be removed as one value: no field
// in it is held, left, or written by another client. Defaults of the API server are removed with it. The map of all
// labels, annotations or metadata is never exclusive.
func (r *fieldReleaser) isExclusive(root delta.Location, ours []delta.Location) bool {
	path := root.Path.String()
	under := func(other string) bool { return observer.IsUnder(other, path) }
	// A claim on a field that does not exist protects nothing.
	isThere := func(leaf string) bool {
		at, ok := delta.Locate(r.kind, r.live, leaf)
		return leaf != path && under(leaf) && ok && at.Value.Set
	}
	othersHold := slices.ContainsFunc(r.others, func(c claim.Claim) bool { return c.Path == "" || isThere(c.Path) })
	if claim.IsMetadataMap(path) || othersHold || slices.ContainsFunc(r.held, isThere) || slices.ContainsFunc(r.keptPaths, under) {
		return false
	}
	mine := map[string]bool{}
	for _, at := range ours {
		mine[at.Path.Pointer()] = true
	}
	return !r.isForeign(root.Path, root.Value.Any, mine)
}

// isForeign reports whether another client has written in a value, except for the locations in mine, which are JSON
// pointers. If the object has no managedFields, it returns true and sets needsManagedFields.
func (r *fieldReleaser) isForeign(path *observer.Path, value any, mine map[string]bool) bool {
	if mine[path.Pointer()] {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			if r.isForeign(path.Field(name), child, mine) {
				return true
			}
		}
		return false
	case []any:
		for k, child := range value {
			if r.isForeign(path.Element("["+fmt.Sprint(k)+"]", k), child, mine) {
				return true
			}
		}
		return false
	}
	if r.foreign == nil {
		r.needsManagedFields = true
		return true
	}
	return r.isForeignValue(r.kind, r.live, path, value)
}

// isForeignValue reports whether another client wrote the value at a path. foreign must not be nil. Several Applications
// can hold fields of an element. Each of them wrote the keys, and the API server added its defaults to the writes of
// each, so these are not foreign.
func (w fieldWriters) isForeignValue(kind *kinds.Node, live map[string]any, path *observer.Path, value any) bool {
	if !w.foreign(path) {
		return false
	}
	isAdded := observer.IsKey(path.String()) || isServerDefault(kind, live, path, value)
	return !isAdded || !w.writers().OnlyApplicationsWrote(path)
}

// removeParts removes the Application's fields below a location, with the maps and lists that would be empty
// without them. It keeps the keys of an element that is not removed.
//
// For example, the Application created the map a and wrote a.b.c and a.d, and another client wrote a.e. Then a.b, which
// would be empty, and a.d are removed.
func (r *fieldReleaser) removeParts(root delta.Location, ours []delta.Location) {
	tree := &ownedTree{path: root.Path}
	for i := range ours {
		tree.add(ours[i].Path.Chain()[len(root.Path.Chain()):], &ours[i])
	}
	r.prune(tree, root.Value.Any)
}

// prune removes the owned locations in a tree. It removes each value that would be empty without them as a whole.
func (r *fieldReleaser) prune(b *ownedTree, value any) {
	// A restored value below would be lost with its parent.
	isRefilled := slices.ContainsFunc(r.restored, func(d delta.Difference) bool { return d.Desired.Set && observer.IsUnder(d.Path, b.path.String()) })
	at, ok := delta.Locate(r.kind, r.live, b.path.String())
	isThere := ok && at.Value.Set
	if b.isAll(value) && !isRefilled || isThere && r.isExclusive(at, b.locations()) {
		if isThere && !isKindDefault(r.kind, at.Path, at.Value.Any) {
			r.restored = append(r.restored, at.Remove(b.locations()))
		}
		return
	}
	for _, child := range b.branches {
		switch value := value.(type) {
		case map[string]any:
			if child.owned != nil && b.path.IsElement() && slices.Contains(keysOf(b.path, r.live), child.path.Name()) {
				r.keep(b.path.String(), "another client has written to it")
				continue
			}
			r.prune(child, value[child.path.Name()])
		case []any:
			r.prune(child, value[child.path.Index()])
		}
	}
}

// keysOf returns the names of the key fields of a list element.
func keysOf(element *observer.Path, live map[string]any) []string {
	steps := element.Steps(live)
	_, keys := element.In(nil, []any{steps[len(steps)-1].Element})
	return keys
}

// ReleasedFields returns the fields of desired resources that a plan releases and that have a baseline. The CLI waits
// until the status has none of them: see StillHeld.
func (p *Plan) ReleasedFields() map[manifest.ID][]string {
	fields := map[manifest.ID][]string{}
	for _, res := range p.resources {
		for _, b := range res.letting.baseline {
			fields[res.object.ID] = append(fields[res.object.ID], b.Path)
		}
	}
	return fields
}

// StillHeld returns the first of these fields that still has a baseline in the status, and the message of its
// resource about why it is not released. It returns "" if there is none.
func StillHeld(app *v1alpha1.Application, fields map[manifest.ID][]string) (field, why string) {
	for _, r := range app.Status.Resources {
		id := manifest.IDFromReference(r.ResourceReference)
		for _, b := range r.Baseline {
			if slices.Contains(fields[id], b.Path) {
				return id.String() + ": " + b.Path, r.Message
			}
		}
	}
	return "", ""
}
