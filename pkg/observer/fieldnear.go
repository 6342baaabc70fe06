package observer

import (
	"fmt"
	"regexp"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
)

// noField returns the error for a field that neither the manifest nor the kind has. It suggests a similar field. It
// looks at the fields of the same map first, and then elsewhere in the manifest.
func (c *fieldCompiler) noField(p cursor, name string) error {
	m, _ := p.value.(map[string]any)
	names := sortedKeys(m)
	for known := range p.t.Fields() {
		names = append(names, known)
	}
	for i := range names {
		names[i] = p.path.Field(names[i]).String()
	}
	missing := p.path.Field(name)
	text := fmt.Sprintf("neither the manifest nor %s %s has a field %s", c.object.APIVersion, c.object.ID.Kind, missing)
	if hint := suggest.DidYouMean(missing.String(), names); hint != "" {
		return fmt.Errorf("%s%s", text, hint)
	}
	return fmt.Errorf("%s%s", text, c.elsewhere())
}

// elsewhere suggests a path of the manifest that ends with the user's path, or a similar path.
//
//	typed          suggestion
//	replicas       spec.replicas
//	image          spec.template.spec.containers.image
//	spec.replica   spec.replicas, by similarity
//
// It walks through the whole manifest, so it is called only for a path that is an error.
func (c *fieldCompiler) elsewhere() string {
	typed := plainPath(c.rule.path.text)
	var paths []string
	seen := map[string]bool{}
	for _, leaf := range (boundNode{node: DefaultEntry(c.object).Root}).leaves(nil) {
		for _, step := range leaf.path.Chain() {
			if text := plainPath(step.String()); !seen[text] {
				seen[text] = true
				paths = append(paths, text)
			}
		}
	}
	for _, path := range paths {
		// The user has probably omitted the beginning, such as replicas for spec.replicas.
		if strings.HasSuffix(path, "."+typed) {
			return ": did you mean " + path + "?"
		}
	}
	// The field can be one that the manifest does not set, directly below spec.
	for _, root := range sortedKeys(c.object.Content) {
		for name := range c.Type.Field(root).Fields() {
			if name == typed {
				return ": did you mean " + root + "." + name + "?"
			}
		}
	}
	return suggest.DidYouMean(typed, paths)
}

// someElement matches a list element in a path, but not a key in quotes.
var someElement = regexp.MustCompile(`\[[^'\]][^\]]*\]`)

// plainPath removes the list elements from a path.
func plainPath(path string) string { return someElement.ReplaceAllString(path, "") }

// noElement returns the error for an element that the manifest's list does not have. It suggests a similar element. If
// the list has only one element, the message names it, even if it is not similar.
func noElement(list *Path, step pathStep, labels []string) error {
	hint := suggest.DidYouMean(step.String(), labels)
	if hint == "" && len(labels) == 1 {
		hint = ": it has " + labels[0]
	}
	return fmt.Errorf("%s of the manifest has no element %s%s", list, step, hint)
}
