package binaries

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// module returns the directory of the local control plane in a checkout.
func module(root string) string { return filepath.Join(root, "deploy", "local") }

// Root returns the directory of the checkout: the nearest one above the working directory that holds the
// product's go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module holdfast.dev/holdfast\n") {
			return dir, nil
		}
	}
	return "", errors.New("the working directory is not in a checkout of holdfast.dev/holdfast")
}

var kubernetesVersion = regexp.MustCompile(`k8s\.io/kubernetes v(\d+)\.(\d+)\.\d+`)

// versionFlags returns linker flags that make the servers report the version in a file such as go.mod.
// Without them they report v0.0.0, which clients treat as very old.
func versionFlags(modules string) (string, error) {
	text, err := os.ReadFile(modules)
	if err != nil {
		return "", err
	}
	found := kubernetesVersion.FindStringSubmatch(string(text))
	if found == nil {
		return "", fmt.Errorf("%s does not require a version of Kubernetes", modules)
	}
	version := strings.Fields(found[0])[1]
	const set = " -X k8s.io/component-base/version."
	return set + "gitVersion=" + version + set + "gitMajor=" + found[1] + set + "gitMinor=" + found[2], nil
}

// isCurrent reports whether a binary is at least as new as everything in its module.
func isCurrent(binary, module string) (bool, error) {
	info, err := os.Stat(binary)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	newest, err := newestSource(module)
	return !newest.After(info.ModTime()), err
}

// newestSource returns the latest modification time of a source file of the module. It ignores nested
// modules.
func newestSource(module string) (time.Time, error) {
	var newest time.Time
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != module {
				return filepath.SkipDir
			}
			return nil
		}
		if !isSource(entry.Name()) {
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return err
	})
	return newest, err
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".mod") || strings.HasSuffix(name, ".sum") ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}
