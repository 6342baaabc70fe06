// Package ui tests the pages of `holdfast ui` in a real browser with a real control plane: live updates,
// keyboard use, and accessibility with axe-core. It is a separate module because the product needs no
// browser. `make test-ui` runs it.
package ui
