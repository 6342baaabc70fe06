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

// A name that no Application can have is ignored: its Application cannot be read, so its claim would never end.
func TestHoldersWithImpossibleNamesAreIgnored(t *testing.T) {
	live := func(name string) map[string]any {
		text := fmt.Sprintf(`{%q: {"uid": "u-1", "leaves": ["spec.replicas"]}}`, name)
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationHolders: text}}}
	}
	for _, name := range []string{"", "shop", "default/", "/shop", "default/a/b", "default/%2e", "default/..", "default/Shop", "de.fault/shop"} {
		assert.Empty(t, claim.ReadHolders(live(name)), name)
	}
	assert.Len(t, claim.ReadHolders(live("default/shop.v1")), 1)
}

// Many claims are shortened without encoding all of them again for each.
func TestManyClaimsAreShortenedQuickly(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Namespace, app.Name, app.UID = "default", "shop", "app-1"
	all := claim.Holders{}
	for i := range 5000 {
		all[fmt.Sprintf("other/a%d", i)] = claim.Entry{UID: "u", Leaves: []string{}}
	}
	written := ""
	allocated := testing.AllocsPerRun(1, func() { written = all.WithApplication(app, []string{"spec.replicas"}, nil) })
	assert.Less(t, allocated, float64(100*len(all)))
	assert.Contains(t, written, `"other/a1":{"uid":"u","leaves":null}`)
}
