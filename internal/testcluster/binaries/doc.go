// Package binaries builds the local control plane, the programs of deploy/local, into
// bin/ of the checkout: when they are missing or older than their sources.
//
// The first build compiles all of Kubernetes, which takes minutes; so it shows
// progress, says that it happens once, and never happens twice at the same time,
// although every test binary that needs a control plane asks for it.
//
// The command in the folder build does the same for the Makefile:
//
//	go run ./internal/testcluster/binaries/build
package binaries
