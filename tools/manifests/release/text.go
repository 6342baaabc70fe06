package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/holdfast/deploy"
)

// repository is the image in the manifests, without its tag.
var repository, _, _ = strings.Cut(deploy.Image(), ":")

// notes writes the section of CHANGELOG.md about the version to RELEASE-NOTES.md.
func (r release) notes(context.Context) error {
	changes, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text, err := section(string(changes), r.number())
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("RELEASE-NOTES.md"), []byte(text), 0o644)
}

// section returns the section of a changelog about a version, without the date in its heading.
func section(changelog, number string) (string, error) {
	_, rest, found := strings.Cut(changelog, "\n## ["+number+"]")
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section %q: add one", "## ["+number+"]")
	}
	_, text, _ := strings.Cut(rest, "\n")
	text, _, _ = strings.Cut(text, "\n## ")
	text, _, _ = strings.Cut(text, "\n[") // link definitions at the end of the file
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("the section %q of CHANGELOG.md is empty", "## ["+number+"]")
	}
	return "# Holdfast " + number + "\n\n" + text + "\n", nil
}

// manifests writes install.yaml with the image of the version.
func (r release) manifests(context.Context) error {
	text := string(deploy.WithImage(r.image()))
	if r.repository != repository { // then the comment about registries is wrong
		_, objects, _ := strings.Cut(text, "\napiVersion:")
		text = "# Holdfast " + r.version + ", with the image " + r.image() + "\napiVersion:" + objects
	}
	return os.WriteFile(r.path("install.yaml"), []byte(text), 0o644)
}
