package hooks

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// The location of the callback certificate in Pods.
const (
	volumeName = "holdfast-callback"
	// MountPath is the directory in each container with the file ca.crt.
	MountPath = "/var/run/secrets/holdfast.dev/callback"
	// caKey is the key of the bundle in the Secret, and the name of its file.
	caKey = "ca.crt"
)

// Callback describes how workloads reach the controller. The command line uses the zero value.
type Callback struct {
	// URL is the base URL of all callbacks. It is empty if it is unknown, for example if a plan is made
	// without a cluster. Then the address in the existing Secrets is used, or a placeholder.
	URL string
	// CA is the PEM bundle that verifies the server. It is empty if the system's certificates verify it.
	CA []byte
}

// Mangle listens to ApplicationMangling. It adds a Secret with the addresses and tokens of the callbacks to each
// namespace with Pods of the Application, before all other objects. It also adds the variables, volumes and mounts
// that Pods need to use the Secret. An Application without hooks is unchanged.
// Source: docs/hooks.md.
func (c Callback) Mangle(m *Mangling) error {
	purposes := Purposes(m.Application)
	if len(purposes) == 0 {
		return nil
	}
	if name := duplicateName(variables(m.Application)); name != "" {
		return fmt.Errorf("spec.hooks: two variables have the name %s: each needs its own", name)
	}
	objects := slices.Clone(m.Objects)
	namespaces, makesPods := secretNamespaces(m)
	if c.URL == "" {
		c = callbackInCluster(m, namespaces)
	}
	for i, o := range objects {
		if podSpec(o) == nil {
			continue
		}
		// A listener must not change the given objects, which are the manifests before hooks.
		o.Content = observer.CopyMap(o.Content)
		m.Warnings = append(m.Warnings, c.inject(m.Application, o)...)
		objects[i] = o
	}
	// The hook reconcile adds no variables: see docs/hooks.md.
	if !makesPods && len(variables(m.Application)) > 0 {
		m.Warnings = append(m.Warnings, "spec.hooks: no manifest creates Pods, so no workload gets the address of the callback")
	}
	var added []manifest.Object
	for _, namespace := range namespaces {
		secret := c.secret(m.Application, namespace, purposes)
		if taken := slices.IndexFunc(objects, func(o manifest.Object) bool { return o.ID == secret.ID }); taken >= 0 {
			return fmt.Errorf("%s has the name of the Secret that spec.hooks needs: rename it", secret.ID)
		}
		added = append(added, secret)
	}
	m.Objects = slices.Concat(added, objects)
	return nil
}

// secretNamespaces returns the namespaces that get a Secret, sorted: the Application's own, and those with its Pods.
// makesPods reports whether there are any Pods.
func secretNamespaces(m *Mangling) (namespaces []string, makesPods bool) {
	namespaces = []string{m.Application.Namespace}
	for _, o := range m.Objects {
		if podSpec(o) != nil {
			namespaces, makesPods = append(namespaces, o.ID.Namespace), true
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), makesPods
}

// callbackInCluster returns the callback in the existing Secrets of the Application. It ignores Secrets that another
// client has created. It returns the zero value if there is none.
func callbackInCluster(m *Mangling, namespaces []string) Callback {
	app := m.Application
	for _, namespace := range namespaces {
		secret := m.Live[manifest.ID{Kind: "Secret", Namespace: namespace, Name: SecretName(app)}]
		if uid := string(app.UID); uid != "" && manifest.NestedString(secret, "metadata", "labels", v1alpha1.LabelApplicationUID) != uid {
			continue
		}
		data, _ := secret["data"].(map[string]any)
		for _, purpose := range allPurposes {
			address := string(decodeSecretValue(data[urlKey(purpose)]))
			if base, ok := strings.CutSuffix(address, CallbackPath(app.Namespace, app.Name, purpose)); ok {
				return Callback{URL: base, CA: decodeSecretValue(data[caKey])}
			}
		}
	}
	return Callback{}
}

// decodeSecretValue decodes a value of a Secret. It returns nil if the value is invalid.
func decodeSecretValue(value any) []byte {
	text, _ := value.(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return raw
}

// secret returns the Secret for one namespace. It has no tokens: the annotation makes Generate add them to the create
// request, so that they are in no status and no plan.
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
	if c.needsBundle() {
		data[caKey] = c.value(string(c.CA))
	}
	metadata["annotations"] = map[string]any{v1alpha1.AnnotationGenerate: generatedTokens()}
	return manifest.Object{ID: id, APIVersion: "v1", Position: -1, Content: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data,
	}}
}

// generatedTokens returns the holdfast.dev/generate annotation with one token for each purpose, used or
// not. If a hook is added later, its token is already in the Secret. Until then the token is not valid.
func generatedTokens() string {
	var keys []string
	for _, purpose := range allPurposes {
		keys = append(keys, fmt.Sprintf("%s:%d", tokenKey(purpose), tokenLength))
	}
	return strings.Join(keys, ",")
}

// placeholder is the value in a plan for values that only the controller knows.
const placeholder = "set by the controller"

// value returns the value in base64, or the placeholder if the URL is unknown.
func (c Callback) value(text string) string {
	if c.URL == "" {
		text = placeholder
	}
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// needsBundle reports whether Pods need a bundle to verify the server. Without a URL, this is unknown, and the plan
// shows the bundle.
func (c Callback) needsBundle() bool { return c.URL == "" || len(c.CA) > 0 }

// NeedAddresses listens to ApplicationMangling and is called after Mangle. It rejects hooks without a
// callback address: the URL is unknown, and no existing Secret contains one.
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

// inject adds the variables, volume and mounts to the Pods of an object, whose content it changes. It does not change
// what the manifest already contains, and returns a warning for each such conflict.
func (c Callback) inject(app *v1alpha1.Application, o manifest.Object) (warnings []string) {
	spec := podSpec(o)
	warn := func(format string, args ...any) {
		warnings = append(warnings, o.ID.String()+": "+fmt.Sprintf(format, args...))
	}
	for _, container := range containers(spec) {
		for _, v := range variables(app) {
			if !appendNamed(container, "env", v.fromSecret(SecretName(app))) {
				warn("container %v already sets %s, which is not changed", container["name"], v.name)
			}
		}
	}
	if !c.needsBundle() {
		return warnings
	}
	if !addVolume(spec, SecretName(app)) {
		warn("it already has a volume %s, so %s is not mounted", volumeName, caKey)
		return warnings
	}
	for _, container := range containers(spec) {
		if !addMount(container) {
			warn("container %v already mounts %s, or another volume at %s, which is not changed", container["name"], volumeName, MountPath)
		}
	}
	return warnings
}

// addVolume adds the volume with the bundle, unless another volume has its name. It reports whether the Pod then
// contains the volume.
func addVolume(spec map[string]any, secret string) bool {
	volume := map[string]any{"name": volumeName, "secret": map[string]any{
		"secretName": secret,
		"items":      []any{map[string]any{"key": caKey, "path": caKey}},
	}}
	if appendNamed(spec, "volumes", volume) {
		return true
	}
	return manifest.NestedString(elementNamed(spec, "volumes", volumeName), "secret", "secretName") == secret
}

// addMount adds the mount, unless the container already has one at the path: a container cannot mount two volumes
// there. It reports whether the container then contains the mount.
func addMount(container map[string]any) bool {
	for _, mount := range manifest.NestedMaps(container, "volumeMounts") {
		if mount["name"] == volumeName || mount["mountPath"] == MountPath {
			return mount["name"] == volumeName && mount["mountPath"] == MountPath
		}
	}
	return appendNamed(container, "volumeMounts", map[string]any{"name": volumeName, "mountPath": MountPath, "readOnly": true})
}

// variable is an environment variable whose value is a key of the Secret.
type variable struct{ name, key string }

// fromSecret returns the variable as an element of the env list of a container.
func (v variable) fromSecret(secret string) map[string]any {
	return map[string]any{"name": v.name, "valueFrom": map[string]any{
		"secretKeyRef": map[string]any{"name": secret, "key": v.key},
	}}
}

// variables returns the variables that each container gets. The user can change their names in spec.hooks.
func variables(app *v1alpha1.Application) []variable {
	var all []variable
	if hook := app.Spec.Hooks.Complete; hook != nil {
		all = append(all,
			variable{cmp.Or(hook.URLVariable, "HOLDFAST_COMPLETE_URL"), urlKey(Complete)},
			variable{cmp.Or(hook.TokenVariable, "HOLDFAST_COMPLETE_TOKEN"), tokenKey(Complete)})
	}
	if hook := app.Spec.Hooks.Shutdown; hook != nil {
		all = append(all,
			variable{cmp.Or(hook.URLVariable, "HOLDFAST_SHUTDOWN_URL"), urlKey(Shutdown)},
			variable{cmp.Or(hook.TokenVariable, "HOLDFAST_SHUTDOWN_TOKEN"), tokenKey(Shutdown)})
	}
	return all
}

// duplicateName returns a name that two variables share, or "".
func duplicateName(all []variable) string {
	for i, v := range all {
		if slices.ContainsFunc(all[:i], func(other variable) bool { return other.name == v.name }) {
			return v.name
		}
	}
	return ""
}
