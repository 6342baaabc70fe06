package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// chart writes the Helm chart as a package, with the version and the image of the release.
func (r release) chart(context.Context) error {
	root := filepath.Join(r.source, "deploy", "helm", "holdfast")
	var files []file
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		if text, err = r.edited(path, text); err != nil {
			return err
		}
		files = append(files, file{"holdfast/" + path, 0o644, text})
		return nil
	})
	if err != nil {
		return err
	}
	return write(r.path("holdfast-"+r.number()+".tgz"), files)
}

// edited returns a file of the chart with the version and the image of the release.
func (r release) edited(path string, text []byte) ([]byte, error) {
	switch path {
	case "Chart.yaml":
		text, err := replaceLine(string(text), "version: ", r.number())
		if err != nil {
			return nil, err
		}
		text, err = replaceLine(text, "appVersion: ", r.version)
		return []byte(text), err
	case "values.yaml":
		text, err := replaceLine(string(text), "  repository: ", r.repository)
		return []byte(text), err
	}
	return text, nil
}

// replaceLine replaces the value of the only line with a prefix.
func replaceLine(text, prefix, value string) (string, error) {
	lines, found := strings.Split(text, "\n"), 0
	for i, line := range lines {
		if strings.HasPrefix(line, prefix) {
			lines[i] = prefix + value
			found++
		}
	}
	if found != 1 {
		return "", fmt.Errorf("the chart has %d lines that begin with %q, and not one", found, prefix)
	}
	return strings.Join(lines, "\n"), nil
}
