package installed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// name is the name of the controller's objects.
const name = "holdfast-controller"

// Find decodes the object of a kind and name from documents into a value.
func Find(t testing.TB, documents, kind, name string, into any) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+documents, "\n---") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		if object.Kind == kind && object.Metadata.Name == name {
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), into))
			return
		}
	}
	require.Fail(t, "no "+kind+" "+name)
}

// Deployment returns the Deployment of the controller, or of the first of several.
func Deployment(t testing.TB, documents string) *appsv1.Deployment {
	t.Helper()
	return NamedDeployment(t, documents, name)
}

// NamedDeployment returns the Deployment of one of several controllers.
func NamedDeployment(t testing.TB, documents, name string) *appsv1.Deployment {
	t.Helper()
	found := &appsv1.Deployment{}
	Find(t, documents, "Deployment", name, found)
	return found
}

// Arguments returns the arguments of a Deployment, with variables expanded as the kubelet does.
func Arguments(deployment *appsv1.Deployment) []string {
	container := deployment.Spec.Template.Spec.Containers[0]
	args := make([]string, len(container.Args))
	for i, arg := range container.Args {
		args[i] = strings.ReplaceAll(arg, "$(POD_NAMESPACE)", deployment.Namespace)
	}
	return args
}

// mounted writes the ConfigMap of the controller to a file, as its Pod has it.
func mounted(t testing.TB, documents string) string {
	t.Helper()
	var configuration corev1.ConfigMap
	Find(t, documents, "ConfigMap", name, &configuration)
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(configuration.Data["config.yaml"]), 0o600))
	return path
}
