package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/plan"
)

// A status can be from a file, and any client with the right to write it can write any text.
func TestTextsOfAStatusAreEscaped(t *testing.T) {
	const erase = "\x1b[2J"
	app := &v1alpha1.Application{}
	app.Name, app.Namespace = "web"+erase, "shop"
	app.Status.Services = map[string]string{erase: erase}
	app.Status.Resources = []v1alpha1.ResourceStatus{{
		ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1" + erase, Kind: "ConfigMap" + erase, Name: erase}, Health: "Current" + erase, Reason: erase, Message: erase,
		Remedy: &v1alpha1.Remedy{Text: erase, Command: erase},
	}}
	app.Spec.ServiceAccountName = erase
	d := files.Decision{Subject: files.Subject{Application: app}, Plan: &plan.Plan{}}
	v := StatusOf(d)
	v.Next = Advise(d, v, "holdfast")
	v.Resources[0].Owned = []*OwnedObject{{Resource: explain.ViewResource{Kind: erase, Name: erase}, Health: erase, Message: erase}}
	v.Events = []EventView{{Time: erase, Reason: erase, Message: "a" + erase}}
	var out bytes.Buffer
	require.NoError(t, (&StatusText{StatusView: v, Output: Output{Width: 80, Now: now}, All: true}).Print(&out))
	require.NoError(t, (&Differences{Decision: d, Output: Output{Width: 80, Now: now}}).Print(&out))
	assert.NotContains(t, out.String(), "\x1b")
}
