// Package docs has no code, only tests. They compare the output in the documents with the output of the programs, and
// check that each condition reason is explained and that each link has a target.
package docs
