package hooks

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Where Pods find what they need for a callback.
const (
	volumeName = "holdfast-callback"
	// MountPath is the directory in each container with the file ca.crt.
	MountPath = "/var/run/secrets/holdfast.dev/callback"
	caKey     = "ca.crt"
)

// Callback is how workloads reach the controller.
type Callback struct {
	// URL is the base of every callback's address; empty if it is not known, as
	// when a plan is made without a cluster. What the Secrets in the cluster have
	// from before, or a placeholder, then stands for it.
	URL string
	// CA is the PEM bundle that verifies the server; empty if the system's
	// certificates do.
	CA []byte
}

// Mangle is a listener of ApplicationMangling: it adds the Secret with the
// addresses and tokens of the callbacks, before everything else, in each
// namespace that has Pods of the Application, and what Pods need to use it.
func (c Callback) Mangle(m *Mangling) error {
	purposes := Purposes(m.Application)
	if len(purposes) == 0 {
		return nil
	}
	if name := twice(variables(m.Application)); name != "" {
		return fmt.Errorf("spec.hooks: two variables have the name %s: each needs its own", name)
	}
	objects := slices.Clone(m.Objects)
	namespaces, makesPods := namespacesOf(m)
	if c.URL == "" {
		c = before(m, namespaces)
	}
	for i, o := range objects {
		if podSpec(o) == nil {
			continue
		}
		o.Content = observer.CopyMap(o.Content)
		m.Warnings = append(m.Warnings, c.inject(m.Application, o)...)
		objects[i] = o
	}
	if !makesPods && injected(m.Application) {
		m.Warnings = append(m.Warnings, "spec.hooks: no manifest makes Pods, so the address of the callback is given to no workload")
	}
	var added []manifest.Object
	for _, namespace := range namespaces {
		secret := c.secret(m.Application, namespace, purposes)
		if taken := slices.IndexFunc(objects, func(o manifest.Object) bool { return o.ID == secret.ID }); taken >= 0 {
			return fmt.Errorf("%s is a manifest, and the name of the Secret that spec.hooks needs: give it another name", secret.ID)
		}
		added = append(added, secret)
	}
	m.Objects = slices.Concat(added, objects)
	return nil
}

// namespacesOf are the namespaces that get a Secret: the Application's own, and those
// with its Pods. makesPods reports whether there are any Pods.
func namespacesOf(m *Mangling) (namespaces []string, makesPods bool) {
	namespaces = []string{m.Application.Namespace}
	for _, o := range m.Objects {
		if podSpec(o) != nil {
			namespaces, makesPods = append(namespaces, o.ID.Namespace), true
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), makesPods
}

// before is the callback that the Application's Secrets in the cluster have. What
// another client has made is not trusted.
func before(m *Mangling, namespaces []string) Callback {
	app := m.Application
	for _, namespace := range namespaces {
		secret := m.Live[manifest.ID{Kind: "Secret", Namespace: namespace, Name: SecretName(app)}]
		metadata, _ := secret["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		if uid := string(app.UID); uid != "" && labels[v1alpha1.LabelApplicationUID] != uid {
			continue
		}
		data, _ := secret["data"].(map[string]any)
		for _, purpose := range []Purpose{Complete, Shutdown, Reconcile} {
			address := string(decoded(data[urlKey(purpose)]))
			if base, ok := strings.CutSuffix(address, CallbackPath(app.Namespace, app.Name, purpose)); ok {
				return Callback{URL: base, CA: decoded(data[caKey])}
			}
		}
	}
	return Callback{}
}

// decoded is a value of a Secret; nil if it is none.
func decoded(value any) []byte {
	text, _ := value.(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return raw
}

// injected reports whether Pods are told anything.
func injected(app *v1alpha1.Application) bool {
	return app.Spec.Hooks.Complete != nil || app.Spec.Hooks.Shutdown != nil
}

// secret is the Secret of one namespace.
func (c Callback) secret(app *v1alpha1.Application, namespace string, purposes []Purpose) manifest.Object {
	id := manifest.ID{Kind: "Secret", Namespace: namespace, Name: SecretName(app)}
	metadata := map[string]any{"name": id.Name}
	if namespace != app.Namespace {
		metadata["namespace"] = namespace
	}
	data := map[string]any{}
	for _, purpose := range purposes {
		data[urlKey(purpose)] = c.value(c.URL + CallbackPath(app.Namespace, app.Name, purpose))
	}
	if c.verified() {
		data[caKey] = c.value(string(c.CA))
	}
	metadata["annotations"] = map[string]any{v1alpha1.AnnotationGenerate: generatedTokens()}
	return manifest.Object{ID: id, APIVersion: "v1", Position: -1, Content: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data,
	}}
}

// generatedTokens has a token made for each purpose there is: a hook that is
// added later finds its own, in a Secret that is there already. Until then it is
// good for nothing.
func generatedTokens() string {
	var keys []string
	for _, purpose := range []Purpose{Complete, Shutdown, Reconcile} {
		keys = append(keys, fmt.Sprintf("%s:%d", tokenKey(purpose), tokenLength))
	}
	return strings.Join(keys, ",")
}

// placeholder stands in a plan for what only the controller knows.
const placeholder = "set by the controller"

// value is a value of the Secret.
func (c Callback) value(text string) string {
	if c.URL == "" {
		text = placeholder
	}
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// verified reports whether Pods need a bundle to verify the server.
func (c Callback) verified() bool { return c.URL == "" || len(c.CA) > 0 }

// NeedAddresses is a listener of ApplicationMangling, after Mangle. It refuses hooks
// whose callbacks have no address: none is known, and no Secret in the cluster has one
// from before.
func NeedAddresses(m *Mangling) error {
	unknown := Callback{}.value("")
	for _, o := range m.Objects {
		data, _ := o.Content["data"].(map[string]any)
		for _, purpose := range Purposes(m.Application) {
			if manifest.IsSecret(o.ID.GroupKind()) && o.ID.Name == SecretName(m.Application) && data[urlKey(purpose)] == unknown {
				return errors.New("spec.hooks needs the callback server, which is off (--callback-bind-address) or has no certificate yet")
			}
		}
	}
	return nil
}

// inject tells the containers of an object's Pods the addresses and tokens. What the
// manifest has already stays as it is.
func (c Callback) inject(app *v1alpha1.Application, o manifest.Object) (warnings []string) {
	spec := podSpec(o)
	warn := func(format string, args ...any) {
		warnings = append(warnings, o.ID.String()+": "+fmt.Sprintf(format, args...))
	}
	for _, container := range containers(spec) {
		for _, v := range variables(app) {
			if !appendNamed(container, "env", v.fromSecret(SecretName(app))) {
				warn("container %v sets %s itself: it is left as it is", container["name"], v.name)
			}
		}
	}
	if !c.verified() {
		return warnings
	}
	if !addVolume(spec, SecretName(app)) {
		warn("it has a volume %s itself, so %s is not mounted", volumeName, caKey)
		return warnings
	}
	for _, container := range containers(spec) {
		if !addMount(container) {
			warn("container %v mounts %s, or something at %s, itself: it is left as it is", container["name"], volumeName, MountPath)
		}
	}
	return warnings
}

// addVolume adds the volume with the bundle, unless another one has its name.
func addVolume(spec map[string]any, secret string) bool {
	volume := map[string]any{"name": volumeName, "secret": map[string]any{
		"secretName": secret,
		"items":      []any{map[string]any{"key": caKey, "path": caKey}},
	}}
	if appendNamed(spec, "volumes", volume) {
		return true
	}
	source, _ := named(spec, "volumes", volumeName)["secret"].(map[string]any)
	return source["secretName"] == secret
}

// addMount mounts it, unless the container does, or has something else in its place:
// one container cannot mount two volumes there.
func addMount(container map[string]any) bool {
	list, _ := container["volumeMounts"].([]any)
	for _, item := range list {
		mount, _ := item.(map[string]any)
		if mount["name"] == volumeName || mount["mountPath"] == MountPath {
			return mount["name"] == volumeName && mount["mountPath"] == MountPath
		}
	}
	return appendNamed(container, "volumeMounts", map[string]any{"name": volumeName, "mountPath": MountPath, "readOnly": true})
}

// variable is an environment variable with a key of the Secret.
type variable struct{ name, key string }

func (v variable) fromSecret(secret string) map[string]any {
	return map[string]any{"name": v.name, "valueFrom": map[string]any{
		"secretKeyRef": map[string]any{"name": secret, "key": v.key},
	}}
}

// variables are those that each container gets.
func variables(app *v1alpha1.Application) []variable {
	var all []variable
	if hook := app.Spec.Hooks.Complete; hook != nil {
		all = append(all,
			variable{or(hook.URLVariable, "HOLDFAST_COMPLETE_URL"), urlKey(Complete)},
			variable{or(hook.TokenVariable, "HOLDFAST_COMPLETE_TOKEN"), tokenKey(Complete)})
	}
	if hook := app.Spec.Hooks.Shutdown; hook != nil {
		all = append(all,
			variable{or(hook.URLVariable, "HOLDFAST_SHUTDOWN_URL"), urlKey(Shutdown)},
			variable{or(hook.TokenVariable, "HOLDFAST_SHUTDOWN_TOKEN"), tokenKey(Shutdown)})
	}
	return all
}

// twice is a name that two variables have, "" if none is.
func twice(all []variable) string {
	for i, v := range all {
		if slices.ContainsFunc(all[:i], func(other variable) bool { return other.name == v.name }) {
			return v.name
		}
	}
	return ""
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
