package cli

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// customColumn is a column of -o custom-columns.
type customColumn struct {
	name string
	path *jsonpath.JSONPath
}

// customColumns parses NAME:PATH,NAME:PATH. Paths have any form that kubectl accepts: metadata.name, .metadata.name
// or {.metadata.name}. Like kubectl, it splits at every comma, so a path cannot contain one.
func customColumns(spec string) (columns []customColumn, err error) {
	for _, one := range strings.Split(spec, ",") {
		name, path, both := strings.Cut(one, ":")
		if !both || name == "" || path == "" {
			return nil, fmt.Errorf("-o custom-columns takes NAME:PATH,NAME:PATH, such as NAME:.metadata.name, not %q", spec)
		}
		path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}"), ".")
		column := customColumn{name, jsonpath.New(name).AllowMissingKeys(true)}
		if err := column.path.Parse("{." + path + "}"); err != nil {
			return nil, fmt.Errorf("-o custom-columns: the path of %s is invalid: %w", name, err)
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// customTable returns a table with the values at the paths of the columns, one row for each object.
func customTable(columns []customColumn, list *unstructured.UnstructuredList) (*metav1.Table, error) {
	table := &metav1.Table{}
	for _, column := range columns {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: column.name, Type: "string"})
	}
	for i := range list.Items {
		var row metav1.TableRow
		for _, column := range columns {
			cell, err := column.cell(list.Items[i].Object)
			if err != nil {
				return nil, err
			}
			row.Cells = append(row.Cells, cell)
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// cell returns the values at the path on one line, or <none>, as kubectl does. Control characters are escaped.
//
//	path                            cell
//	.metadata.name                  web
//	.spec.manifest[*].kind          Deployment,Service
//	.spec.nothing                   <none>
func (c customColumn) cell(object map[string]any) (string, error) {
	found, err := c.path.FindResults(object)
	if err != nil {
		return "", fmt.Errorf("-o custom-columns: %s: %w", c.name, err)
	}
	var texts []string
	for _, values := range found {
		for _, value := range values {
			if value.IsValid() && value.CanInterface() {
				texts = append(texts, fmt.Sprint(value.Interface()))
			}
		}
	}
	if len(texts) == 0 {
		return "<none>", nil
	}
	return terminal.Visible(strings.ReplaceAll(strings.Join(texts, ","), "\n", " ")), nil
}
