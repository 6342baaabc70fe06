// Package binaries builds programs into bin/ of the checkout: the local control plane, if it is missing or
// older than its sources, and the programs of the product.
//
// The first build compiles all of Kubernetes, which takes minutes. Therefore it reports the remaining time,
// and a lock prevents concurrent builds by several test binaries.
//
// The command in the directory build does the same for the Makefile:
//
//	go run -trimpath ./internal/testcluster/binaries/build controlplane
//	go run -trimpath ./internal/testcluster/binaries/build product '-s -w'
package binaries
