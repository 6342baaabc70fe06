// Package explain presents a plan to users: the state of each field of an object, with the reason why it is corrected
// or not, and the printed form of the whole plan.
//
//	p := plan.Decide(plan.Input{Application: &app, Live: live, Kinds: intent.Offline()})
//	explained, _ := explain.Resource(p, id, false)
//	for _, f := range explained.Fields {
//		fmt.Println(f.State, f.Path+":", f.Why)
//	}
//	// Output:
//	// held data.mode: drift: the live value is not the desired value; it is corrected
//	// free data.theme: free: the observer schema does not name it, so it is never written again
//
// The package decides nothing. It repeats the comparison of the plan with the same input (plan.Inspection), so that an
// explanation cannot contradict the plan. Values of Secrets are masked, unless the caller requests them.
//
//	explain.go    Field and Explanation, and which free fields differ from the manifest
//	walk.go       visits the fields, and sorts them
//	field.go      the state of a field, and its reason; share.go its holder, and the effect of a release
//	view.go       the printed form of a plan, for `holdfast diff -o yaml` and the golden files
package explain
