package files

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// ParsePath parses the paths that observer.Path prints.
func TestParsePath(t *testing.T) {
	root := (*observer.Path)(nil)
	for _, row := range []struct {
		printed *observer.Path
		want    manifest.Path
	}{
		{nil, nil},
		{root.Field("spec"), manifest.Path{"spec"}},
		{root.Field("spec").Field("ports").Element("[12]", -1).Field("port"), manifest.Path{"spec", "ports", 12, "port"}},
		{root.Field("metadata").Field("labels").Field("a.b/c"), manifest.Path{"metadata", "labels", "a.b/c"}},
		{root.Field("data").Field("it's").Field("x"), manifest.Path{"data", "it's", "x"}},
		{root.Field("data").Field("").Field("x"), manifest.Path{"data", "", "x"}},
		{root.Field("a").Element("[0]", 0).Element("[1]", 1), manifest.Path{"a", 0, 1}},
		{root.Field("env").Element("[name=A]", 0).Field("value"), manifest.Path{"env"}},
	} {
		t.Run(row.printed.String(), func(t *testing.T) {
			assert.Equal(t, row.want, ParsePath(row.printed.String()))
		})
	}
}
