package builtin

import (
	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/template"
)

// Templates returns the templates that the controller and the command line support.
func Templates() []template.Template {
	return []template.Template{
		mysql.Template{},
	}
}

// Kinds returns the custom kinds of the templates.
func Kinds() (kinds []template.Kind) {
	for _, one := range Templates() {
		kinds = append(kinds, one.Kind())
	}
	return kinds
}
