package manifests_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster/installed"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cli/setup"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// image is an image that users choose.
const image = "registry.example.com/own:1"

// way is a way to install Holdfast.
type way struct {
	name    string
	apply   func(*helm) // installs and upgrades, with the image
	refused string      // the reason that `holdfast install` prints
	command string      // the command that upgrades it
	remove  func(*helm) // before `holdfast uninstall`
}

// holdfast runs the command line.
func (h *helm) holdfast(args ...string) (status int, stdout, stderr string) {
	var out, messages bytes.Buffer
	status = cli.Main(h.t.Context(), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &messages, Getenv: os.Getenv, Now: time.Now,
	})
	return status, out.String(), messages.String()
}

// applied returns a function that applies the objects of a directory with kubectl.
func applied(directory string) func(*helm) {
	return func(h *helm) {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), deployed+"/"+directory)
		require.NoError(h.t, err)
		text, err := built.AsYaml()
		require.NoError(h.t, err)
		h.kubectl(strings.ReplaceAll(string(text), deploy.Image(), image), "apply", "--server-side", "--filename=-")
	}
}

func ways() []way {
	const changed = "other clients have changed the Deployment holdfast-controller: .spec.template.spec.containers[name=\"controller\"].image"
	released := false
	return []way{
		{"holdfast install", func(h *helm) {
			status, _, stderr := h.holdfast("install", "--image", image)
			require.Zero(h.t, status, stderr)
		}, "the controller has the image " + image, "holdfast install --force", nil},
		{"install.yaml", func(h *helm) {
			text := strings.ReplaceAll(string(deploy.Install()), deploy.Image(), image)
			h.kubectl(text, "apply", "--server-side", "--filename=-")
		}, changed, "kubectl apply --server-side -f deploy/install.yaml", nil},
		{"default", applied("default"), changed, "kubectl apply --server-side -f deploy/install.yaml", nil},
		{"ha", applied("ha"), "deploy/ha is installed in the namespace holdfast-system", "kubectl apply --server-side -k deploy/ha", nil},
		{"split", applied("split"), "deploy/split is installed in the namespace holdfast-system", "kubectl apply --server-side -k deploy/split", nil},
		{"namespaced", applied("namespaced"), "deploy/namespaced is installed in the namespace holdfast-system", "kubectl apply --server-side -k deploy/namespaced", nil},
		{"Helm", func(h *helm) {
			if !released {
				h.install("image: {repository: registry.example.com/own, tag: '1'}")
			} else {
				h.upgrade("")
			}
			released = true
		}, "the Helm release holdfast is installed in the namespace holdfast-system", "helm upgrade holdfast deploy/helm/holdfast -n holdfast-system --reset-then-reuse-values", func(h *helm) {
			status, _, stderr := h.holdfast("uninstall", "--yes")
			assert.Equal(h.t, 2, status)
			assert.Contains(h.t, stderr, "run: helm uninstall holdfast -n holdfast-system")
			h.uninstall()
		}},
	}
}

// Each way to install: `check` and `install` name its command, nothing is lost by an upgrade, and nothing is
// left by `uninstall`.
func TestEveryWayToInstall(t *testing.T) {
	if samples.Of(true, false) {
		t.Skip("every way to install is only part of `make test-long`")
	}
	h := newHelm(t)
	t.Setenv("KUBECONFIG", h.cluster.Kubeconfig())
	h.kubectl("", "create", "namespace", "shop")
	before := h.clusterWide()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			h.t = t
			w.apply(h)
			installed.Eventually(t, h.cluster, "get", "applications.holdfast.dev,applicationslices.holdfast.dev,holdprofiles.holdfast.dev,mysqls.fnjoin.com", "--all-namespaces")
			h.checks(w)
			h.refuses(w)
			set := h.state()
			w.apply(h)
			assert.Equal(t, set, h.state(), "an upgrade keeps what was set")
			assert.Contains(t, set, image)
			if w.remove != nil {
				w.remove(h)
			}
			status, stdout, stderr := h.holdfast("uninstall", "--yes")
			require.Zero(t, status, "%s%s", stdout, stderr)
			h.kubectl("", "wait", "--for=delete", "namespace/holdfast-system", "--timeout=120s")
			h.kubectl("", "wait", "--for=delete", "crd/applications.holdfast.dev", "crd/mysqls.fnjoin.com", "--timeout=120s")
			assert.Equal(t, before, h.clusterWide(), "something is left")
		})
	}
}

// checks runs `check` while the admission policy lacks its binding. It needs the Lease of each controller.
func (h *helm) checks(w way) {
	h.t.Helper()
	h.kubectl("", "delete", "validatingadmissionpolicybinding/holdfast-service-accounts")
	names := []string{"holdfast-controller"}
	if w.name == "split" {
		names = append(names, "holdfast-controller-b")
	}
	for _, name := range names {
		found := h.results()
		assert.Contains(h.t, found["controller"].Message, "there is no Lease holdfast-system/"+name)
		assert.Contains(h.t, found["admission policy"].Remedy, "`"+w.command+"`")
		assert.Equal(h.t, "ok", found["definitions"].Result, found["definitions"].Message)
		h.kubectl(fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s, namespace: holdfast-system},
			spec: {holderIdentity: pod, leaseDurationSeconds: 3600, renewTime: %q}}`, name, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")), "create", "--filename=-")
	}
	controller := h.results()["controller"]
	assert.Equal(h.t, "ok", controller.Result, controller.Message)
	w.apply(h)
}

func (h *helm) results() map[string]setup.CheckResult {
	h.t.Helper()
	_, stdout, stderr := h.holdfast("check", "-n", "shop", "-o", "json")
	require.Empty(h.t, stderr)
	var printed struct{ Checks []setup.CheckResult }
	require.NoError(h.t, json.Unmarshal([]byte(stdout), &printed))
	found := map[string]setup.CheckResult{}
	for _, c := range printed.Checks {
		found[c.Check] = c
	}
	return found
}

// refuses runs `install`, which changes nothing.
func (h *helm) refuses(w way) {
	h.t.Helper()
	before := h.state()
	status, stdout, stderr := h.holdfast("install")
	assert.Equal(h.t, 2, status)
	assert.Empty(h.t, stdout)
	assert.Contains(h.t, stderr, "nothing was installed: "+w.refused)
	assert.Contains(h.t, stderr, "run: "+w.command)
	assert.Equal(h.t, before, h.state())
	if w.name == "install.yaml" {
		status, _, stderr := h.holdfast("install", "--force")
		require.Zero(h.t, status, stderr)
		assert.Contains(h.t, h.state(), deploy.Image())
		h.kubectl(strings.ReplaceAll(string(deploy.Install()), deploy.Image(), image), "apply", "--server-side", "--force-conflicts", "--filename=-")
	}
}

// state returns what users set: the Deployment, the configuration, and the versions of the definitions.
func (h *helm) state() string {
	h.t.Helper()
	return h.kubectl("", "get", "deployment/holdfast-controller", "configmap/holdfast-controller", "--namespace="+system, "--output=jsonpath={range .items[*]}{.spec}{.data}{end}") +
		h.kubectl("", "get", "crd", "--output=jsonpath={range .items[*]}{.metadata.name} {.metadata.generation} {end}")
}

// clusterWide returns the names of all objects that an installation can leave outside of its namespace.
func (h *helm) clusterWide() string {
	h.t.Helper()
	return h.kubectl("", "get", "crd,clusterroles,clusterrolebindings,priorityclasses,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces", "--output=name") +
		h.kubectl("", "get", "roles,rolebindings,configmaps,secrets", "--all-namespaces", "--output=jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {end}")
}
