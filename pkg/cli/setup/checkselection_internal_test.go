package setup

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/clitest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cluster"
)

// withArguments returns a controller with these arguments.
func withArguments(name string, args ...any) deployedController {
	return deployedController{&unstructured.Unstructured{Object: map[string]any{
		"kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": deploy.Namespace},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"args": args}},
			"volumes":    []any{map[string]any{"configMap": map[string]any{"name": "holdfast-controller"}}},
		}}},
	}}}
}

func TestExactlyOneControllerSelects(t *testing.T) {
	const inFile = "Run `kubectl edit configmap holdfast-controller -n holdfast-system`, and change "
	const inFlags = "Run `kubectl edit deployment holdfast-controller -n holdfast-system`, and change --"
	const noneOfOne, noneOfTwo = "no controller selects blog/cart: holdfast-controller selects ", "no controller selects blog/cart: first selects "
	app := func(labels map[string]string) []rights {
		return []rights{{app: &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "cart", UID: "1", Labels: labels}}}}
	}
	web := app(map[string]string{"team": "web"})
	one := func(args ...any) []deployedController {
		return []deployedController{withArguments("holdfast-controller", args...)}
	}
	two := func(first, second string) []deployedController {
		return []deployedController{withArguments("first", "--selector="+first), withArguments("second", "--selector="+second)}
	}
	inAFile := app(nil)
	inAFile[0].app.UID = ""
	ofAMysql := app(map[string]string{"part": "c"})
	ofAMysql[0].app.OwnerReferences = []metav1.OwnerReference{{Kind: "Mysql", Name: "cart", Controller: ptr.To(true)}}
	for _, row := range []struct {
		name, configuration string
		controllers         []deployedController
		apps                []rights
		message, remedy     string
	}{
		{"no selection", "", one(), nil, "", ""},
		{"a controller outside the cluster", "", []deployedController{{}}, web, "", ""},
		{"the namespace", "", one("--watch-namespaces=a,shop"), nil, "", ""},
		{"other namespaces", "", one("--watch-namespaces=a,b"), nil, "no controller selects the namespace shop: holdfast-controller selects all Applications in the namespaces a, b", inFlags + "watch-namespaces"},
		{
			"other namespaces in the file", "watchNamespaces: [b]", one("--watch-namespaces=shop", "--config=/etc/holdfast/config.yaml"), nil,
			"no controller selects the namespace shop: holdfast-controller selects all Applications in the namespaces b", inFile + "watchNamespaces",
		},
		{"an unused file", "watchNamespaces: [b]", one(), nil, "", ""},
		{"the namespace of an Application", "", one("--watch-namespaces=blog"), web, "", ""},
		{"another one", "", one("--watch-namespaces=shop"), web, noneOfOne + "all Applications in the namespaces shop", inFlags + "watch-namespaces"},
		{"the labels", "", one("--selector=team"), web, "", ""},
		{"other labels", "", one("--selector=team=db"), web, noneOfOne + "the labels team=db", "Run: `kubectl label -n blog hfapp/cart --overwrite team=db`"},
		{"a label without a value", "", one("--selector=part", "--config=a"), web, noneOfOne + "the labels part", inFlags + "selector"},
		{"the same in the file", "selector: part", one("--config=a"), web, noneOfOne + "the labels part", inFile + "selector"},
		{"labels without an Application", "", one("--selector=team=db"), nil, "", ""},
		{"a malformed selector", "", one("--selector===="), nil, "the selection of holdfast-controller is invalid: ", inFlags + "selector"},
		{"one of two", "", two("!part", "part=b"), web, "", ""},
		{
			"none of two", "", two("!part", "part in (c, b)"), app(map[string]string{"part": "d"}), noneOfTwo + "the labels !part, second selects the labels part in (b,c)",
			"Run: `kubectl label -n blog hfapp/cart --overwrite part-` for first, or `kubectl label -n blog hfapp/cart --overwrite part=b` for second",
		},
		{"none of two, without a label for the first", "", two("part=a,zone", "part=b,!zone"), web, noneOfTwo, "Run: `kubectl label -n blog hfapp/cart --overwrite part=b` for second"},
		{"none for a Mysql", "", two("!part", "part=b"), ofAMysql, noneOfTwo, "Run: `kubectl label -n blog hfapp/cart mysql/cart --overwrite part-` for first, or"},
		{"none for an Application in a file", "", two("part=a", "part=b"), inAFile, noneOfTwo, "In the file, change labels: `part=a` for first, or `part=b` for second"},
		{
			"both", "", two("", "team=web"), web, "several controllers select blog/cart: first selects all Applications, second selects the labels team=web",
			"Run `kubectl edit deployment second -n holdfast-system`, and change --selector",
		},
		{
			"both, as there is no label", "", two("part!=b", "part!=a"), web, "several controllers select blog/cart: ",
			"Run `kubectl edit deployment second -n holdfast-system`, and change --selector",
		},
		{
			"two of the namespace", "", two("!part", "part=b"), nil, "no controller selects shop/a, shop/b: first",
			"Run: `kubectl label -n shop hfapp/a --overwrite part-` for first, or `kubectl label -n shop hfapp/a --overwrite part=b` for second",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			file, err := json.Marshal("apiVersion: holdfast.dev/v1alpha1\nkind: ControllerConfiguration\n" + row.configuration)
			require.NoError(t, err)
			responses := map[string][]string{
				"/api/v1/namespaces/holdfast-system/configmaps/holdfast-controller": {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "holdfast-controller"}, "data": {"config.yaml": ` + string(file) + `}}`},
			}
			if len(row.controllers) > 1 {
				responses["/apis/holdfast.dev/v1alpha1/namespaces/shop/applications"] = []string{`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "items": [
					{"metadata": {"namespace": "shop", "name": "a", "uid": "1", "labels": {"part": "x"}}}, {"metadata": {"namespace": "shop", "name": "b", "uid": "2", "labels": {"part": "y"}}}]}`}
			}
			server := httptest.NewServer(&clitest.APIServer{Responses: responses})
			defer server.Close()
			client, err := cluster.NewClient(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			c := checker{
				Cluster: &connection.Cluster{Client: &connection.Client{Client: client}, Namespace: "shop"},
				apps:    row.apps, found: installation{namespace: deploy.Namespace, deployed: row.controllers},
			}
			message, remedy, err := c.unselected(t.Context())
			require.NoError(t, err)
			if row.message == "" {
				assert.Empty(t, message+remedy)
				return
			}
			assert.Contains(t, message, row.message)
			assert.Contains(t, remedy, row.remedy)
		})
	}
}
