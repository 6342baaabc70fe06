// Package delta compares the desired state of a resource with the live object and returns the patch
// operations that correct the held fields.
//
// It compares one resource at a time, decides only about observed fields, and has no access to a cluster.
// Package plan decides how the result is used. It keeps these laws, which laws_test.go checks:
//
//   - Comparing a desired state with itself finds nothing.
//   - A corrected object has no drift.
//   - A correction changes only held fields, and removes only what the Application wrote.
//   - The order of lists with keys does not matter.
//
// compare.go walks the schema (comparer.go has the types, walk.go missing and free values), lists.go, listcursor.go,
// length.go, place.go and claim.go compare lists, rule.go fields with rules, prune.go removes values that left the
// manifest, accepted.go finds accepted forms, claimed.go fields of other Applications. difference.go and unit.go have
// the result, restore.go the differences that restore original values.
//
//	c := delta.Compare(delta.Input{Entry: entry, Desired: manifest, Manifest: manifest, Live: live})
//	for _, d := range c.Differences {
//		fmt.Println(d.Path, d.Reason)
//	}
//	// Output: spec.key1 changed
package delta
