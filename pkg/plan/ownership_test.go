package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

func TestAnOwnerIsNamedAsPeopleNameIt(t *testing.T) {
	rows := []struct{ name, uid, tracking, whose string }{
		{"another Application", "app-9", "team/shop:/ConfigMap:default/settings", "belongs to Application team/shop:"},
		{"an Application of which only the label is left", "app-9", "", "belongs to the Application with UID app-9:"},
		{"a copy of an owned object", "app-1", "default/shop:/ConfigMap:default/other", "belongs to this Application, as a copy of another of its objects:"},
		{"a copy of an object of an earlier one", "app-9", "default/shop:/ConfigMap:default/other", "belongs to an earlier Application default/shop:"},
		{"a tracking ID in another format", "app-9", "x", "belongs to Application x:"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, settings)
			w.live[settingsID] = foreignSettings()
			set(w.only(), row.uid, "metadata", "labels", v1alpha1.LabelApplicationUID)
			if row.tracking != "" {
				set(w.only(), row.tracking, "metadata", "annotations", v1alpha1.AnnotationTrackingID)
			}
			assert.Contains(t, w.decide().Changes[0].Problem.Message, row.whose)
		})
	}
}
