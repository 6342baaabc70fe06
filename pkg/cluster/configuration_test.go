package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cluster"
)

const header = "apiVersion: holdfast.dev/v1alpha1\nkind: ControllerConfiguration\n"

func TestConfigurationFiles(t *testing.T) {
	flags, err := cluster.NewSelection([]string{"flag"}, "from=flag")
	require.NoError(t, err)
	for _, row := range []struct {
		name, text string
		namespaces []string
		selector   string
	}{
		{"what it does not say is as in the flags", header, []string{"flag"}, "from=flag"},
		{"namespaces", header + "watchNamespaces: [b, a, b]", []string{"a", "b"}, "from=flag"},
		{"no namespace is all of them", header + "watchNamespaces: []", []string{}, "from=flag"},
		{"a selector", header + "selector: team=web,!old", []string{"flag"}, "!old,team=web"},
		{"an empty selector is any", header + `selector: ""`, []string{"flag"}, ""},
		{"JSON", `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ControllerConfiguration", "watchNamespaces": ["a"]}`, []string{"a"}, "from=flag"},
	} {
		t.Run(row.name, func(t *testing.T) {
			selection, err := cluster.ParseConfiguration([]byte(row.text), flags)
			require.NoError(t, err)
			assert.Equal(t, row.namespaces, selection.Namespaces)
			assert.Equal(t, row.selector, selection.Labels.String())
		})
	}
	for _, row := range []struct{ name, text, want string }{
		{"an empty file", "", "must be a ControllerConfiguration"},
		{"another kind", "apiVersion: v1\nkind: ConfigMap", `"ConfigMap"`},
		{"another version", "apiVersion: holdfast.dev/v2\nkind: ControllerConfiguration", `"holdfast.dev/v2"`},
		{"a field that there is not", header + "namespaces: [a]", "namespaces"},
		{"a field twice", header + "selector: a=b\nselector: c=d", "selector"},
		{"a text for a list", header + "watchNamespaces: a", "watchNamespaces"},
		{"a name that cannot be", header + "watchNamespaces: [a, B_]", `"B_"`},
		{"a selector that cannot be read", header + "selector: '=='", "selector"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := cluster.ParseConfiguration([]byte(row.text), flags)
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func FuzzParseConfiguration(f *testing.F) {
	f.Add([]byte(header + "watchNamespaces: [a]\nselector: a in (b)"))
	f.Add([]byte(`{"kind": "ControllerConfiguration"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		flags, err := cluster.NewSelection([]string{"flag"}, "from=flag")
		require.NoError(t, err)
		selection, err := cluster.ParseConfiguration(text, flags)
		if err != nil {
			return
		}
		again, err := cluster.NewSelection(selection.Namespaces, selection.Labels.String())
		require.NoError(t, err)
		assert.Equal(t, selection.Namespaces, again.Namespaces)
		assert.Equal(t, selection.Labels.String(), again.Labels.String())
	})
}
