// Package slice splits Applications that are too large for one object into ApplicationSlices, and joins
// them again. It is pure. The controller and the command line store and read the slices.
//
//	stored, slices, err := slice.SplitSpec("default", "shop", spec, slice.MinListBytes)        // manifests: [{slices: [1c2f…]}]
//	app, err := slice.Join(app, func(name string) ([]byte, error) { … })
//
// The name of a slice is a digest of the name of its Application and of its data. Therefore an existing
// slice need not be compared before it is reused, two Applications never share a slice, and a slice whose
// data do not match its name is detected.
package slice
