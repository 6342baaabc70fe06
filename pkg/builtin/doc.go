// Package builtin lists the built-in templates.
//
//	for _, t := range builtin.Templates() {
//		fmt.Println(t.Kind())
//	}
package builtin
