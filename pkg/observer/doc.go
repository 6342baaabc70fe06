// Package observer determines which fields of a resource are held, and their desired values.
//
// A Schema is the observer schema of one resource. It is parsed from the user's schema, derived from the manifest, or
// compiled from spec.fields and HoldProfiles. The package uses it
//
//   - to compute the desired state from the manifest and learned values (Desired, Learn),
//   - to project live objects to their observed fields (Project),
//   - to match schema elements with the elements of a live list (List.Pair).
//
// The package neither compares nor writes objects: package delta does that. It has no access to a cluster. Its
// functions never change a manifest or a live object, and retain no state between calls.
//
// Values are JSON values as package manifest decodes them: maps, lists, strings, booleans, nil, int64 and float64.
// The type of a kind (*kinds.Node) can always be nil, for an unknown kind. Lists then have no keys, unless the schema
// sets them.
//
// Most functions walk a node, its type and one or two values in parallel, one level at a time. A walk pairs list
// elements with List.Pair (a desired and a live list) or List.Identities (two desired lists). Indices of elements in
// different lists are never compared directly.
//
//	entries, _ := observer.ParseAll([]map[string]any{schema})
//	desired := entries[0].Desired(nil, manifest, nil)
//	entries[0].Learn(nil, desired, manifest, live)
//	fmt.Println(desired["spec"], entries[0].Project(nil, desired, live)["spec"])
//	// Output: map[key1:one key2:two key3:three] map[key1:one key3:three]
package observer
