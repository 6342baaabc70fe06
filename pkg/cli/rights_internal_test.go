package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// spec.select can match all Deployments, and a manifest can name one that is shared.
func TestARightToAllObjectsIsNotNarrowed(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, names := range [][]string{{"web", ""}, {"", "web"}, {"web", "", "api"}} {
		r := rights{rules: map[string]map[ruleKey][]string{}}
		for _, name := range names {
			r.add("shop", deployments, verbsShare, name)
		}
		assert.Equal(t, []any{map[string]any{
			"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get", "list", "watch", "patch"},
		}}, r.policy("shop"), names)
	}
}
