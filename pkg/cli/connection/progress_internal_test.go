package connection

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// states returns an Application whose resources, ConfigMaps r0, r1, ..., have the given states.
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
	// A Service of Kubernetes and one of Knative have the same kind and name.
	namesakes := states("Current", "InProgress")
	namesakes.Status.Resources[1].APIVersion, namesakes.Status.Resources[1].Name = "example.com/v1", "r0"
	many := func(health ...string) *v1alpha1.Application {
		for len(health) < 60 {
			health = append(health, "Current")
		}
		return states(health...)
	}
	taken := many("NotFound", "InProgress")
	taken.Status.Resources[0].Reason, taken.Status.Resources[0].Message = v1alpha1.ReasonResourceConflict, "the object exists"
	for _, row := range []struct {
		name          string
		columns, rows int
		terminal      bool
		apps          []*v1alpha1.Application
		want          string
	}{
		{
			"one line for each change, without a terminal", 0, 0, false,
			[]*v1alpha1.Application{states("InProgress", "Current"), states("InProgress", "Current"), states("Current", "Current")},
			"ConfigMap r0  InProgress\nConfigMap r1  Current\nConfigMap r0  Current\n",
		},
		{
			"two resources with the same kind and name", 0, 0, false, []*v1alpha1.Application{namesakes, namesakes},
			"ConfigMap r0  Current\nConfigMap r0  InProgress\n",
		},
		{
			"a list that is overwritten on a terminal", 80, 24, true,
			[]*v1alpha1.Application{states("InProgress", "Current"), states("Current", "Current", "Current")},
			"ConfigMap r0  InProgress\nConfigMap r1  Current\n\x1b[2A\x1b[JConfigMap r0  Current\nConfigMap r1  Current\nConfigMap r2  Current\n",
		},
		{
			"a list that becomes empty", 80, 24, true,
			[]*v1alpha1.Application{states("Terminating"), states()},
			"ConfigMap r0  Terminating\n\x1b[1A\x1b[J",
		},
		{
			"long lines are truncated", 30, 24, true,
			[]*v1alpha1.Application{longer},
			"ConfigMap r0  InProgress: a m…\nConfigMap r1  Current\n",
		},
		{
			"more resources than the terminal has rows", 80, 2, true,
			[]*v1alpha1.Application{states("InProgress", "Current"), states("Current", "Current")},
			"ConfigMap r0  InProgress\nConfigMap r1  Current\nConfigMap r0  Current\n",
		},
		{
			"the count of many resources, and the failed ones", 0, 0, false,
			[]*v1alpha1.Application{many("InProgress", "InProgress"), taken, taken, many()},
			"60 resources: 58 Current, 2 InProgress\n" +
				"60 resources: 58 Current, 1 InProgress, 1 ResourceConflict\nConfigMap r0  ResourceConflict: the object exists\n" +
				"60 resources: 60 Current\n",
		},
		{
			"the first of many failed resources", 80, 24, true,
			[]*v1alpha1.Application{many(strings.Split(strings.Repeat("Failed ", 12), " ")[:12]...)},
			"60 resources: 48 Current, 12 Failed\n" + failed(10),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			p := &Progress{out: &out, said: map[manifest.ID]string{}, size: func() (columns, rows int, ok bool) { return row.columns, row.rows, row.terminal }}
			for _, app := range row.apps {
				p.Show(app)
			}
			assert.Equal(t, row.want, out.String())
		})
	}
}

func failed(n int) (lines string) {
	for i := range n {
		lines += fmt.Sprintf("ConfigMap r%d  Failed\n", i)
	}
	return lines
}

func TestStateOfRepeatsNothing(t *testing.T) {
	for _, row := range []struct{ health, reason, message, want string }{
		{"Current", "", "", "Current"},
		{"InProgress", "Progressing", "in progress", "InProgress"},
		{"InProgress", "Progressing", "Available: 0/2", "InProgress: Available: 0/2"},
		{"NotFound", "ResourceConflict", "the object exists", "ResourceConflict: the object exists"},
		{"Current", "Rejected", "a quota denies it", "Rejected: a quota denies it"},
	} {
		word, why := stateOf(v1alpha1.ResourceStatus{Health: row.health, Reason: row.reason, Message: row.message})
		assert.Equal(t, row.want, word+why)
	}
}
