// Package builtin lists the templates that are built in: one line for each.
//
//	for _, t := range builtin.Templates() {
//		fmt.Println(t.Kind())
//	}
package builtin
