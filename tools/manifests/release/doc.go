// Release writes the files of a release to a directory. `make release` runs it.
//
//	go run ./release -version v1.2.3 -o ../../dist
//
// It builds from a commit without changes and pushes nothing. The same commit, version and Go give identical
// bytes in any directory.
package main
