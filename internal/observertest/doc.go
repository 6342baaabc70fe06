// Package observertest draws random manifests, schemas and live objects for the property tests of the
// engine. Only tests import it.
//
// The first letter of a field name determines its type, so that manifests, live objects and types match: v
// is a scalar, m a map, l a list whose elements have only an index, k a list of maps with the key "name", s
// a set of strings.
package observertest
