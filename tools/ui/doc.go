// Package ui tests the pages of `holdfast ui` in a real browser, on a real control plane:
// that they work, live and by keys, and that axe-core finds nothing serious. It is a module
// of its own because the product needs no browser. `make test-ui` runs it.
package ui
