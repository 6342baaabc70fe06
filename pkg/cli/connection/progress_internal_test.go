package connection

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// states is an Application whose resources, ConfigMaps r0, r1, ..., have these
// states.
func states(health ...string) *v1alpha1.Application {
	app := &v1alpha1.Application{}
	app.Namespace = "shop"
	for i, h := range health {
		r := v1alpha1.ResourceStatus{Health: h}
		r.APIVersion, r.Kind, r.Namespace, r.Name = "v1", "ConfigMap", "shop", fmt.Sprintf("r%d", i)
		app.Status.Resources = append(app.Status.Resources, r)
	}
	return app
}

func TestProgress(t *testing.T) {
	longer := states("InProgress", "Current")
	longer.Status.Resources[0].Message = "a message that is longer than the line"
	for _, row := range []struct {
		name          string
		columns, rows int
		terminal      bool
		apps          []*v1alpha1.Application
		want          string
	}{
		{
			"elsewhere than on a terminal, a line for each that changed", 0, 0, false,
			[]*v1alpha1.Application{states("InProgress", "Current"), states("InProgress", "Current"), states("Current", "Current")},
			"ConfigMap r0  InProgress\nConfigMap r1  Current\nConfigMap r0  Current\n",
		},
		{
			"on a terminal, a list that is written over", 80, 24, true,
			[]*v1alpha1.Application{states("InProgress", "Current"), states("Current", "Current", "Current")},
			"ConfigMap r0  InProgress\nConfigMap r1  Current\n\x1b[2A\x1b[JConfigMap r0  Current\nConfigMap r1  Current\nConfigMap r2  Current\n",
		},
		{
			"what is gone is written over, too", 80, 24, true,
			[]*v1alpha1.Application{states("Terminating"), states()},
			"ConfigMap r0  Terminating\n\x1b[1A\x1b[J",
		},
		{
			"lines do not break: they would be counted wrong", 30, 24, true,
			[]*v1alpha1.Application{longer},
			"ConfigMap r0  InProgress: a m…\nConfigMap r1  Current\n",
		},
		{
			"more than the terminal has rows cannot be written over", 80, 2, true,
			[]*v1alpha1.Application{states("InProgress", "Current"), states("Current", "Current")},
			"ConfigMap r0  InProgress\nConfigMap r1  Current\nConfigMap r0  Current\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			p := &Progress{out: &out, said: map[string]string{}, size: func() (columns, rows int, ok bool) { return row.columns, row.rows, row.terminal }}
			for _, app := range row.apps {
				p.Show(app)
			}
			assert.Equal(t, row.want, out.String())
		})
	}
}

func TestStateOfSaysNothingTwice(t *testing.T) {
	for _, row := range []struct{ health, message, want string }{
		{"Current", "", "Current"},
		{"InProgress", "in progress", "InProgress"},
		{"InProgress", "Available: 0/2", "InProgress: Available: 0/2"},
	} {
		assert.Equal(t, row.want, stateOf(v1alpha1.ResourceStatus{Health: row.health, Message: row.message}))
	}
}
