package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kustomizeController returns a subject without source-controller: the driver serves the manifest, and defines the
// kinds of sources without a schema.
func kustomizeController(ctx context.Context, root, _ string) ([]subject, error) {
	version, folder, err := module(ctx, root, "kustomize-controller", "github.com/fluxcd/kustomize-controller")
	if err != nil {
		return nil, err
	}
	manifest := configMap("${name}")
	manifest.SetNamespace(namespace)
	artifact, err := serveArtifact(ctx, manifest)
	if err != nil {
		return nil, err
	}
	const group, sources = "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"
	return []subject{{
		name: "kustomize-controller " + version, program: "peers/kustomize-controller",
		arguments:   []string{"--concurrent=20", "--metrics-addr=0", "--health-addr=0"},
		definitions: filepath.Join(folder, "config", "crd", "bases", "*.yaml"),
		setup: func(string) []setupObject {
			repository := object(sources+"/v1", "GitRepository", "bench", map[string]any{"status": map[string]any{"artifact": artifact}})
			repository.SetNamespace(namespace)
			return []setupObject{
				{definitions, definition(sources, "OCIRepository", "ocirepositories")},
				{definitions, definition(sources, "Bucket", "buckets")},
				{definitions, definition(sources, "GitRepository", "gitrepositories")},
				{schema.GroupVersionResource{Group: sources, Version: "v1", Resource: "gitrepositories"}, repository},
			}
		},
		kind: schema.GroupVersionResource{Group: group, Version: "v1", Resource: "kustomizations"},
		resource: func(name string) *unstructured.Unstructured {
			return object(group+"/v1", "Kustomization", name, map[string]any{"spec": map[string]any{
				"interval":  "1m", // the least that its documentation allows
				"prune":     true,
				"sourceRef": map[string]any{"kind": "GitRepository", "name": "bench"},
				"postBuild": map[string]any{"substitute": map[string]any{"name": name}},
			}})
		},
		isReady: ready,
	}}, nil
}

// definition returns a CRD without a schema.
func definition(group, kind, plural string) *unstructured.Unstructured {
	anything := map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", plural+"."+group, map[string]any{"spec": map[string]any{
		"group": group, "scope": "Namespaced",
		"names":    map[string]any{"kind": kind, "plural": plural},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": anything}},
	}})
}

// serveArtifact serves an archive with one manifest until the context ends. It returns how Flux describes the archive.
func serveArtifact(ctx context.Context, manifest *unstructured.Unstructured) (map[string]any, error) {
	raw, err := manifest.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	if err := files.WriteHeader(&tar.Header{Name: "held.yaml", Mode: 0o644, Size: int64(len(raw))}); err != nil {
		return nil, err
	}
	if _, err := files.Write(raw); err != nil {
		return nil, err
	}
	if err := errors.Join(files.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	}()
	return map[string]any{
		"url": "http://" + listener.Addr().String() + "/held.tar.gz", "path": "held.tar.gz", "revision": "main@sha1:1",
		"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive.Bytes())), "lastUpdateTime": "2026-01-01T00:00:00Z",
	}, nil
}

// argoCD returns a subject that reads its manifest from a Git repository on the disk.
func argoCD(ctx context.Context, root, directory string) ([]subject, error) {
	version, folder, err := module(ctx, root, "argo-cd", "github.com/argoproj/argo-cd/v3")
	if err != nil {
		return nil, err
	}
	repository, err := commitManifest(ctx, directory, configMap("bench"))
	if err != nil {
		return nil, err
	}
	verify, err := os.ReadFile(filepath.Join(folder, "hack", "git-verify-wrapper.sh"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(directory, "git-verify-wrapper.sh"), verify, 0o755); err != nil {
		return nil, err
	}
	const group = "argoproj.io"
	project := object(group+"/v1alpha1", "AppProject", "default", map[string]any{"spec": map[string]any{
		"sourceRepos":  []any{"*"},
		"destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
	}})
	settings := object("v1", "ConfigMap", "argocd-cm", nil)
	secret := object("v1", "Secret", "argocd-secret", map[string]any{"stringData": map[string]any{"server.secretkey": "bench"}})
	for _, one := range []*unstructured.Unstructured{project, settings, secret} {
		one.SetNamespace(namespace)
		one.SetLabels(map[string]string{"app.kubernetes.io/part-of": "argocd"})
	}
	return []subject{{
		name: "Argo CD " + version, program: "peers/argo-cd",
		// No pause between corrections of the same object, and no limit on requests.
		arguments: []string{"--namespace=" + namespace, "--self-heal-backoff-timeout-seconds=0"},
		environment: []string{
			"ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_K8S_CLIENT_QPS=10000",
			"ARGOCD_GPG_ENABLED=false", "PATH=" + directory + string(filepath.ListSeparator) + os.Getenv("PATH"),
		},
		definitions: filepath.Join(folder, "manifests", "crds", "*-crd.yaml"),
		setup: func(string) []setupObject {
			return []setupObject{
				{schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "appprojects"}, project},
				{configMaps, settings},
				{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, secret},
			}
		},
		kind: schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "applications"},
		resource: func(name string) *unstructured.Unstructured {
			parameters := []any{map[string]any{"name": "name", "value": name}}
			return object(group+"/v1alpha1", "Application", name, map[string]any{"spec": map[string]any{
				"project": "default",
				"source": map[string]any{
					"repoURL": "file://" + repository, "path": ".", "targetRevision": "HEAD",
					"directory": map[string]any{"jsonnet": map[string]any{"tlas": parameters}},
				},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace},
				"syncPolicy":  map[string]any{"automated": map[string]any{"selfHeal": true}},
			}})
		},
		isReady: synced,
	}}, nil
}

// commitManifest creates a Git repository with the manifest as a function of its name, and returns the directory.
func commitManifest(ctx context.Context, directory string, manifest *unstructured.Unstructured) (string, error) {
	raw, err := manifest.MarshalJSON()
	if err != nil {
		return "", err
	}
	repository := filepath.Join(directory, "repository")
	if err := os.RemoveAll(repository); err != nil {
		return "", err
	}
	if err := os.Mkdir(repository, 0o755); err != nil {
		return "", err
	}
	text := fmt.Sprintf("function(name) %s + {metadata+: {name: name}}\n", raw)
	if err := os.WriteFile(filepath.Join(repository, "held.jsonnet"), []byte(text), 0o644); err != nil {
		return "", err
	}
	for _, arguments := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--message=bench"},
	} {
		output, err := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, arguments...)...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("git %s: %w: %s", arguments[0], err, output)
		}
	}
	return repository, nil
}

// synced reports whether Argo CD reports success for an Application.
func synced(u *unstructured.Unstructured) bool {
	state, _, _ := unstructured.NestedString(u.Object, "status", "sync", "status")
	health, _, _ := unstructured.NestedString(u.Object, "status", "health", "status")
	return state == "Synced" && health == "Healthy"
}
