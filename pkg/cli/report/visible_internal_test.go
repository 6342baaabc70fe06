package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/plan"
)

// A status can be from a file, and any client with the right to write it can write any text.
func TestTextsOfAStatusAreEscaped(t *testing.T) {
	const clear = "\x1b[2J"
	app := &v1alpha1.Application{}
	app.Name, app.Namespace = "web"+clear, "shop"
	app.Status.Services = map[string]string{clear: clear}
	app.Status.Resources = []v1alpha1.ResourceStatus{{
		ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1" + clear, Kind: "ConfigMap" + clear, Name: clear}, Health: "Current" + clear, Reason: clear, Message: clear,
		Remedy: &v1alpha1.Remedy{Text: clear, Command: clear},
	}}
	app.Spec.ServiceAccountName = clear
	d := files.Decision{Subject: files.Subject{Application: app}, Plan: &plan.Plan{}}
	v := StatusOf(d)
	v.Next = Advise(d, v, "holdfast")
	v.Events = []EventView{{Time: clear, Reason: clear, Message: "a" + clear}}
	var out bytes.Buffer
	require.NoError(t, (&StatusText{StatusView: v, Output: Output{Width: 80, Now: now}, All: true}).Print(&out))
	require.NoError(t, (&Differences{Decision: d, Output: Output{Width: 80, Now: now}}).Print(&out))
	require.NoError(t, (&TreeText{Output: Output{Width: 80, Now: now}}).Print(&out, &Branch{name: "web", Health: clear, Message: clear}))
	assert.NotContains(t, out.String(), "\x1b")
}
