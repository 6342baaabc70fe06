package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// subject is a program that holds objects, Holdfast or another one, and how to make it hold one ConfigMap
// through a custom resource.
type subject struct {
	name        string
	program     string // its file in bin
	arguments   []string
	environment []string // additional variables besides KUBECONFIG
	definitions string   // pattern for the files of its CRDs
	// mend fixes a CRD that does not work as shipped. It can be nil.
	mend func(definition *unstructured.Unstructured)
	// setup returns objects to create once before the program starts. It can be nil.
	setup func(kubeconfig string) []setupObject
	kind  schema.GroupVersionResource
	// before returns an object that must exist before the resource. It can be nil.
	before   func(name string) *unstructured.Unstructured
	resource func(name string) *unstructured.Unstructured
	isReady  func(resource *unstructured.Unstructured) bool
}

// setupObject has a namespace if its kind is namespaced.
type setupObject struct {
	kind   schema.GroupVersionResource
	object *unstructured.Unstructured
}

// subjects returns all programs to compare. directory is for files that they need.
func subjects(ctx context.Context, root, directory string) ([]subject, error) {
	all := holdfast(root)
	for _, other := range []func(context.Context, string, string) ([]subject, error){kro, providerKubernetes, operatorUtils, kustomizeController, argoCD} {
		more, err := other(ctx, root, directory)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// holdfast returns two subjects: with Applications as kubectl and others create them, and with those of
// `holdfast submit`, which contain the write-ahead record of the controller.
func holdfast(root string) []subject {
	plain := subject{
		name: "Holdfast", program: "holdfast-controller",
		arguments:   []string{"--leader-elect=false", "--metrics-bind-address=0", "--callback-bind-address=0"},
		definitions: filepath.Join(root, "deploy", "crd", "*.yaml"),
		setup:       func(string) []setupObject { return applier() },
		kind:        v1alpha1.GroupVersionResource,
		resource:    func(name string) *unstructured.Unstructured { return application(name, name) },
		isReady:     ready,
	}
	submitted := plain
	submitted.name = "Holdfast, `holdfast submit`"
	submitted.resource = func(name string) *unstructured.Unstructured {
		u := application(name, name)
		annotations, err := ahead(u)
		if err != nil {
			panic(err) // cannot fail: only the name varies
		}
		u.SetAnnotations(annotations)
		u.SetFinalizers([]string{v1alpha1.Finalizer})
		return u
	}
	return []subject{plain, submitted}
}

func kro(ctx context.Context, root, _ string) ([]subject, error) {
	version, folder, err := module(ctx, root, "kro", "github.com/kubernetes-sigs/kro")
	if err != nil {
		return nil, err
	}
	template := configMap("${schema.metadata.name}").Object
	definition := object("kro.run/v1alpha1", "ResourceGraphDefinition", "bench", map[string]any{"spec": map[string]any{
		"schema":    map[string]any{"apiVersion": "v1alpha1", "kind": "Sample", "spec": map[string]any{"value": "string"}},
		"resources": []any{map[string]any{"id": "held", "template": template}},
	}})
	template["data"] = map[string]any{"key": "${schema.spec.value}", "other": "value"}
	return []subject{{
		name: "kro " + version, program: "peers/kro",
		// Its rate limits are disabled.
		arguments: []string{
			"-client-qps=10000", "-client-burst=10000", "-dynamic-controller-concurrent-reconciles=20",
			"-dynamic-controller-rate-limiter-rate-limit=10000", "-dynamic-controller-rate-limiter-burst-limit=10000",
			"-metrics-bind-address=0", "-health-probe-bind-address=0",
		},
		definitions: filepath.Join(folder, "helm", "crds", "*.yaml"),
		setup: func(string) []setupObject {
			return []setupObject{{schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}, definition}}
		},
		kind: schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "samples"},
		resource: func(name string) *unstructured.Unstructured {
			return object("kro.run/v1alpha1", "Sample", name, map[string]any{"spec": map[string]any{"value": "held"}})
		},
		isReady: ready,
	}}, nil
}

func providerKubernetes(ctx context.Context, root, directory string) ([]subject, error) {
	version, folder, err := module(ctx, root, "provider-kubernetes", "github.com/crossplane-contrib/provider-kubernetes")
	if err != nil {
		return nil, err
	}
	if err := serverCertificate(directory); err != nil {
		return nil, err
	}
	const group = "kubernetes.m.crossplane.io"
	return []subject{{
		name: "provider-kubernetes " + version, program: "peers/provider-kubernetes",
		arguments:   []string{"--enable-watches", "--health-probe-bind-addr=0"},
		environment: []string{"TLS_SERVER_CERTS_DIR=" + directory}, // it does not start without the directory
		definitions: filepath.Join(folder, "package", "crds", group+"_*.yaml"),
		setup: func(kubeconfig string) []setupObject {
			config := object(group+"/v1alpha1", "ProviderConfig", "bench", map[string]any{
				"spec": map[string]any{"credentials": map[string]any{"source": "Filesystem", "fs": map[string]any{"path": kubeconfig}}},
			})
			config.SetNamespace(namespace)
			return []setupObject{{schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "providerconfigs"}, config}}
		},
		kind: schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "objects"},
		resource: func(name string) *unstructured.Unstructured {
			manifest := configMap(name)
			manifest.SetNamespace(namespace)
			return object(group+"/v1alpha1", "Object", name, map[string]any{"spec": map[string]any{
				"watch":             true,
				"forProvider":       map[string]any{"manifest": manifest.Object},
				"providerConfigRef": map[string]any{"kind": "ProviderConfig", "name": "bench"},
			}})
		},
		isReady: ready,
	}}, nil
}

// operatorUtils returns the engine of resource-locker and patch-operator as a subject. It enforces entire objects, or
// patches.
func operatorUtils(ctx context.Context, root, _ string) ([]subject, error) {
	version, folder, err := module(ctx, root, "operator-utils", "github.com/redhat-cop/operator-utils")
	if err != nil {
		return nil, err
	}
	const group = "operator-utils.example.io"
	whole := subject{
		name: "operator-utils " + version + ", EnforcingCRD", program: "peers/operator-utils",
		arguments:   []string{"-metrics-addr=0"},
		definitions: filepath.Join(folder, "config", "crd", "bases", "*.yaml"),
		mend:        keepObjects,
		kind:        schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "enforcingcrds"},
		resource: func(name string) *unstructured.Unstructured {
			manifest := configMap(name)
			manifest.SetNamespace(namespace)
			return object(group+"/v1alpha1", "EnforcingCRD", name, map[string]any{
				"spec": map[string]any{"resources": []any{map[string]any{"object": manifest.Object, "excludedPaths": []any{".metadata", ".status"}}}},
			})
		},
		isReady: enforced,
	}
	patch := whole
	patch.name = "operator-utils " + version + ", EnforcingPatch"
	patch.kind.Resource = "enforcingpatches"
	patch.before = func(name string) *unstructured.Unstructured {
		return object("v1", "ConfigMap", name, map[string]any{"data": map[string]any{"other": "value"}})
	}
	patch.resource = func(name string) *unstructured.Unstructured {
		return object(group+"/v1alpha1", "EnforcingPatch", name, map[string]any{"spec": map[string]any{"patches": map[string]any{
			"held": map[string]any{
				"targetObjectRef": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace},
				"patchTemplate":   "data:\n  key: held\n",
				"patchType":       "application/merge-patch+json",
			},
		}}})
	}
	return []subject{whole, patch}, nil
}

// keepObjects fixes the schema of EnforcingCRD: the shipped definition makes the API server drop the
// content of its objects.
func keepObjects(definition *unstructured.Unstructured) {
	if definition.GetName() != "enforcingcrds.operator-utils.example.io" {
		return
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	path := "schema.openAPIV3Schema.properties.spec.properties.resources.items.properties.object.x-kubernetes-preserve-unknown-fields"
	for _, version := range versions {
		_ = unstructured.SetNestedField(version.(map[string]any), true, strings.Split(path, ".")...)
	}
	_ = unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")
}

// enforced reports whether operator-utils reports success for a resource.
func enforced(u *unstructured.Unstructured) bool { return hasCondition(u, "ReconcileSuccess") }

// module returns the version that is pinned in tools/peers, and the directory of its files.
func module(ctx context.Context, root, name, path string) (version, folder string, err error) {
	cmd := exec.CommandContext(ctx, "go", "-C", filepath.Join(root, "tools", "peers", name), "list", "-m", "-f", "{{.Version}} {{.Dir}}", path)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	output, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", "", fmt.Errorf("finding the module of %s: %w", name, err)
	}
	version, folder, _ = strings.Cut(strings.TrimSpace(string(output)), " ")
	return version, folder, nil
}

// serverCertificate writes a self-signed tls.crt with its tls.key.
func serverCertificate(directory string) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(directory, "tls.crt"), certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "tls.key"), key, 0o600)
}
