// Package delta compares the desired state of a resource with the live object and returns the patch
// operations that correct the held fields.
//
// It compares one resource at a time, decides only about observed fields, and has no access to a cluster.
// Package plan decides how the result is used. The package keeps these laws, which laws_test.go checks:
//
//   - Comparing a desired state with itself finds nothing.
//   - A corrected object has no drift.
//   - A correction changes only held fields, and removes only what the Application wrote.
//   - The order of lists with keys does not matter.
//
// Its files:
//
//	compare.go, comparer.go, walk.go    the walk over schema, desired state and live object, and its types
//	lists.go, listcursor.go, claim.go   lists: which live element a desired element is
//	length.go, place.go                 lists: which elements are removed, and where elements are added
//	rule.go                             fields with rules
//	prune.go                            values that left the manifest
//	accepted.go, claimed.go             accepted forms; fields of other Applications
//	difference.go, unit.go              the result: differences, operations, guards and units
//	restore.go                          the restoration of original values
//
// For example:
//
//	c := delta.Compare(delta.Input{Entry: entry, Desired: manifest, Manifest: manifest, Live: live})
//	for _, d := range c.Differences {
//		fmt.Println(d.Path, d.Reason)
//	}
//	// Output: spec.key1 changed
package delta
