package hooks

import (
	"encoding/base64"
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
	// when a plan is made without a cluster. What is live, or a placeholder, then
	// stands for it.
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
	objects := slices.Clone(m.Objects)
	namespaces := map[string]bool{m.Application.Namespace: true}
	makesPods := false
	for i, o := range objects {
		if podSpec(o) == nil {
			continue
		}
		makesPods = true
		namespaces[o.ID.Namespace] = true
		o.Content = observer.CopyMap(o.Content)
		m.Warnings = append(m.Warnings, c.inject(m.Application, o)...)
		objects[i] = o
	}
	if !makesPods && injected(m.Application) {
		m.Warnings = append(m.Warnings, "spec.hooks: no manifest makes Pods, so nobody is told the address of the callback")
	}
	var added []manifest.Object
	for _, namespace := range sortedNames(namespaces) {
		secret := c.secret(m, namespace, purposes)
		if taken := slices.IndexFunc(objects, func(o manifest.Object) bool { return o.ID == secret.ID }); taken >= 0 {
			return fmt.Errorf("%s is a manifest, and the name of the Secret that spec.hooks needs: give it another name", secret.ID)
		}
		added = append(added, secret)
	}
	m.Objects = slices.Concat(added, objects)
	return nil
}

// injected tells whether Pods are told anything.
func injected(app *v1alpha1.Application) bool {
	return app.Spec.Hooks.Complete != nil || app.Spec.Hooks.Shutdown != nil
}

// secret is the Secret of one namespace.
func (c Callback) secret(m *Mangling, namespace string, purposes []Purpose) manifest.Object {
	app := m.Application
	id := manifest.ID{Kind: "Secret", Namespace: namespace, Name: SecretName(app)}
	metadata := map[string]any{"name": id.Name}
	if namespace != app.Namespace {
		metadata["namespace"] = namespace
	}
	data, live := map[string]any{}, dataOf(m.Live[id])
	for _, purpose := range purposes {
		url := c.URL + CallbackPath(app.Namespace, app.Name, purpose)
		data[urlKey(purpose)] = c.value(url, live[urlKey(purpose)])
	}
	if c.verified(live) {
		data[caKey] = c.value(string(c.CA), live[caKey])
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

// value is a value of the Secret: what the cluster has, if the callback is not
// known here.
func (c Callback) value(known string, live any) string {
	if text, ok := live.(string); c.URL == "" && ok {
		return text
	}
	if c.URL == "" {
		known = "set by the controller"
	}
	return base64.StdEncoding.EncodeToString([]byte(known))
}

// verified tells whether Pods need a bundle to verify the server.
func (c Callback) verified(live map[string]any) bool {
	if c.URL != "" {
		return len(c.CA) > 0
	}
	_, has := live[caKey]
	return has || live == nil
}

// inject tells the containers of an object's Pods the addresses and tokens.
func (c Callback) inject(app *v1alpha1.Application, o manifest.Object) (warnings []string) {
	spec := podSpec(o)
	verified := c.URL == "" || len(c.CA) > 0
	for _, container := range containers(spec) {
		for _, v := range variables(app) {
			if !appendNamed(container, "env", v.fromSecret(SecretName(app))) {
				warnings = append(warnings, fmt.Sprintf("%s: container %v sets %s itself: it is left as it is", o.ID, container["name"], v.name))
			}
		}
		if verified {
			appendNamed(container, "volumeMounts", map[string]any{"name": volumeName, "mountPath": MountPath, "readOnly": true})
		}
	}
	if verified {
		appendNamed(spec, "volumes", map[string]any{"name": volumeName, "secret": map[string]any{
			"secretName": SecretName(app),
			"items":      []any{map[string]any{"key": caKey, "path": caKey}},
		}})
	}
	return warnings
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

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func dataOf(object map[string]any) map[string]any {
	data, _ := object["data"].(map[string]any)
	return data
}

func sortedNames(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
