package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
)

const (
	sumsFile       = "SHA256SUMS"
	provenanceFile = "provenance.intoto.json"
)

// subject is a file as a statement of in-toto names it.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// statement is a statement of in-toto with the provenance of SLSA v1. It has no times.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []dependency      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

// files returns the files of the release with their digests, in order of their names.
func (r release) files() (found []subject, err error) {
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		digest, err := digestOf(r.path(entry.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, subject{entry.Name(), map[string]string{"sha256": digest}})
	}
	return found, nil
}

// provenance writes the statement that names the commit and the build of all files so far.
func (r release) provenance(context.Context) error {
	files, err := r.files()
	if err != nil {
		return err
	}
	made := statement{Type: "https://in-toto.io/Statement/v1", Subject: files, PredicateType: "https://slsa.dev/provenance/v1"}
	build := &made.Predicate.BuildDefinition
	build.BuildType = homepage + "/make-release/v1"
	build.ExternalParameters = map[string]string{"version": r.version, "repository": r.repository, "downloads": r.downloads}
	build.InternalParameters = map[string]string{"go": runtime.Version()}
	build.ResolvedDependencies = []dependency{{"git+" + homepage + "/holdfast", map[string]string{"gitCommit": r.commit}}}
	made.Predicate.RunDetails.Builder.ID = homepage + "/make-release"
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(provenanceFile), append(text, '\n'), 0o644)
}

// sums writes the digests of all files as sha256sum prints them.
func (r release) sums(context.Context) error {
	files, err := r.files()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%s  %s\n", f.Digest["sha256"], f.Name)
	}
	return os.WriteFile(r.path(sumsFile), []byte(text.String()), 0o644)
}
