package reconcile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An immutable field can be changed in a new object. So an object whose change was rejected is created at once if
// another client deletes it, whether the last accepted state was held meanwhile, or there was none.
func TestADeletedObjectIsCreatedAfterARejection(t *testing.T) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		for _, accepted := range []bool{true, false} {
			d := newDesk(t, `{manifest: [{apiVersion: v1, kind: `+kind+`, metadata: {name: config}, data: {a: MQ==}}]}`)
			id := config
			id.Kind = kind
			d.has(id)
			if accepted {
				d.live[id]["data"] = map[string]any{"a": "MQ=="}
				require.Empty(t, d.take(t))
			}
			d.app.Spec.Manifest[0].Raw = []byte(`{"apiVersion": "v1", "kind": "` + kind + `", "metadata": {"name": "config"}, "data": {"a": "Mg=="}}`)
			d.app.Generation++
			d.fails["patch config"] = apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "config", field.ErrorList{field.Invalid(field.NewPath("data"), "", "immutable")})
			require.NotEmpty(t, d.take(t))
			delete(d.live, id)
			assert.Equal(t, []string{"create config"}, d.take(t), "%s %t", kind, accepted)
		}
	}
}
