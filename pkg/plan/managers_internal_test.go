package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

func TestTheOtherWriterOfTheSameSecondIsNamed(t *testing.T) {
	const second = "2026-01-02T03:04:05Z"
	entry := func(manager string, fields map[string]any) map[string]any {
		return map[string]any{
			"manager": manager, "operation": "Update", "apiVersion": "v1", "time": second,
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": fields},
		}
	}
	live := map[string]any{
		"metadata": map[string]any{"managedFields": []any{
			entry("holdfast", map[string]any{".": map[string]any{}, "f:key": map[string]any{}}),
			entry("mallory", map[string]any{"f:key": map[string]any{}}),
		}},
		"data": map[string]any{"key": "theirs"},
	}
	path := (*observer.Path)(nil).Field("data").Field("key")
	assert.Equal(t, "mallory", otherWriter(&v1alpha1.Application{}, live, path))
}
