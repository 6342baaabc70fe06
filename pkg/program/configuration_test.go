package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cluster"
)

// mount is a ConfigMap or Secret as a kubelet mounts it: the files are symbolic links into a directory that
// is itself a symbolic link, and an update switches to another directory.
type mount struct {
	t        *testing.T
	dir      string
	versions int
}

func (m *mount) file(name string) string { return filepath.Join(m.dir, name) }

// write updates all files atomically.
func (m *mount) write(files map[string]string) {
	m.t.Helper()
	m.versions++
	version := "..version-" + strconv.Itoa(m.versions)
	require.NoError(m.t, os.Mkdir(m.file(version), 0o700))
	for name, text := range files {
		require.NoError(m.t, os.WriteFile(filepath.Join(m.file(version), name), []byte(text), 0o600))
	}
	next := m.file("..next")
	require.NoError(m.t, os.Symlink(version, next))
	require.NoError(m.t, os.Rename(next, m.file("..data")))
	if m.versions == 1 {
		for name := range files {
			require.NoError(m.t, os.Symlink("..data/"+name, m.file(name)))
		}
		return
	}
	require.NoError(m.t, os.RemoveAll(m.file("..version-"+strconv.Itoa(m.versions-1))))
}

const configName = "config.yaml"

func (m *mount) configure(text string) { m.t.Helper(); m.write(map[string]string{configName: text}) }

func configured(fields string) string {
	return "apiVersion: holdfast.dev/v1alpha1\nkind: ControllerConfiguration\n" + fields
}

func watching(namespaces ...string) string {
	return configured("watchNamespaces: [" + strings.Join(namespaces, ", ") + "]\n")
}

func TestSelectionChangesAtRuntime(t *testing.T) {
	t.Parallel()
	c, one := ours(t)
	two := c.Namespace(t)
	inNamespace(t, c, two)
	m := &mount{t: t, dir: t.TempDir()}
	m.configure(watching(one))
	p := start(t, c, "--leader-elect=false", "--config="+m.file(configName), "-v=1")
	p.Says(leads)
	for _, namespace := range []string{one, two} {
		submit(t, c, namespace, "app", "team: web")
	}
	awaitReady(t, c, one, "app")
	assert.Empty(t, objects(t, c, two), "that namespace is not looked at")

	selects := 0
	selectAnew := func(text string) {
		m.configure(text)
		selects++
		p.until("the new selection", func() bool { return strings.Count(p.Log(), "Changing the selection of Applications") == selects })
	}
	t.Run("a namespace that is selected is looked at, without a restart", func(t *testing.T) {
		mark := c.Mark()
		selectAnew(watching(one, two))
		awaitReady(t, c, two, "app")
		for _, r := range since(t, c, mark) {
			assert.False(t, r.Verb == "list" && r.Namespace == one, "the other namespace's watches go on: %s", r)
		}
	})
	t.Run("a namespace that is not selected any more is left alone", func(t *testing.T) {
		mark := c.Mark()
		selectAnew(watching(two))
		drift(t, c, one, "app")
		drift(t, c, two, "app")
		awaitCorrected(t, c, two, "app")
		kubectl(t, c, "", "delete", "application", "app", "-n", two, "--timeout=60s")
		assert.Equal(t, "theirs", get(t, c, one, configMaps, "app", "{.data.key}"))
		assert.NotEmpty(t, get(t, c, one, applications, "app", "{.metadata.finalizers}"), "nothing is released")
		for _, r := range since(t, c, mark).Writes() {
			assert.NotEqual(t, one, r.Namespace, "%s", r)
		}
	})
	t.Run("a file that is wrong changes nothing", func(t *testing.T) {
		for _, wrong := range []struct{ text, says string }{
			{configured("watchNamespace: [x]"), "watchNamespace"},
			{configured("watchNamespaces: [Not_A_Name]"), "Not_A_Name"},
			{configured("selector: '=='"), "selector"},
			{"{", "yaml"},
		} {
			before := strings.Count(p.Log(), "Keeping the previous configuration")
			m.configure(wrong.text)
			p.until("a complaint", func() bool { return strings.Count(p.Log(), "Keeping the previous configuration") > before })
			lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
			assert.Contains(t, lines[len(lines)-1], wrong.says)
			assert.Contains(t, lines[len(lines)-1], m.file(configName))
		}
		submit(t, c, two, "again", "team: web")
		awaitReady(t, c, two, "again")
	})
	t.Run("a label selector", func(t *testing.T) {
		selectAnew(configured("selector: team=web\n"))
		awaitReady(t, c, one, "app")
		awaitCorrected(t, c, one, "app")
		submit(t, c, one, "other", "team: shop")
		submit(t, c, one, "last", "team: web")
		awaitReady(t, c, one, "last")
		assert.NotContains(t, objects(t, c, one), "configmap/other")

		kubectl(t, c, "", "label", "application", "app", "team=shop", "--overwrite", "-n", one)
		eventually(t, "the end of the watch's interest", func() bool {
			drift(t, c, one, "app")
			drift(t, c, one, "last")
			awaitCorrected(t, c, one, "last")
			return get(t, c, one, configMaps, "app", "{.data.key}") == "theirs"
		})
	})
}

// A change between the start and the first poll is noticed.
func TestConfigChangeDuringStartIsRead(t *testing.T) {
	m := &mount{t: t, dir: t.TempDir()}
	m.configure(watching("one"))
	f, err := parse([]string{"--config=" + m.file(configName)})
	require.NoError(t, err)
	selection, err := f.selection()
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, selection.Namespaces)
	m.configure(watching("two"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	f.followConfiguration(ctx, func(anew cluster.Selection) {
		selection = anew
		stop()
	})
	assert.Equal(t, []string{"two"}, selection.Namespaces)
}

func TestPermissionsInWatchedNamespacesSuffice(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	other := c.Namespace(t)
	inNamespace(t, c, other)
	kubectl(t, c, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: controller, namespace: %[1]s}
rules:
- {apiGroups: [holdfast.dev], resources: [applications], verbs: [get, list, watch, patch]}
- {apiGroups: [holdfast.dev], resources: [applications/status], verbs: [patch]}
- {apiGroups: [holdfast.dev], resources: [applicationslices], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, update]}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate]}
- {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`, namespace), "apply", "--server-side", "--filename=-")
	kubectl(t, c, "", "create", "serviceaccount", "controller", "-n", namespace)
	kubectl(t, c, "", "create", "rolebinding", "controller", "-n", namespace, "--role=controller", "--serviceaccount="+namespace+":controller")
	p := start(t, c, append(elected(namespace), "--kubeconfig="+kubeconfigOf(t, c, namespace, "controller"))...)
	p.Says(leads)

	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	drift(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app")

	// Objects in another namespace are watched there, which requires permissions there.
	kubectl(t, c, fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: far},
  spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: %s}, data: {key: ours}}]}}`, other),
		"apply", "--server-side", "-n", namespace, "--filename=-")
	eventually(t, "the missing right", func() bool {
		return strings.Contains(get(t, c, namespace, applications, "far", "{.status.conditions[?(@.type=='Stalled')].message}"),
			"may not list and watch configmaps in the namespace "+other+". Grant it. For the command, run: holdfast check far -n "+namespace)
	})
	drift(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app")

	kubectl(t, c, "", "delete", "application", "app", "-n", namespace, "--timeout=60s")
	assert.NotContains(t, objects(t, c, namespace), "configmap/app")
}

// kubeconfigOf returns a kubeconfig with a token of a ServiceAccount.
func kubeconfigOf(t *testing.T, c *testcluster.Cluster, namespace, account string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := kubectl(t, c, "", "config", "view", "--raw", "--minify", "--flatten")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	token := strings.TrimSpace(kubectl(t, c, "", "create", "token", account, "-n", namespace))
	kubectl(t, c, "", "config", "set-credentials", account, "--token="+token, "--kubeconfig="+file)
	kubectl(t, c, "", "config", "set-context", "--current", "--user="+account, "--kubeconfig="+file)
	return file
}

// objects returns the ConfigMaps of Applications.
func objects(t *testing.T, c *testcluster.Cluster, namespace string) string {
	t.Helper()
	return kubectl(t, c, "", "get", "configmaps", "-n", namespace, "--selector=holdfast.dev/application-uid", "--output=name")
}

func since(t *testing.T, c *testcluster.Cluster, mark testcluster.Mark) testcluster.Requests {
	t.Helper()
	requests, err := c.Requests(mark)
	require.NoError(t, err)
	return requests.By("holdfast-controller")
}
