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
