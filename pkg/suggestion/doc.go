// Package suggestion proposes which fields of a live object to hold: a manifest and an observer schema, made from its
// managedFields. The proposal contains the fields that users and their tools wrote, without those of controllers, and
// without defaults.
//
//	s := suggestion.For(live, nil)
//	fmt.Println(s.Manifest["spec"], s.LeftOut[0].Path)
//	// Output: map[paused:true] spec.minReadySeconds
//
// The package knows no Application, and decides nothing about one: a user reads the proposal, and may submit it.
package suggestion
