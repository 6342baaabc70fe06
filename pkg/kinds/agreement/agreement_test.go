package agreement

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/kinds"
)

func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{}) }

func TestTableMatchesServer(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(testcluster.Shared().Config())
	require.NoError(t, err)
	paths, err := client.OpenAPIV3().Paths()
	require.NoError(t, err)

	compared := 0
	for path, document := range paths {
		gv, ok := groupVersion(path)
		if !ok {
			continue
		}
		content, err := document.Schema("application/json")
		require.NoError(t, err)
		resources, err := client.ServerResourcesForGroupVersion(gv.String())
		require.NoError(t, err)
		for _, resource := range resources.APIResources {
			kind := gv.WithKind(resource.Kind)
			offline := kinds.Builtin(kind)
			if offline == nil || strings.Contains(resource.Name, "/") {
				continue
			}
			server, err := kinds.FromOpenAPI(content, kind)
			require.NoError(t, err)
			c := comparison{seen: map[pair]bool{}}
			c.compare(kind.Kind, offline, server)
			assert.Empty(t, c.differences, kind)
			compared++
		}
	}
	assert.Greater(t, compared, 50, "kinds that were compared")
}

// groupVersion parses api/v1 and apis/apps/v1. Other documents contain no kinds.
func groupVersion(path string) (schema.GroupVersion, bool) {
	parts := strings.Split(path, "/")
	switch {
	case len(parts) == 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}, true
	case len(parts) == 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
	}
	return schema.GroupVersion{}, false
}

// comparison walks two nodes in parallel. Kinds can contain themselves, so it records the visited nodes.
type comparison struct {
	seen        map[pair]bool
	differences []string
}

type pair struct{ offline, server *kinds.Node }

func (c *comparison) compare(path string, offline, server *kinds.Node) {
	if offline == nil && server == nil || c.seen[pair{offline, server}] {
		return
	}
	c.seen[pair{offline, server}] = true
	if a, b := list(offline), list(server); !reflect.DeepEqual(a, b) {
		c.differences = append(c.differences, fmt.Sprintf("%s: offline %v, server %v", path, a, b))
	}
	names := map[string]bool{}
	for name := range offline.Fields() {
		names[name] = true
	}
	for name := range server.Fields() {
		names[name] = true
	}
	names["no such field"] = true
	for name := range names {
		if a, b := offline.Forbids(name), server.Forbids(name); a != b {
			c.differences = append(c.differences, fmt.Sprintf("%s.%s: forbidden offline: %v, by the server: %v", path, name, a, b))
		}
		c.compare(path+"."+name, offline.Field(name), server.Field(name))
	}
	c.compare(path+"[]", offline.Elem(), server.Elem())
}

// list contains the list type and keys of a node.
func list(node *kinds.Node) [3]any {
	if node == nil || node.List == "" {
		return [3]any{}
	}
	// Without a default, nil and empty are the same.
	return [3]any{node.List, node.Keys, fmt.Sprint(node.Defaults)}
}
