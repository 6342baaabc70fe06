package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestRangeKeepsMatchingNames(t *testing.T) {
	patterns := ObjectRange{Namespaces: "web-*", Names: "app-*,extra"}
	for _, row := range []struct {
		name  string
		of    ObjectRange
		key   types.NamespacedName
		keeps bool
	}{
		{"both patterns match", patterns, types.NamespacedName{Namespace: "web-a", Name: "app-1"}, true},
		{"the second pattern matches", patterns, types.NamespacedName{Namespace: "web-b", Name: "extra"}, true},
		{"no pattern of the name matches", patterns, types.NamespacedName{Namespace: "web-b", Name: "other"}, false},
		{"the namespace does not match", patterns, types.NamespacedName{Namespace: "default", Name: "app-1"}, false},
		{"one object", ObjectRange{Namespace: "a", Name: "b"}, types.NamespacedName{Namespace: "a", Name: "b"}, true},
		{"another object of its namespace", ObjectRange{Namespace: "a", Name: "b"}, types.NamespacedName{Namespace: "a", Name: "c"}, false},
		{"everything", ObjectRange{}, types.NamespacedName{Namespace: "a", Name: "b"}, true},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.keeps, row.of.keeps(row.key)) })
	}
}
