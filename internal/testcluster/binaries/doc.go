// Package binaries builds programs into bin/ of the checkout: the local control plane,
// when it is missing or older than its sources, and those of the product.
//
// The first build compiles all of Kubernetes, which takes minutes; so it says how long
// it will still take, and never happens twice at the same time, although every test
// binary that needs a control plane asks for it.
//
// The command in the folder build does the same for the Makefile:
//
//	go run -trimpath ./internal/testcluster/binaries/build controlplane
//	go run -trimpath ./internal/testcluster/binaries/build product '-s -w'
package binaries
