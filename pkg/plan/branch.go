package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// ownedTree is a tree of the owned locations of an object. Each node is an owned location or a parent of
// some. It answers whether a parent would be empty without the owned locations, so that the parent can be removed
// instead of its parts.
type ownedTree struct {
	path     *observer.Path
	owned    *delta.Location // nil for a parent
	branches []*ownedTree
}

// add adds a location at or below the node. chain lists the remaining path elements from the node to the location.
func (b *ownedTree) add(chain []*observer.Path, at *delta.Location) {
	if len(chain) == 0 {
		b.owned = at
		return
	}
	pointer := chain[0].Pointer()
	k := slices.IndexFunc(b.branches, func(child *ownedTree) bool { return child.path.Pointer() == pointer })
	if k < 0 {
		b.branches, k = append(b.branches, &ownedTree{path: chain[0]}), len(b.branches)
	}
	b.branches[k].add(chain[1:], at)
}

// locations returns all owned locations at and below a branch. A location below an owned one is part of it, and is
// not returned.
func (b *ownedTree) locations() (all []delta.Location) {
	if b.owned != nil {
		return []delta.Location{*b.owned}
	}
	for _, child := range b.branches {
		all = append(all, child.locations()...)
	}
	return all
}

// isAll reports whether all content of a value is owned. value is the live value at the node's path. Comparing
// only the counts is enough, because each branch exists in the live object.
func (b *ownedTree) isAll(value any) bool {
	if b.owned != nil {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		return len(value) == len(b.branches) && !slices.ContainsFunc(b.branches, func(c *ownedTree) bool { return !c.isAll(value[c.path.Name()]) })
	case []any:
		return len(value) == len(b.branches) && !slices.ContainsFunc(b.branches, func(c *ownedTree) bool { return !c.isAll(value[c.path.Index()]) })
	}
	return false
}

// emptied returns the topmost map around a field to remove that contains only fields to remove, or "" if
// there is none. It matters because API servers drop empty maps. d must be one of the unwanted differences of the
// resource that are not deferred.
func (res *resource) emptied(d delta.Difference) (root string) {
	tree := &ownedTree{}
	for _, other := range res.compared.Differences {
		if other.Reason == delta.Unwanted && !other.HeldBack {
			tree.add(other.LivePath().Chain(), &delta.Location{Path: other.LivePath()})
		}
	}
	at := any(res.live)
	for _, step := range d.LivePath().Parent().Chain() {
		k := slices.IndexFunc(tree.branches, func(b *ownedTree) bool { return b.path.Pointer() == step.Pointer() })
		switch tree = tree.branches[k]; parent := at.(type) {
		case map[string]any:
			at = parent[step.Name()]
		case []any:
			at = parent[step.Index()]
		}
		switch {
		// An element remains when it is empty, so only maps below it can disappear.
		case step.IsElement() || !tree.isAll(at):
			root = ""
		case root == "":
			root = step.String()
		}
	}
	return root
}
