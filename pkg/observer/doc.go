// Package observer determines which fields of a resource are held, and their desired values.
//
// A Schema is the observer schema of one resource. It is parsed from the user's schema, or derived from the
// manifest. With it, the package computes the desired state from the manifest and learned values, projects
// live objects to their observed fields, and matches schema elements with the elements of a live list.
//
// The package neither compares nor writes objects: package delta does that. It has no access to a cluster.
//
//	entries, _ := observer.ParseAll([]map[string]any{schema})
//	desired := entries[0].Desired(nil, manifest, nil)
//	entries[0].Learn(nil, desired, manifest, live)
//	fmt.Println(desired["spec"], entries[0].Project(nil, desired, live)["spec"])
//	// Output: map[key1:one key2:two key3:three] map[key1:one key3:three]
package observer
