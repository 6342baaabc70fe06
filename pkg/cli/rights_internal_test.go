package cli

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
)

// spec.select can match all Deployments, and a manifest can name one that is shared.
func TestARightToAllObjectsIsNotNarrowed(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, names := range [][]string{{"web", ""}, {"", "web"}, {"web", "", "api"}} {
		r := rights{rules: map[string]map[ruleKey][]string{}}
		for _, name := range names {
			r.add("shop", deployments, verbsShare, name)
		}
		assert.Equal(t, []any{map[string]any{
			"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get", "list", "watch", "patch"},
		}}, r.policy("shop"), names)
	}
}

// The files may name no namespace, and may be below the directories of -f.
func TestTheRemedyForRightsNamesTheSameInput(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Namespace, app.Name = "shop", "web"
	for want, args := range map[string][]string{
		"web -n shop":                nil,
		"-f a.yaml -f - -n shop":     {"-f", "a.yaml,-", "-n", "shop"},
		"-f manifests -R":            {"-f", "manifests", "-R"},
		"-f manifests -R -n default": {"-f", "manifests", "-R", "-n", "default"},
	} {
		o, flags := checkOptions{connection: connection.NewFlags()}, pflag.NewFlagSet("", pflag.ContinueOnError)
		o.connection.Add(flags)
		o.add(flags)
		require.NoError(t, flags.Parse(args))
		assert.Equal(t, "holdfast check "+want+" -o yaml | kubectl apply -f -", rights{app: app}.command("holdfast", *o.connection.Namespace, o.files))
	}
}
