package controller_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/adler32"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/testcluster/binaries"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// lastRelease returns the tag of the last release before this commit. It skips the test if there is none.
func lastRelease(t *testing.T, root string) string {
	t.Helper()
	git := func(arguments ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, arguments...)...).Output()
		require.NoError(t, err, "git %s", arguments)
		return strings.TrimSpace(string(out))
	}
	require.Equal(t, "false", git("rev-parse", "--is-shallow-repository"), "this clone may lack releases: run `git fetch --unshallow --tags`, then test again")
	for tag := range strings.FieldsSeq(git("tag", "--list", "v*", "--merged", "HEAD^", "--sort=-version:refname")) {
		if !strings.Contains(tag, "-") { // not v0.2.0-rc.1
			return tag
		}
	}
	t.Skip("no release yet")
	return ""
}

// sourcesOf extracts the sources of a release.
func sourcesOf(t *testing.T, root, release string) string {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "sources.tar")
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "archive", "-o", archive, release).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), "tar", "-x", "-C", dir, "-f", archive).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// buildController compiles the controller of a directory, with a version for the user agent.
func buildController(t *testing.T, dir, version string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), version)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-X holdfast.dev/holdfast/internal/version.number="+version, "-o", binary, "./cmd/holdfast-controller")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// runBinary runs a controller, and returns a function that ends it.
func (f *fixture) runBinary(binary string) (stop func()) {
	f.t.Helper()
	run := exec.Command(binary, "--kubeconfig", f.cluster.Kubeconfig(), "--leader-elect=false", "--metrics-bind-address=0",
		"--callback-bind-address=127.0.0.1:0", "--callback-external-url=https://callback.example.com", "--callback-namespace=default")
	log, err := run.StderrPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, run.Start())
	ended, holding, lines := make(chan struct{}), make(chan struct{}), []string(nil)
	go func() {
		defer close(ended)
		for all := bufio.NewScanner(log); all.Scan(); {
			if lines = append(lines, all.Text()); strings.Contains(all.Text(), "Holding Applications") {
				close(holding)
				break
			}
		}
		_, _ = io.Copy(io.Discard, log)
	}()
	stop = func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = run.Wait()
	}
	f.t.Cleanup(stop)
	select {
	case <-holding:
	case <-ended:
		f.t.Fatalf("the controller ended: %s", strings.Join(lines, "\n"))
	case <-time.After(patience):
		f.t.Fatalf("the controller is not ready")
	}
	return stop
}

// redefine replaces the definitions with those of a directory, and waits until the API server uses them: it then
// stores a field of the status with this name.
func (f *fixture) redefine(root, name string) {
	f.t.Helper()
	for _, resource := range []string{"applications", "applicationslices", "holdprofiles"} {
		raw, err := os.ReadFile(filepath.Join(root, "deploy", "crd", "holdfast.dev_"+resource+".yaml"))
		require.NoError(f.t, err)
		f.replaceDefinition(strings.Replace(string(raw), "              summary:\n", "              "+name+": {type: string}\n              summary:\n", 1))
	}
	f.eventually("the definitions of "+root, func() bool {
		probe, err := f.in("admin", applications).Patch(f.t.Context(), "probe", types.MergePatchType, []byte(`{"status":{"`+name+`":"x"}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return err == nil && value(probe.Object, "status", name) != nil
	})
}

// featured are golden cases that together use each feature. The test adds a fifth of the others.
var featured = []string{
	"a-closed-map-of-a-shared-object-loses-keys-for-good", "a-field-that-is-held-later-is-restored", "a-field-that-is-released-by-hand-is-left-or-restored",
	"a-field-with-a-rule-is-left-when-the-manifest-drops-it", "a-manifest-that-holds-a-schema-is-held-leaf-by-leaf", "a-possible-accepted-form-is-doubtful-drift",
	"a-set-of-fields-follows-the-manifest", "a-server-added-element-does-not-allow-more-elements", "an-observe-only-application-can-be-suspended",
	"atomic-maps-are-one-value-under-the-default-schema", "elements-are-added-to-selected-objects", "equal-amounts-of-a-quantity-are-equal",
	"fields-apply-to-a-written-schema", "lengths-of-lists-are-only-reported", "a-shared-object-is-never-deleted",
	"pushed-fields-are-written-when-the-manifest-changes", "resources-are-created-in-stages", "the-complete-hook-under-a-schema-that-only-identifies",
	"the-mode-of-a-field-decides-over-its-map", "adoption-always-adopts-any-object-with-the-name", "a-released-shared-object-is-restored",
}

// upgraded is an Application that lives through upgrades and downgrades.
type upgraded struct {
	*agreement
	before  *v1alpha1.Application
	objects map[string]map[string]any
	// drifted is the name of the object that has drifted, path the drifted field, and foreign its value.
	drifted string
	path    []string
	foreign any
}

// look records the status and the objects.
func (u *upgraded) look() {
	u.before, u.objects, u.drifted = u.f.Application(u.app), map[string]map[string]any{}, ""
	for _, r := range u.before.Status.Resources {
		if object := u.f.live(r.ResourceReference); object != nil {
			u.objects[r.Kind+"/"+r.Namespace+"/"+r.Name] = object
		}
	}
}

// live returns the object of an inventory entry, or nil.
func (f *fixture) live(r v1alpha1.ResourceReference) map[string]any {
	f.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(r.APIVersion)
	u.SetKind(r.Kind)
	client := f.As("user").Resource(resourceOf(u))
	read := client.Get
	if r.Namespace != "" {
		read = client.Namespace(r.Namespace).Get
	}
	object, err := read(f.t.Context(), r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return object.Object
}

// isHeld reports whether drift of the Application is corrected.
func (u *upgraded) isHeld() bool {
	spec := u.before.Spec
	return apimeta.IsStatusConditionTrue(u.before.Status.Conditions, v1alpha1.ConditionHeld) && spec.Mode != v1alpha1.ModeObserve && !spec.Suspend
}

// drift changes the first held field, outside of lists, that the API server lets another client change.
func (u *upgraded) drift() {
	for i, raw := range u.before.Status.MangledObserverSchema {
		var entry map[string]any
		require.NoError(u.f.t, json.Unmarshal(raw.Raw, &entry))
		if i >= len(u.before.Status.Resources) {
			return
		}
		r := u.before.Status.Resources[i].ResourceReference
		name := r.Kind + "/" + r.Namespace + "/" + r.Name
		live := u.objects[name]
		for _, path := range heldPaths(entry) {
			if u.changes(r, live, path) {
				u.drifted, u.path = name, path
				return
			}
		}
	}
}

// heldPaths returns the paths of the leaves of a schema below maps.
func heldPaths(entry map[string]any) (paths [][]string) {
	for _, name := range slices.Sorted(maps.Keys(entry)) {
		switch child := entry[name].(type) {
		case string:
			if child == "observed" && name != "namespace" {
				paths = append(paths, []string{name})
			}
		case map[string]any:
			if name == "status" || name == "selector" {
				continue
			}
			for _, path := range heldPaths(child) {
				paths = append(paths, append([]string{name}, path...))
			}
		}
	}
	return paths
}

// changes changes a text or a number of a live object, and reports whether the API server has stored that.
func (u *upgraded) changes(r v1alpha1.ResourceReference, live map[string]any, path []string) bool {
	var other any
	switch was := value(live, path...).(type) {
	case string:
		if other = "drifted"; r.Kind == "Secret" {
			other = base64.StdEncoding.EncodeToString([]byte("drifted"))
		}
	case int64:
		other = was + 1
	default:
		return false
	}
	patch := map[string]any{}
	observertest.Set(patch, other, path...)
	body, err := json.Marshal(patch)
	require.NoError(u.f.t, err)
	object := &unstructured.Unstructured{Object: live}
	client := u.f.As("mallory").Resource(resourceOf(object))
	write := client.Patch
	if r.Namespace != "" {
		write = client.Namespace(r.Namespace).Patch
	}
	changed, err := write(u.f.t.Context(), r.Name, types.MergePatchType, body, metav1.PatchOptions{})
	u.foreign = other
	return err == nil && value(changed.Object, path...) == other
}

// check asserts that drift is corrected, that nothing else is written, and that nothing is lost.
func (u *upgraded) check(t *testing.T) {
	for _, r := range u.before.Status.Resources {
		name := r.Kind + "/" + r.Namespace + "/" + r.Name
		was := u.objects[name]
		if was == nil {
			continue
		}
		is := u.f.live(r.ResourceReference)
		require.NotNil(t, is, "%s is lost", name)
		assert.Equal(t, value(was, "metadata", "uid"), value(is, "metadata", "uid"), name)
		if name != u.drifted {
			assert.Equal(t, value(was, "metadata", "resourceVersion"), value(is, "metadata", "resourceVersion"), "%s did not drift, and was written", name)
		} else {
			assert.NotEqual(t, u.foreign, value(is, u.path...), "%s: %v", name, u.path)
		}
	}
	app := u.f.Application(u.app)
	if u.drifted == "" {
		assert.Equal(t, u.before.ResourceVersion, app.ResourceVersion, "at rest, an upgrade does not write the Application")
		return
	}
	assert.JSONEq(t, records(t, u.before), records(t, app))
}

// records returns the parts of a status that a controller depends on.
func records(t *testing.T, app *v1alpha1.Application) string {
	t.Helper()
	s := app.Status.DeepCopy()
	for i := range s.Resources {
		s.Resources[i].LastCorrection = nil
	}
	raw, err := json.Marshal(map[string]any{
		"resources": s.Resources, "accepted": s.Accepted, "schemas": s.MangledObserverSchema, "desired": s.LastAppliedManifest, "conditions": len(s.Conditions),
	})
	require.NoError(t, err)
	return string(raw)
}

// TestUpgradeAndDowngrade runs the golden cases of the last release with its controller, with the one of this tree, and
// with the older one again. Meanwhile, half of the objects drift while no controller runs.
func TestUpgradeAndDowngrade(t *testing.T) {
	if !samples.Of(false, true) {
		return // it compiles two controllers
	}
	root, err := binaries.Root()
	require.NoError(t, err)
	oldRoot := sourcesOf(t, root, lastRelease(t, root))
	oldBinary, newBinary := buildController(t, oldRoot, "old"), buildController(t, root, "new")

	f := givenAlone(t, testcluster.Options{})
	f.agent = "holdfast-controller/"
	f.grantAll()
	f.defineExamples()
	f.Submit("probe", "{suspend: true, manifest: []}")
	f.redefine(oldRoot, "older")
	directories, err := filepath.Glob(filepath.Join(oldRoot, "testdata", "plan", "*", "application.yaml"))
	require.NoError(t, err)
	var all []*upgraded
	for _, file := range directories {
		directory := filepath.Dir(file)
		name := filepath.Base(directory)
		_, profiled := os.Stat(filepath.Join(directory, "profiles.yaml"))
		plan, err := os.ReadFile(filepath.Join(directory, "plan.golden.yaml"))
		require.NoError(t, err)
		if !slices.Contains(featured, name) && adler32.Checksum([]byte(name))%5 != 0 || cannotBe[name] != "" || strings.HasPrefix(name, "worked-example-") || profiled == nil || strings.Contains(string(plan), "\nrefused:\n") {
			continue
		}
		c, err := f.put(t, name, readCase(t, directory))
		require.NoError(t, err, name)
		c.f.t = t
		all = append(all, &upgraded{agreement: c})
	}
	stop := f.runBinary(oldBinary)
	for _, u := range all {
		u.f.AwaitApplication(u.app, "looked at", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) > 0 })
	}
	all = atRest(all)
	f.Quiet(5 * time.Second)
	all = correctable(all)
	require.GreaterOrEqual(t, len(all), 40)
	f.Quiet(5 * time.Second)
	stop()
	stop = f.runBinary(oldBinary) // a restart removes reports of single events from statuses, with any version
	f.Quiet(5 * time.Second)

	step := func(name string, parity int, between func(), binary string) {
		stop()
		drifted := 0
		for i, u := range all {
			if u.look(); i%2 == parity && u.isHeld() {
				if u.drift(); u.drifted != "" {
					drifted++
				}
			}
		}
		require.GreaterOrEqual(t, drifted, 5)
		between()
		f.Mark()
		stop = f.runBinary(binary)
		for _, u := range all {
			if u.drifted != "" {
				f.eventually("the correction of "+u.name+": "+u.drifted, func() bool { return u.corrected() })
			}
		}
		f.Quiet(5 * time.Second)
		t.Run(name, func(t *testing.T) {
			for _, u := range all {
				t.Run(u.name, u.check)
			}
			calm := map[string]bool{}
			for _, u := range all {
				calm[u.f.namespace] = u.drifted == ""
			}
			for _, r := range f.Requests().Writes().Where(noEvent) {
				if r.Code < http.StatusBadRequest && calm[r.Namespace] {
					assert.Fail(t, "a write without drift", "%s", r)
				}
			}
		})
	}
	f.Submit("edited", twoConfigMaps)
	f.AwaitReady("edited")
	step("upgrade", 0, func() { f.redefine(root, "newer") }, newBinary)
	step("downgrade", 1, func() {}, oldBinary)
	f.Patch("user", applications, "edited", `{spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: edited}}]}}`)
	f.AwaitValue(configMaps, "settings", "edited", "data", "a") // by the older controller, with the newer definitions
	f.AwaitReady("edited")
	step("older definitions", 0, func() { f.redefine(oldRoot, "older") }, oldBinary)
	step("upgrade again", 1, func() { f.redefine(root, "newer") }, newBinary)
	f.AwaitReady("edited")
}

// atRest returns the Applications that the API server accepts and that need no user, and deletes the others, whose
// requests are retried again and again.
func atRest(all []*upgraded) []*upgraded {
	return slices.DeleteFunc(all, func(u *upgraded) bool {
		u.look()
		if apimeta.IsStatusConditionTrue(u.before.Status.Conditions, v1alpha1.ConditionHeld) || u.before.Spec.Mode == v1alpha1.ModeObserve || u.before.Spec.Suspend {
			return false
		}
		u.f.Patch("admin", applications, u.app, "{metadata: {finalizers: null}}")
		u.f.Delete(applications, u.app)
		return true
	})
}

// correctable makes each held Application drift, and returns those without uncorrected drift. The others are invented:
// no API server accepts what they desire.
func correctable(all []*upgraded) []*upgraded {
	for _, u := range all {
		if u.look(); u.isHeld() {
			u.drift()
		}
	}
	isWrong := func(u *upgraded) bool { return u.drifted != "" && !u.corrected() }
	_ = wait.PollUntilContextTimeout(all[0].f.t.Context(), time.Second, 20*time.Second, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(all, isWrong), nil
	})
	return slices.DeleteFunc(all, isWrong)
}

// corrected reports whether the drifted field has a desired value again, which may be another accepted form of it.
func (u *upgraded) corrected() bool {
	for _, r := range u.before.Status.Resources {
		if name := r.Kind + "/" + r.Namespace + "/" + r.Name; name == u.drifted {
			return value(u.f.live(r.ResourceReference), u.path...) != u.foreign
		}
	}
	return false
}
