// Package slice splits Applications that are too large for one object into ApplicationSlices, and joins them again.
// It is pure. The controller and the command line store and read the slices.
//
//	stored, slices, err := slice.SplitSpec("default", "shop", spec, slice.MinListBytes)        // manifests: [{slices: [1c2f…]}]
//	app, err := slice.Join(app, func(name string) ([]byte, error) { … })
//
// The name of a slice is a digest of the name of its Application and of its data. Therefore an existing slice need
// not be compared before it is reused, two Applications never share a slice, and a slice whose data do not match its
// name is detected.
//
// Slices contain manifests, schemas, the record in the status, or older history, as compressed JSON. Values of
// Secrets are not moved to them. A missing slice is an error, and never an empty list: otherwise, the objects in it
// would be deleted.
package slice
