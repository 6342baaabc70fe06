package builtin

import (
	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/template"
)

// Templates are those of the controller and of the command line.
func Templates() []template.Template {
	return []template.Template{
		mysql.Template{},
	}
}
