package setup

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cluster"
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
		assert.Equal(t, "holdfast check "+want+" -o yaml | kubectl apply -f -", rights{app: app}.command(*o.connection.Namespace, o.files))
	}
}

// The ClusterRoles of an installation do not cover the kinds of a CustomResourceDefinition.
func TestKindsThatTheControllerMayNotWatch(t *testing.T) {
	var asked []string
	restricted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&review))
		a := review.Spec.ResourceAttributes
		asked = append(asked, a.Verb+" "+a.Resource+" in "+a.Namespace)
		review.Status.Allowed = a.Group == "apps" || a.Group == "holdfast.dev" && !restricted
		w.Header().Set("Content-Type", "application/json")
		assert.NoError(t, json.NewEncoder(w).Encode(review))
	}))
	defer server.Close()
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)

	r := rights{rules: map[string]map[ruleKey][]string{}}
	r.add("shop", schema.GroupResource{Group: "apps", Resource: "deployments"}, verbsOwn, "web")
	r.add("shop", schema.GroupResource{Group: "apps", Resource: "deployments"}, verbsCreate, "")
	r.add("shop", schema.GroupResource{Group: "example.com", Resource: "songs"}, verbsShare, "top50")
	c, user := &connection.Cluster{Client: &connection.Client{Client: client}}, "system:serviceaccount:holdfast-system:holdfast-controller"
	missing, command, err := r.unwatched(t.Context(), c, user)
	require.NoError(t, err)
	assert.Equal(t, "watch songs.example.com", missing)
	assert.Contains(t, command, "kubectl label clusterrole holdfast-kinds-songs ")
	assert.Equal(t, []string{"watch deployments in shop", "watch songs in shop", "watch applications in "}, asked)

	// A label has no effect in a namespace without a binding of the aggregated role.
	restricted = true
	missing, command, err = r.unwatched(t.Context(), c, user)
	require.NoError(t, err)
	assert.Equal(t, "watch songs.example.com in the namespace shop", missing)
	assert.Equal(t, "kubectl create role holdfast-kinds-songs -n shop --verb=list,watch --resource=songs.example.com && "+
		"kubectl create rolebinding holdfast-kinds-songs -n shop --role=holdfast-kinds-songs --serviceaccount=holdfast-system:holdfast-controller", command)
}
