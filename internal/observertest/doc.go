// Package observertest draws random manifests, schemas and live objects for the
// property tests of the engine. Only tests import it.
//
// The first letter of a field's name says what it holds, so that manifests, live
// objects and types fit together: v a scalar, m a map, l a list whose elements
// only have a position, k a list of maps with the key "name", s a set of strings.
package observertest
