package claim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
)

func TestTheLongestClaimIsNotListed(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Namespace, app.Name, app.UID = "default", "shop", "app-1"
	leaves := make([]string, 2000)
	for i := range leaves {
		leaves[i] = fmt.Sprintf("data.key%04d", i)
	}
	long := claim.Holders{"default/other": {UID: "u-7", Leaves: leaves}}
	written := long.WithApplication(app, []string{"spec.replicas"}, nil)
	assert.JSONEq(t, `{"default/other": {"uid": "u-7", "leaves": null}, "default/shop": {"uid": "app-1", "leaves": ["spec.replicas"]}}`, written)

	short := claim.Holders{"default/other": {UID: "u-7", Leaves: []string{"data.a"}}}
	written = short.WithApplication(app, leaves, nil)
	assert.JSONEq(t, `{"default/other": {"uid": "u-7", "leaves": ["data.a"]}, "default/shop": {"uid": "app-1", "leaves": null}}`, written)
}
