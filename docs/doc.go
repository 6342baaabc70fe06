// Package docs has no code, only tests: they check that the documents are true, that
// what they show is what the programs print, that each condition reason is
// explained, that links lead somewhere.
package docs
