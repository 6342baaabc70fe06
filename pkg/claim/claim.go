package claim

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Claim is a leaf of a shared object that another Application holds, according to the object's metadata.
type Claim struct {
	// Path is the path of the leaf. An empty path claims all leaves that no other holder names.
	Path   string
	Holder string // namespace/name
}

// Overlaps reports whether a claim is at, above or below a path.
func (c Claim) Overlaps(path string) bool { return c.Path == "" || Overlap(c.Path, path) }

// Overlap reports whether two leaves are the same, or one is above the other.
func Overlap(a, b string) bool { return observer.IsUnder(a, b) || observer.IsUnder(b, a) }

// List returns the claims of other Applications on a live object, sorted, without the keys of list
// elements: several Applications may hold different fields of one element.
func List(app *v1alpha1.Application, live map[string]any) []Claim {
	return slices.DeleteFunc(ListWithKeys(app, ReadHolders(live)), func(c Claim) bool { return c.Path != "" && observer.IsKey(c.Path) })
}

// ListWithKeys returns the claims of other Applications, sorted. If there are two holders of the same
// leaf, or of the whole object, the older Application has precedence. If app is the older one, the
// claim is omitted. all are
// the holders of the object: those of ReadHolders, or the ones among them that have an effect.
func ListWithKeys(app *v1alpha1.Application, all Holders) (claims []Claim) {
	own, isHolder := all.Get(app)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		other := all[name]
		if name == HolderName(app) {
			continue
		}
		goesFirst := isHolder && own.IsOlder(other)
		// If both hold everything that no other holder names, only one of them can.
		if other.Leaves == nil && (own.Leaves != nil || !goesFirst) {
			claims = append(claims, Claim{"", name})
		}
		for _, leaf := range other.Leaves {
			if !goesFirst || !slices.Contains(own.Leaves, leaf) {
				claims = append(claims, Claim{leaf, name})
			}
		}
	}
	return claims
}

// ConflictsWith reports whether a claim of another Application prevents this one from holding a leaf.
// Several Applications may hold the key of an element, but only one may hold a leaf above it. named is true if the
// annotation lists the leaf for this Application. Then only a claim on the same leaf, or below it, prevents it. isWhole is
// true if this Application holds the leaf only with all fields below it.
func (c Claim) ConflictsWith(leaf string, named, isWhole bool) bool {
	switch {
	case c.Path == "":
		return !named && !observer.IsKey(leaf)
	case c.Path == leaf:
		return !observer.IsKey(leaf)
	case observer.IsUnder(leaf, c.Path), isIncompatible(leaf, c.Path):
		return !named
	}
	return isWhole && observer.IsUnder(c.Path, leaf)
}

// isIncompatible reports whether two leaves cannot be in one object: the path of one goes through a list
// where the path of the other goes through a map. It returns false for paths that cannot be parsed.
func isIncompatible(leaf, other string) bool {
	if !mayBranch(leaf, other) {
		return false
	}
	a, err := observer.ParsePath(leaf)
	b, problem := observer.ParsePath(other)
	if err != nil || problem != nil {
		return false
	}
	theirs := b.Chain()
	for i, step := range a.Chain() {
		switch {
		// The paths separate before their types differ, so both can exist.
		case i == len(theirs), step.IsElement() == theirs[i].IsElement() && (step.Name() != theirs[i].Name() || step.Label() != theirs[i].Label()):
			return false
		case step.IsElement() != theirs[i].IsElement():
			return true
		}
	}
	return false
}

// mayBranch reports whether an element of a list begins where the texts of two paths begin to differ. It saves parsing
// most paths. For example, it is true for args[0] and args.a, and false for args.a and args['b'].
func mayBranch(a, b string) bool {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	if i > 0 && a[i-1] == '[' {
		i--
	}
	isElement := func(path string) bool { return strings.HasPrefix(path[i:], "[") && !strings.HasPrefix(path[i:], "['") }
	return isElement(a) != isElement(b)
}

// FirstUnnamed returns the first of some Applications that a live object does not name among its holders,
// or "" if there is none.
func FirstUnnamed(applications []string, live map[string]any) string {
	all := ReadHolders(live)
	for _, name := range applications {
		if _, named := all[name]; !named {
			return name
		}
	}
	return ""
}

// OwnerWithoutClaims returns the Application that owns an object, if it is another one and has not claimed
// its fields yet; otherwise "". An owner claims its fields as soon as the object has holders.
func OwnerWithoutClaims(app *v1alpha1.Application, id manifest.ID, live map[string]any, all Holders) string {
	owner := OwnerApplication(live, id)
	if _, said := all[owner]; said || owner == HolderName(app) || app.UID == "" {
		return ""
	}
	return owner
}

// OtherHolders returns the UIDs of the other Applications that a live object names as holders of its
// fields, by namespace/name; empty if there are none. Any client can have written them.
func OtherHolders(app *v1alpha1.Application, live map[string]any) map[string]types.UID {
	others := map[string]types.UID{}
	for name, entry := range ReadHolders(live) {
		others[name] = types.UID(entry.UID)
	}
	delete(others, HolderName(app))
	return others
}

// IsInNamespaceOf reports whether a namespace/name is in the namespace of an Application. Only Applications of
// one namespace trust the original values in the status of another.
func IsInNamespaceOf(app *v1alpha1.Application, name string) bool {
	return strings.HasPrefix(name, app.Namespace+"/")
}
