// Package delta compares the desired state of a resource with the live object and returns the patch
// operations that correct the held fields.
//
// It compares one resource at a time, decides only about observed fields, and has no access to a cluster.
// Package plan decides how the result is used.
//
//	c := delta.Compare(delta.Input{Entry: entry, Desired: manifest, Manifest: manifest, Live: live})
//	for _, d := range c.Differences {
//		fmt.Println(d.Path, d.Reason)
//	}
//	// Output: spec.key1 changed
package delta
