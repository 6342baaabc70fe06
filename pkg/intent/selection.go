package intent

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Selection is an item of spec.select: objects of one kind, and the fields to hold of each. It is never changed.
// Objects that do not exist yet are selected when they appear, so a Selection is not limited to Live.
type Selection struct {
	// Position is the index in spec.select.
	Position int
	schema.GroupVersionKind
	// Namespaces and Names are patterns. By default, only the Application's namespace and all names match.
	Namespaces, Names []string
	// Labels is never nil; without a selector, it matches everything.
	Labels labels.Selector

	// hold is a part of an object, in which strings can have references: see resolve.
	hold map[string]any
}

// AllNamespaces reports whether a namespace pattern has a wildcard, so that all namespaces must be searched. The
// Application's ServiceAccount then needs the right to list the kind in the whole cluster.
func (s Selection) AllNamespaces() bool { return slices.ContainsFunc(s.Namespaces, isPattern) }

// isPattern reports whether a pattern can match several names.
func isPattern(text string) bool { return strings.Contains(text, "*") }

// Name returns the only name that can match, or "" if several names can. The controller then watches one object instead
// of a list.
func (s Selection) Name() string {
	if len(s.Names) == 1 && !isPattern(s.Names[0]) {
		return s.Names[0]
	}
	return ""
}

// Covers reports whether the kind, namespace and name of an object match. It does not check labels. The version has no
// effect. A cluster-scoped object has no namespace, and any namespaces of the item match it.
func (s Selection) Covers(id manifest.ID) bool {
	return id.GroupKind() == s.GroupKind() && matchesAny(s.Names, id.Name) &&
		(id.Namespace == "" || matchesAny(s.Namespaces, id.Namespace))
}

// matchesAny reports whether a string matches one of the patterns. Without patterns, any string matches.
func matchesAny(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool { return observer.MatchesPattern(pattern, text) })
}

// Selections returns the valid items of spec.select. faults lists the validation errors of the others, and of
// combinations of items. An item without namespaces gets the namespace of the Application.
func Selections(app *v1alpha1.Application) (all []Selection, faults []error) {
	for i := range app.Spec.Select {
		s, err := readSelection(i, &app.Spec.Select[i])
		if len(err) > 0 {
			faults = append(faults, err...)
			continue
		}
		if len(s.Namespaces) == 0 {
			s.Namespaces = []string{app.Namespace}
		}
		all = append(all, s)
	}
	return all, append(faults, unstableSelections(all)...)
}

// selectFault returns a validation error at a path in an item of spec.select.
func selectFault(position int, message string, path ...any) error {
	return &manifest.ValidationError{Field: manifest.Path{"spec", "select"}, Position: position, Path: path, Message: message}
}

// readSelection parses an item of spec.select. With any errors, the result must not be used. The fields that identify
// the object, and its ownership, cannot be held: they are set by manifestOf.
func readSelection(position int, item *v1alpha1.ObjectSelection) (s Selection, faults []error) {
	s = Selection{
		Position: position, GroupVersionKind: schema.FromAPIVersionAndKind(item.APIVersion, item.Kind),
		Namespaces: item.Namespaces, Names: item.Names, Labels: labels.Everything(),
	}
	fault := func(message string, path ...any) { faults = append(faults, selectFault(position, message, path...)) }
	if item.Selector != nil {
		var err error
		if s.Labels, err = metav1.LabelSelectorAsSelector(item.Selector); err != nil {
			fault("is invalid: "+err.Error(), "selector")
			return s, faults
		}
	}
	requirements, _ := s.Labels.Requirements()
	for _, r := range requirements {
		// The controller changes these labels when it holds or releases the object, and so would select it or not in
		// turn.
		if strings.HasPrefix(r.Key(), v1alpha1.GroupVersion.Group+"/") {
			fault("selects by a tracking label of Holdfast, which changes when objects are held: select by another label", "selector")
		}
	}
	hold, err := manifest.DecodeRaw(item.Hold)
	if err != nil || hold == nil {
		fault("must be a part of an object: a map of fields", "hold")
		return s, faults
	}
	s.hold = hold
	for _, at := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "annotations", v1alpha1.AnnotationOwnership}} {
		last := len(at) - 1
		if _, said := manifest.NestedMap(hold, at[:last]...)[at[last]]; !said {
			continue
		}
		path := []any{"hold"}
		for _, field := range at {
			path = append(path, field)
		}
		fault("cannot be held for selected objects: the item of spec.select selects them", path...)
	}
	for _, reference := range unknownReferences(hold) {
		fault("has $("+reference+"): values can be taken only from "+strings.Join(referable, ", ")+"; for the literal text, write $$(", "hold")
	}
	return s, faults
}

// unstableSelections returns a validation error for each held label that makes objects stop matching a selection, the
// same or another one. The objects would be released and restored, and then match again, without end. For example, an
// item selects by stage=new and holds the label stage: done.
func unstableSelections(all []Selection) (faults []error) {
	for _, s := range all {
		set := manifest.NestedMap(s.hold, "metadata", "labels")
		for _, other := range all {
			requirements, _ := other.Labels.Requirements()
			for _, r := range requirements {
				value, sets := set[r.Key()].(string)
				if !sets || other.GroupKind() != s.GroupKind() {
					continue
				}
				at := []any{"hold", "metadata", "labels", r.Key()}
				switch {
				case hasReference(value):
					faults = append(faults, selectFault(s.Position, "is a label that "+entryName(s, other)+" selects by: set the same value for all objects", at...))
				case !r.Matches(labels.Set{r.Key(): value}):
					faults = append(faults, selectFault(s.Position,
						entryName(s, other)+" selects by this label with another value: objects would stop matching when they are held, and match again after that", at...))
				}
			}
		}
	}
	return faults
}

// entryName returns the name of an item in a message about the item s. For example, spec.select[1].
func entryName(s, other Selection) string {
	if s.Position == other.Position {
		return "the same item"
	}
	return manifest.Path{"spec", "select", other.Position}.String()
}

// Selected returns the live objects that spec.select matches, each with the items that match it. It omits objects that
// the manifests name, that the Application owns, or that are being deleted. The Application itself is omitted, too. It
// never returns nil.
func Selected(in Input, entries []Selection) map[manifest.ID][]Selection {
	selected := map[manifest.ID][]Selection{}
	if len(entries) == 0 {
		return selected
	}
	app := in.Application
	// The Application itself cannot be selected.
	named := map[manifest.ID]bool{{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.Kind, Namespace: app.Namespace, Name: app.Name}: true}
	for _, item := range app.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			if id, ok := manifest.Identify(content, app.Namespace, in.Kinds); ok {
				named[id] = true
			}
		}
	}
	for id, live := range in.Live {
		owned := app.UID != "" && claim.IsTrackedBy(app, id, live)
		if named[id] || owned || manifest.NestedString(live, "metadata", "deletionTimestamp") != "" {
			continue
		}
		for _, s := range entries {
			if s.Covers(id) && s.Labels.Matches(labelsOf(live)) {
				selected[id] = append(selected[id], s)
			}
		}
	}
	return selected
}

// labelsOf returns the labels of a live object. It accepts an object without metadata.
func labelsOf(live map[string]any) labels.Set {
	has := manifest.NestedMap(live, "metadata", "labels")
	set := make(labels.Set, len(has))
	for key, value := range has {
		set[key], _ = value.(string)
	}
	return set
}

// mostObjects returns the maximum number of objects that spec.select can match: spec.maxObjects, or the default.
func mostObjects(app *v1alpha1.Application) int {
	return int(cmp.Or(app.Spec.MaxObjects, v1alpha1.DefaultMaxObjects))
}
