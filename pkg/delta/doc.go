// Package delta compares the desired state of a resource with the live object
// and says what must be written to bring the held fields back.
//
// It looks at one resource at a time, decides about observed fields only, and
// knows no cluster: what becomes of its answer is for package plan to say.
//
//	c := delta.Compare(delta.Input{Entry: entry, Desired: manifest, Manifest: manifest, Live: live})
//	for _, d := range c.Differences {
//		fmt.Println(d.Path, d.Reason)
//	}
//	// Output: spec.key1 changed
package delta
