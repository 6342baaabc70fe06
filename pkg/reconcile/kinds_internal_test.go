package reconcile

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/cluster"
)

// onlyV2 is a Reader of an API server that serves Widgets in v2 only. It suggests a version itself, like the command line.
type onlyV2 struct{ Reader }

func (onlyV2) Mapping(_ context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error) {
	return cluster.Mapping{}, &cluster.KindUnknownError{GroupVersionKind: gvk, Suggestion: ": did you mean examples.com/v1?"}
}

func (onlyV2) AnyVersion(context.Context, schema.GroupKind) (cluster.Mapping, error) {
	return cluster.Mapping{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}, Watchable: true}, nil
}

func TestAnUnservedVersionHasOneSuggestion(t *testing.T) {
	kind := lookUpOne(t.Context(), onlyV2{}, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	require.NotNil(t, kind.unserved)
	assert.Equal(t, "Widget in example.com/v1 is not served by the API server; its resources wait for it: did you mean example.com/v2?", kind.unserved.Message)
}
