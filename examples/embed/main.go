// Command embed is the controller with a hook of its own: every object of an Application gets the label team of the
// Application.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/program"
)

func main() {
	h := hooks.New()
	h.ApplicationMangling.Listen("team", addTeam)
	os.Exit(program.Main(program.Options{Hooks: h}))
}

func addTeam(m *hooks.Mangling) error {
	team, ok := m.Application.Labels["team"]
	if !ok {
		return nil
	}
	for i := range m.Objects {
		object := unstructured.Unstructured{Object: m.Objects[i].Content}
		object = *object.DeepCopy() // the content is shared
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["team"] = team
		object.SetLabels(labels)
		m.Objects[i].Content = object.Object
	}
	return nil
}
