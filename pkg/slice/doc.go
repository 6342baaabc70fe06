// Package slice cuts what is too large for one object into ApplicationSlices, and puts
// it together again. It is values in, values out: who stores and reads slices is
// elsewhere (package turn for the controller, the command line for a user).
//
//	stored, slices, err := slice.CutSpec("default", "shop", spec, slice.FewBytes)        // manifests: [{slices: [1c2f…]}]
//	app, err := slice.Join(app, func(name string) ([]byte, error) { … })
//
// A slice is named by a digest of its Application's name and its data. So a slice that
// is there under its name need not be compared with anything, two Applications never
// share one, and one with other data than its name says is found out.
package slice
