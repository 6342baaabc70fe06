// Package mutants plants bugs, one at a time, and runs the tests that should notice them.
//
// Each file in planted/ is one bug in txtar format: the effect on a user, the tests that must fail, and the
// replaced lines of each file:
//
//	A delete without the version that was decided on deletes what another client has
//	adopted meanwhile.
//	test: ./pkg/reconcile -run TestWhatever
//	-- pkg/reconcile/request.go --
//	-	remaining, err := a.target.Delete(ctx, at, change.UID, change.ResourceVersion)
//	+	remaining, err := a.target.Delete(ctx, at, change.UID, "")
//
// `make mutants` runs all of them, and fails if one survives. It does not change the files of the checkout:
// the compiler gets modified copies (go test -overlay). A bug that no test needs to notice has a line
// "survives: " with the reason.
package mutants
