// Package mutants plants bugs, one at a time, and runs the tests that should notice.
//
// Each file of planted/ is one bug, in the form of txtar: why it would cost a user
// something, the tests that must fail, and what is replaced in which file:
//
//	A delete without the version that was decided on deletes what another client has
//	adopted meanwhile.
//	test: ./pkg/turn -run TestWhatever
//	-- pkg/turn/request.go --
//	-	remaining, err := a.target.Delete(ctx, at, change.UID, change.ResourceVersion)
//	+	remaining, err := a.target.Delete(ctx, at, change.UID, "")
//
// `make mutants` runs them all, and fails if one survives. The files of the checkout are
// not changed: the compiler is given others in their place (go test -overlay). A bug that
// no test needs to notice says so with a line "survives: " and the reason.
package mutants
