// Package observer knows which fields of a resource are held and what their
// values are to be.
//
// An Entry is the observer schema of one resource: parsed from what the user
// wrote, or derived from the manifest. With it the package computes the desired
// state (manifest, learned values), projects live objects on what is observed,
// and tells which element of a live list an element of the schema speaks of.
//
// It neither compares nor writes: that is package delta's. It knows no cluster.
//
//	entries, _ := observer.ParseAll([]map[string]any{schema})
//	desired := entries[0].Desired(nil, manifest, nil)
//	entries[0].Learn(nil, desired, manifest, live)
//	fmt.Println(desired["spec"], entries[0].Project(nil, desired, live)["spec"])
//	// Output: map[key1:one key2:two key3:three] map[key1:one key3:three]
package observer
