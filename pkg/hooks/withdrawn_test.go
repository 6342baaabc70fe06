package hooks_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
)

func TestWithdrawn(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Name = "work"
	id := manifest.ID{Kind: "Pod", Namespace: "shop", Name: "work"}
	pod := func(env ...any) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "env": env}}}}
	}
	from := func(secret string) map[string]any {
		return map[string]any{"name": "URL", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": secret, "key": "complete-url"}}}
	}
	ours, theirs := from("work-hooks"), from("own")
	for _, row := range []struct {
		name               string
		before, live, want []any
		found              int
	}{
		{"a variable that Mangle added", []any{ours}, []any{ours}, nil, 1},
		{"one that is wanted still", []any{ours}, []any{ours}, []any{ours}, 0},
		{"one to which another client gave another source", []any{ours}, []any{theirs}, nil, 0},
		{"one that another client had added before", []any{theirs}, []any{ours}, nil, 0},
		{"one that is gone", []any{ours}, nil, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			found := hooks.Withdrawn(app, id, pod(row.before...), pod(row.want...), pod(row.live...))
			require.Len(t, found, row.found)
			for _, w := range found {
				assert.Equal(t, "/spec/containers/0/env/0", w.Path.Pointer())
			}
		})
	}
}
