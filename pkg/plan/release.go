package plan

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// fieldReleaser finds out what becomes of the fields of one object.
type fieldReleaser struct {
	fieldRelease

	app              *v1alpha1.Application
	policy           policy
	entry            *observer.Schema // nil if the object is not among the manifests any more
	id               manifest.ID
	kind             *kinds.Node
	live             map[string]any
	held             []string   // leaves that are still held
	unrecordedLeaves []string   // leaves of which there was no room to record what they were
	others           []claim    // and those that other Applications hold, keys of elements among them
	additions        []addition // what was not there before us, and goes
	keptPaths        []string   // paths that stay, or have another value from before
	// removesTracking is true if nothing is held any more, and our name goes.
	removesTracking bool
}

// addition is what was not there before us. root is the path of the first above it that was
// not there either.
type addition struct {
	at   delta.Location
	root string
}

// releaseFields says what becomes of the leaves of an object that are on record and not held
// any more. One is restored if its live value is still ours:
//
//	live value                     before us    then
//	as before us                                nothing is to be done
//	the one that we hold           a value      it is written back
//	the one that we hold           absent       it is removed, and what we made around it with
//	                                            the last of ours, if nobody else wrote in it
//	another one, or none                        it stays, and that is told
func (p *Plan) releaseFields(res fieldReleaser, baseline []v1alpha1.BaselineField) fieldRelease {
	r := &res
	r.app = p.in.Application
	r.others = claimsAndKeysOf(r.app, r.live)
	var marks []delta.Location
	if r.removesTracking {
		r.metadata, marks = withoutApplication(r.app, r.id, r.live)
	}
	for _, b := range baseline {
		if slices.ContainsFunc(r.held, func(leaf string) bool { return observer.IsUnder(leaf, b.Path) }) {
			continue // it is held, or something in it is
		}
		r.baseline = append(r.baseline, b)
		i := slices.IndexFunc(r.others, func(c claim) bool { return !observer.IsKey(c.path) && c.overlaps(b.Path) })
		switch {
		case slices.ContainsFunc(r.others, func(c claim) bool { return c.path == b.Path && observer.IsKey(b.Path) }):
			r.keptPaths = append(r.keptPaths, b.Path) // the key of an element that another one holds fields of
		case !r.restores(b.Path):
			r.keptPaths = append(r.keptPaths, b.Path)
		case i >= 0:
			r.keep(b.Path, "Application "+r.others[i].holder+" holds it")
		default:
			r.judgeField(b)
		}
	}
	r.releaseUnrecorded()
	for _, at := range marks {
		r.additions = append(r.additions, addition{at, at.Path.Parent().String()})
	}
	r.remove()
	r.restored = slices.DeleteFunc(r.restored, func(d delta.Difference) bool {
		refusal := p.in.Memory.Rejections[Leaf{r.id, d.Path}]
		if refusal != nil {
			r.keep(d.Path, refusal.Problem.Message)
		}
		return refusal != nil
	})
	return r.fieldRelease
}

// releaseUnrecorded says of the leaves that are let go and of which nothing is on record, for want
// of room, that they stay.
func (r *fieldReleaser) releaseUnrecorded() {
	for _, path := range r.unrecordedLeaves {
		if slices.ContainsFunc(r.held, func(leaf string) bool { return observer.IsUnder(leaf, path) }) {
			continue
		}
		r.unrecorded = append(r.unrecorded, path)
		if r.keptPaths = append(r.keptPaths, path); r.restores(path) {
			r.keep(path, "there was no room to record what it was before")
		}
	}
}

// restores reports whether a leaf gets back what it had: what its entry says of it prevails
// over spec.onRelease.
func (r *fieldReleaser) restores(path string) bool {
	switch r.entry.Released(path) {
	case observer.ReleasedLeave:
		return false
	case observer.ReleasedRestore:
		return true
	}
	return r.policy.restores
}

// judgeField decides about one leaf.
func (r *fieldReleaser) judgeField(b v1alpha1.BaselineField) {
	before := baselineValue(b)
	at, ok := delta.Locate(r.kind, r.live, b.Path)
	switch {
	case at.Value.Equal(before):
	case before.Set && !at.Value.Set && holdsAbsent(b):
		r.restoreRemoved(b, before)
	case !ok || !at.Value.Set:
		r.keep(b.Path, "it is not there any more")
	case !slices.Contains(b.Held, digest(at.Value.Any)):
		r.needsManagedFields = r.needsManagedFields || foreignTo(r.app, r.live) == nil
		writer, _ := (&writerIndex{app: r.app, live: r.live, entries: managersOf(r.live)}).managerOfValue(at.Path)
		r.keep(b.Path, "it was changed"+bySuffix(writer.Manager)+" while it was held")
	case before.Set:
		r.restored = append(r.restored, at.Restore(before.Any))
		r.keptPaths = append(r.keptPaths, b.Path)
	default:
		r.additions = append(r.additions, addition{at, cmp.Or(b.From, b.Path)})
	}
}

// restoreRemoved gives a field back that was removed, with the maps around it that were empty
// without it.
func (r *fieldReleaser) restoreRemoved(b v1alpha1.BaselineField, before delta.Value) {
	at, ok := delta.Locate(r.kind, r.live, b.Path)
	if ok {
		r.restored = append(r.restored, at.Restore(before.Any))
		r.keptPaths = append(r.keptPaths, b.Path)
		return
	}
	path, err := observer.ParsePath(b.Path)
	if b.From == "" || err != nil {
		r.keep(b.Path, "what it was in is not there any more")
		return
	}
	value := before.Any
	for !ok && path.String() != b.From {
		value = map[string]any{path.Name(): value}
		path = path.Parent()
		at, ok = delta.Locate(r.kind, r.live, path.String())
	}
	if !ok {
		r.keep(b.Path, "what it was in is not there any more")
		return
	}
	r.keptPaths = append(r.keptPaths, b.Path)
	i := slices.IndexFunc(r.restored, func(d delta.Difference) bool { return d.Path == at.Path.String() })
	if i < 0 {
		r.restored = append(r.restored, at.Restore(value))
		return
	}
	r.restored[i] = at.Restore(merged(r.restored[i].Desired.Any, value))
}

func (r *fieldReleaser) keep(path, why string) {
	r.kept = append(r.kept, Unrestored{r.id, path, why})
	r.keptPaths = append(r.keptPaths, path)
}

// remove takes away what was not there before us: the topmost places that we made, whole,
// where nobody else has anything in them; and else what of them is ours.
func (r *fieldReleaser) remove() {
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
	slices.SortStableFunc(r.restored, func(a, b delta.Difference) int { // the last elements of a list first: indices stay valid
		return cmp.Compare(sortable(b.LivePath()), sortable(a.LivePath()))
	})
}

// isExclusive reports whether a place that we made can go whole: nothing in it is held, or
// stays, or was written by another client. What the API server has filled in goes with it.
func (r *fieldReleaser) isExclusive(root delta.Location, ours []delta.Location) bool {
	path := root.Path.String()
	under := func(other string) bool { return observer.IsUnder(other, path) }
	isThere := func(leaf string) bool {
		at, ok := delta.Locate(r.kind, r.live, leaf)
		return leaf != path && under(leaf) && ok && at.Value.Set
	}
	othersHold := slices.ContainsFunc(r.others, func(c claim) bool { return c.path == "" || isThere(c.path) })
	if isMetadataMap(path) || othersHold || slices.ContainsFunc(r.held, isThere) || slices.ContainsFunc(r.keptPaths, under) {
		return false
	}
	mine := map[string]bool{}
	for _, at := range ours {
		mine[at.Path.Pointer()] = true
	}
	return !r.isForeign(root.Path, root.Value.Any, mine)
}

// isForeign reports whether another client has written in a value, beside what is ours. Of
// what nobody is known to have written it is taken to be so.
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
	foreign := foreignTo(r.app, r.live)
	if foreign == nil {
		r.needsManagedFields = true
		return true
	}
	return foreign(path) && (!observer.IsKey(path.String()) || !onlyApplicationsWrote(r.live, path))
}

// removeParts removes what is ours below a place, with the maps and lists that would be
// empty without it. The keys of an element that stays, stay.
func (r *fieldReleaser) removeParts(root delta.Location, ours []delta.Location) {
	tree := &ownedTree{path: root.Path}
	for i := range ours {
		tree.add(ours[i].Path.Chain()[len(root.Path.Chain()):], &ours[i])
	}
	r.prune(tree, root.Value.Any)
}

func (r *fieldReleaser) prune(b *ownedTree, value any) {
	isRefilled := slices.ContainsFunc(r.restored, func(d delta.Difference) bool { return d.Desired.Set && observer.IsUnder(d.Path, b.path.String()) })
	at, ok := delta.Locate(r.kind, r.live, b.path.String())
	isThere := ok && at.Value.Set
	if b.isAll(value) && !isRefilled || isThere && r.isExclusive(at, b.locations()) {
		if isThere {
			r.restored = append(r.restored, at.Remove(b.locations()))
		}
		return
	}
	for _, child := range b.branches {
		switch value := value.(type) {
		case map[string]any:
			if child.owned != nil && b.path.IsElement() && slices.Contains(keysOf(b.path, r.live), child.path.Name()) {
				r.keep(b.path.String(), "another client has written in it")
				continue
			}
			r.prune(child, value[child.path.Name()])
		case []any:
			r.prune(child, value[child.path.Index()])
		}
	}
}

// keysOf are the fields by which an element is known.
func keysOf(element *observer.Path, live map[string]any) []string {
	steps := element.Steps(live)
	_, keys := element.In(nil, []any{steps[len(steps)-1].Element})
	return keys
}

// restoresRemovedFields reports whether fields that leave the manifest get back their original values,
// and are not removed for that: the object existed before the Application.
func (p *Plan) restoresRemovedFields(res *resource) bool {
	return res.policy.existed && p.recordsBaselines(res)
}

// releasesFields reports whether fields are released that get back their original values.
func (p *Plan) releasesFields(res *resource) bool {
	if !p.restoresRemovedFields(res) {
		return false
	}
	held, _ := res.previousLeaves()
	now := slices.Concat(res.entry.Leaves(res.kind, res.desired), res.entry.Empty(res.kind, res.desired))
	return slices.ContainsFunc(held, func(leaf string) bool { return !slices.Contains(now, leaf) })
}

// releasedPointers returns the JSON pointers of the released fields of an owned object: they get back
// their original values, and nothing else is done about them.
func (res *resource) releasedPointers(live map[string]any) (pointers []string) {
	if !res.policy.removes {
		return nil
	}
	for _, b := range res.letting.baseline {
		if at, ok := delta.Locate(res.kind, live, b.Path); ok {
			pointers = append(pointers, at.Path.Pointer())
		}
	}
	return pointers
}

// release decides what becomes of the fields that are on record and no longer held. If that waits for
// the next patch, it stays on record.
func (p *Plan) release(res *resource, waits bool) []delta.Difference {
	id, status := res.object.ID, p.statuses[res.object.ID]
	was, lost := recordedBaseline(status, res.live), unrecordedPaths(status, res.live)
	if !p.recordsBaselines(res) && len(was)+len(lost) == 0 {
		return nil
	}
	if !res.policy.claims {
		if !isHeldByOthers(p.in.Application, res.live) {
			res.leaves = res.entry.Leaves(res.kind, res.desired)
		}
		res.empty = res.entry.Empty(res.kind, res.desired)
	}
	if res.isFirstAdoption() && !p.wasShared(res) {
		return nil // there is nothing to release
	}
	letting := p.releaseFields(fieldReleaser{
		policy: res.policy, removesTracking: res.policy.claims && res.holdsNothing(),
		entry: res.entry, id: id, kind: res.kind, live: res.live, held: res.heldPaths(), unrecordedLeaves: lost,
	}, was)
	if waits {
		res.releasesNext = letting.baseline
		return nil
	}
	res.letting = letting
	for _, stays := range letting.kept {
		res.warnings = append(res.warnings, stays.String())
	}
	return slices.Concat(letting.restored, letting.metadata)
}

// holdsNothing reports whether nothing of a shared object is to be held: all of it is free.
func (res *resource) holdsNothing() bool { return len(res.leaves)+len(res.claimed) == 0 }

// keepParentBaseline hands on, of a leaf that is let go, the topmost place that we made for it, to what
// is still held in there: it goes with the last of them. A leaf that is left as it is keeps
// the place that it is in.
func (res *resource) keepParentBaseline(left v1alpha1.BaselineField, stays bool) {
	root := left.From
	for i, b := range res.baseline {
		if stays && b.Value == nil && b.From != "" && observer.IsUnder(left.Path, b.From) {
			res.baseline[i].From = ""
		}
	}
	if stays {
		return
	}
	if left.Value != nil || root == "" {
		return
	}
	for i, b := range res.baseline {
		if b.Value == nil && b.Path != root && observer.IsUnder(b.Path, root) && len(cmp.Or(b.From, b.Path)) > len(root) {
			res.baseline[i].From = root
		}
	}
}

// Unrestored is a released field that keeps its live value although it should get back its original
// one.
type Unrestored struct {
	ID        manifest.ID
	Path, Why string
}

func (u Unrestored) String() string { return "not restored: " + u.about() }

func (u Unrestored) about() string { return fmt.Sprintf("%s of %s: %s", u.Path, u.ID, u.Why) }

// ReleasedFields returns the fields of desired resources that a plan releases and whose original values
// are on record.
func (p *Plan) ReleasedFields() map[manifest.ID][]string {
	fields := map[manifest.ID][]string{}
	for _, res := range p.resources {
		for _, b := range res.letting.baseline {
			fields[res.object.ID] = append(fields[res.object.ID], b.Path)
		}
	}
	return fields
}

// StillHeld returns the first of these fields that is still on record, and why its resource has not
// released it; empty if there is none.
func StillHeld(app *v1alpha1.Application, fields map[manifest.ID][]string) (field, why string) {
	for _, r := range app.Status.Resources {
		id := IDOf(r.ResourceReference)
		for _, b := range r.Baseline {
			if slices.Contains(fields[id], b.Path) {
				return id.String() + ": " + b.Path, r.Message
			}
		}
	}
	return "", ""
}
