package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// releaser finds out what becomes of the fields of one object.
type releaser struct {
	letting

	app    *v1alpha1.Application
	shared bool
	entry  *observer.Entry // nil if the object is not among the manifests any more
	id     manifest.ID
	kind   *kinds.Node
	live   map[string]any
	held   []string   // leaves that are still held
	lost   []string   // leaves of which there was no room to record what they were
	others []claim    // and those that other Applications hold, keys of elements among them
	gone   []addition // what was not there before us, and goes
	fixed  []string   // paths that stay, or have another value from before
	// unmarks is true if nothing is held any more, and our name goes.
	unmarks bool
}

// addition is what was not there before us. root is the path of the first above it that was
// not there either.
type addition struct {
	at   delta.Location
	root string
}

// letGo says what becomes of the leaves of an object that are on record and not held
// any more. One is restored if its live value is still ours:
//
//	live value                     before us    then
//	as before us                                nothing is to be done
//	the one that we hold           a value      it is written back
//	the one that we hold           absent       it is removed, and what we made around it with
//	                                            the last of ours, if nobody else wrote in it
//	another one, or none                        it stays, and that is told
func (p *Plan) letGo(res releaser, baseline []v1alpha1.BaselineField) letting {
	r := &res
	r.app = p.in.Application
	r.others = claimsAndKeysOf(r.app, r.live)
	var marks []delta.Location
	if r.unmarks {
		r.marks, marks = unheld(r.app, r.id, r.live)
	}
	for _, b := range baseline {
		if slices.ContainsFunc(r.held, func(leaf string) bool { return observer.Under(leaf, b.Path) }) {
			continue // it is held, or something in it is
		}
		r.was = append(r.was, b)
		i := slices.IndexFunc(r.others, func(c claim) bool { return !observer.IsKey(c.path) && c.on(b.Path) })
		switch {
		case !r.restores(b.Path):
			r.fixed = append(r.fixed, b.Path)
		case i >= 0:
			r.stay(b.Path, "Application "+r.others[i].by+" holds it")
		default:
			r.judgeField(b)
		}
	}
	r.letGoUnrecorded()
	for _, at := range marks {
		r.gone = append(r.gone, addition{at, at.Path.Parent().String()})
	}
	r.remove()
	r.fields = slices.DeleteFunc(r.fields, func(d delta.Difference) bool {
		refusal := p.in.Memory.Refusals[Leaf{r.id, d.Path}]
		if refusal != nil {
			r.stay(d.Path, refusal.Problem.Message)
		}
		return refusal != nil
	})
	return r.letting
}

// letGoUnrecorded says of the leaves that are let go and of which nothing is on record, for want
// of room, that they stay.
func (r *releaser) letGoUnrecorded() {
	for _, path := range r.lost {
		if slices.ContainsFunc(r.held, func(leaf string) bool { return observer.Under(leaf, path) }) {
			continue
		}
		r.unrecorded = append(r.unrecorded, path)
		if r.fixed = append(r.fixed, path); r.restores(path) {
			r.stay(path, "there was no room to record what it was before")
		}
	}
}

// restores reports whether a leaf gets back what it had: what its entry says of it prevails
// over spec.onRelease.
func (r *releaser) restores(path string) bool {
	switch r.entry.Released(path) {
	case observer.ReleasedLeave:
		return false
	case observer.ReleasedRestore:
		return true
	}
	return restores(r.app, r.shared)
}

// judgeField decides about one leaf.
func (r *releaser) judgeField(b v1alpha1.BaselineField) {
	before := valueBefore(b)
	at, ok := delta.Locate(r.kind, r.live, b.Path)
	switch {
	case at.Value.Equal(before):
	case before.Set && !at.Value.Set && holdsAbsent(b):
		r.bringBack(b, before)
	case !ok || !at.Value.Set:
		r.stay(b.Path, "it is not there any more")
	case !slices.Contains(b.Held, digest(at.Value.Any)):
		r.unsure = r.unsure || foreignTo(r.app, r.live) == nil
		writer, _ := (&authors{app: r.app, live: r.live, entries: managersOf(r.live)}).owner(at.Path)
		r.stay(b.Path, "it was changed"+by(writer.Manager)+" while it was held")
	case before.Set:
		r.fields = append(r.fields, at.Restore(before.Any))
		r.fixed = append(r.fixed, b.Path)
	default:
		r.gone = append(r.gone, addition{at, cmp.Or(b.From, b.Path)})
	}
}

// bringBack gives a field back that was removed, with the maps around it that were empty
// without it.
func (r *releaser) bringBack(b v1alpha1.BaselineField, before delta.Value) {
	at, ok := delta.Locate(r.kind, r.live, b.Path)
	if ok {
		r.fields = append(r.fields, at.Restore(before.Any))
		r.fixed = append(r.fixed, b.Path)
		return
	}
	path, err := observer.ParsePath(b.Path)
	if b.From == "" || err != nil {
		r.stay(b.Path, "what it was in is not there any more")
		return
	}
	value := before.Any
	for !ok && path.String() != b.From {
		value = map[string]any{path.Name(): value}
		path = path.Parent()
		at, ok = delta.Locate(r.kind, r.live, path.String())
	}
	if !ok {
		r.stay(b.Path, "what it was in is not there any more")
		return
	}
	r.fixed = append(r.fixed, b.Path)
	i := slices.IndexFunc(r.fields, func(d delta.Difference) bool { return d.Path == at.Path.String() })
	if i < 0 {
		r.fields = append(r.fields, at.Restore(value))
		return
	}
	r.fields[i] = at.Restore(merged(r.fields[i].Desired.Any, value))
}

// merged is a value with what another one has beside it.
func merged(a, b any) any {
	into, isMap := a.(map[string]any)
	from, areMaps := b.(map[string]any)
	if !isMap || !areMaps {
		return b
	}
	for name, value := range from {
		if into[name] == nil {
			into[name] = value
			continue
		}
		into[name] = merged(into[name], value)
	}
	return into
}

func (r *releaser) stay(path, why string) {
	r.stays = append(r.stays, Unrestored{r.id, path, why})
	r.fixed = append(r.fixed, path)
}

// remove takes away what was not there before us: the topmost places that we made, whole,
// where nobody else has anything in them; and else what of them is ours.
func (r *releaser) remove() {
	slices.SortStableFunc(r.gone, func(a, b addition) int { return cmp.Compare(len(a.root), len(b.root)) })
	var done []string
	for _, m := range r.gone {
		if slices.ContainsFunc(done, func(root string) bool { return observer.Under(m.root, root) }) {
			continue
		}
		done = append(done, m.root)
		var ours []delta.Location
		for _, other := range r.gone {
			if observer.Under(other.at.Path.String(), m.root) {
				ours = append(ours, other.at)
			}
		}
		root, ok := delta.Locate(r.kind, r.live, m.root)
		if !ok {
			continue
		}
		if r.isOursAlone(root, ours) {
			r.fields = append(r.fields, root.Remove(ours))
			continue
		}
		r.removeParts(root, ours)
	}
	slices.SortStableFunc(r.fields, func(a, b delta.Difference) int { // the last elements of a list first: indices stay valid
		return cmp.Compare(sortable(b.LivePath()), sortable(a.LivePath()))
	})
}

// sortable is a path as text in which later elements come later.
func sortable(path *observer.Path) string {
	var b strings.Builder
	for _, step := range path.Chain() {
		if step.IsElement() {
			fmt.Fprintf(&b, "/%09d", step.Index())
			continue
		}
		b.WriteString("/" + step.Name())
	}
	return b.String()
}

// isOursAlone reports whether a place that we made can go whole: nothing in it is held, or
// stays, or was written by another client. What the API server has filled in goes with it.
func (r *releaser) isOursAlone(root delta.Location, ours []delta.Location) bool {
	path := root.Path.String()
	under := func(other string) bool { return observer.Under(other, path) }
	isThere := func(leaf string) bool {
		at, ok := delta.Locate(r.kind, r.live, leaf)
		return leaf != path && under(leaf) && ok && at.Value.Set
	}
	othersHold := slices.ContainsFunc(r.others, func(c claim) bool { return c.path == "" || isThere(c.path) })
	if isMetadataMap(path) || othersHold || slices.ContainsFunc(r.held, isThere) || slices.ContainsFunc(r.fixed, under) {
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
func (r *releaser) isForeign(path *observer.Path, value any, mine map[string]bool) bool {
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
		r.unsure = true
		return true
	}
	return foreign(path)
}

// removeParts removes what is ours below a place, with the maps and lists that would be
// empty without it. The keys of an element that stays, stay.
func (r *releaser) removeParts(root delta.Location, ours []delta.Location) {
	tree := &branch{path: root.Path}
	for i := range ours {
		tree.add(ours[i].Path.Chain()[len(root.Path.Chain()):], &ours[i])
	}
	r.prune(tree, root.Value.Any)
}

func (r *releaser) prune(b *branch, value any) {
	isRefilled := slices.ContainsFunc(r.fields, func(d delta.Difference) bool { return d.Desired.Set && observer.Under(d.Path, b.path.String()) })
	at, ok := delta.Locate(r.kind, r.live, b.path.String())
	isThere := ok && at.Value.Set
	if b.isAll(value) && !isRefilled || isThere && r.isOursAlone(at, b.locations()) {
		if isThere {
			r.fields = append(r.fields, at.Remove(b.locations()))
		}
		return
	}
	for _, child := range b.branches {
		switch value := value.(type) {
		case map[string]any:
			if child.ours != nil && b.path.IsElement() && slices.Contains(keysOf(b.path, r.live), child.path.Name()) {
				r.stay(b.path.String(), "another client has written in it")
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
