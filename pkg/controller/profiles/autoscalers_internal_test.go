package profiles

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/store"
)

// Autoscalers of one namespace are known while those of another one may not be listed.
func TestAutoscalersNextToARefusedNamespace(t *testing.T) {
	content, err := manifest.DecodeJSON([]byte(`{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"namespace": "a", "name": "web"},
		"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}`))
	require.NoError(t, err)
	autoscaler, err := store.NewObject(&unstructured.Unstructured{Object: content})
	require.NoError(t, err)
	var woken []types.UID
	p := New(nil, nil, time.Now, func(applications []types.UID) { woken = append(woken, applications...) })
	p.autoscalers = &autoscalers{refused: true, named: map[manifest.ID]map[string]struct{}{}}
	p.wanted["app"] = interest{objects: []manifest.ID{{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "web"}}}

	p.targetChanged(p.autoscalers, nil, autoscaler)
	p.targetChanged(p.autoscalers, autoscaler, nil)
	assert.Equal(t, []types.UID{"app", "app"}, woken)
}
