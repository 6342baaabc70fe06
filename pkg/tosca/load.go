package tosca

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"net/url"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

// loader reads the files of a translation.
type loader struct {
	*session

	archive     *csar.Archive
	archiveName string
	loaded      map[string]*file // by location
	files       []*file          // in the order they were read
	imported    int              // bytes
	digest      hash.Hash
	contents    map[string]string // of artifacts, by location
}

func newLoader(s *session) *loader {
	return &loader{session: s, loaded: map[string]*file{}, digest: newDigest(), contents: map[string]string{}}
}

// load reads the source and everything it imports. It returns the entry
// template, nil if that cannot be read.
func (t *loader) load(ctx context.Context, source Source) *file {
	f := &file{name: source.Name, sealed: source.URL != "" || source.Sensitive}
	if source.URL != "" {
		f.at.url, _ = url.Parse(source.URL)
	}
	t.note(source.Name, source.Data)
	data := source.Data
	if csar.Detect(data) != csar.Template {
		if data = t.openArchive(f, data); data == nil {
			return nil
		}
	}
	t.loaded[f.at.String()] = f
	t.read(ctx, f, nil, data)
	if !f.root.exists() {
		return nil
	}
	t.checkEntryVersion(f)
	return f
}

// openArchive returns the entry template of an archive.
func (t *loader) openArchive(f *file, data []byte) []byte {
	archive, err := csar.Open(data, t.archiveLimits())
	if err != nil {
		t.archiveFault(f, err)
		return nil
	}
	t.archive, t.archiveName = archive, f.name
	for _, warning := range archive.Warnings {
		t.warnings = append(t.warnings, Warning{File: f.name, Msg: warning})
	}
	data, err = archive.File(archive.Entry)
	if err != nil {
		t.archiveFault(f, err)
		return nil
	}
	f.at = location{inArchive: true, path: archive.Entry}
	f.name = f.name + "!" + archive.Entry
	return data
}

func (t *loader) archiveLimits() csar.Limits {
	limits := t.limits.Archive
	limits.YAML = min(limits.YAML, t.limits.Template)
	return limits
}

func (t *loader) archiveFault(f *file, err error) {
	var fault *csar.Error
	if !errors.As(err, &fault) {
		fault = &csar.Error{Code: csar.InvalidArchive, Message: err.Error()}
	}
	told := &Error{Code: Code(fault.Code), Msg: fault.Message}
	at := f
	if fault.File != "" {
		at = &file{name: f.name + "!" + fault.File, sealed: f.sealed}
		told.Line, told.Col = fault.Line, min(fault.Line, 1)
	}
	t.faults.keep(at, told)
}

// checkEntryVersion: archives of the first version always have a TOSCA.meta.
func (t *loader) checkEntryVersion(f *file) {
	if t.archive == nil || t.archive.HasMeta || f.version.major != 1 {
		return
	}
	if f.version.minor == 0 {
		t.faults.keep(f, &Error{Code: InvalidMeta, Msg: "a CSAR with a template of " + f.version.name + " needs a TOSCA-Metadata/TOSCA.meta"})
		return
	}
	metadata := f.root.get("metadata")
	for _, key := range []string{"template_name", "template_version"} {
		if !metadata.get(key).exists() && !f.root.get(key).exists() {
			t.warn(f.root, "a CSAR without TOSCA.meta should have %s in its metadata", key)
		}
	}
}

// read parses a file and reads what it imports.
func (t *loader) read(ctx context.Context, f, importer *file, data []byte) {
	t.step(ctx)
	t.parse(f, data)
	if !f.root.exists() {
		return
	}
	t.files = append(t.files, f)
	t.readVersion(f, importer)
	t.readImports(ctx, f)
}

// fetch reads a file that another refers to; nil if it cannot be read. p is where
// the reference is. What is builtIn needs not be there.
func (t *loader) fetch(ctx context.Context, p place, to location, builtIn bool) []byte {
	data, code, problem := t.content(ctx, to)
	switch {
	case problem != "" && builtIn:
		return nil
	case problem != "":
		t.faults.add(p, code, "%s: %s", bare(to.shown()), problem)
		return nil
	}
	t.imported += len(data)
	if t.imported > t.limits.Imported {
		t.faults.add(p, LimitExceeded, "the files that are read are larger than %d bytes together", t.limits.Imported)
		return nil
	}
	t.note(to.String(), data)
	return data
}

func (t *loader) content(ctx context.Context, to location) (data []byte, code Code, problem string) {
	if to.inArchive {
		if !t.archive.Has(to.path) {
			return nil, MissingImportFile, "not found in the archive"
		}
		data, err := t.archive.File(to.path)
		if err != nil {
			return nil, InvalidArchive, err.Error()
		}
		return data, "", ""
	}
	if t.options.Resolver == nil && to.url != nil {
		return nil, SourceNotAllowed, "URLs are not fetched here"
	}
	if t.options.Resolver == nil {
		return nil, MissingImportFile, "not found: no files are read here but those of an archive"
	}
	data, err := t.options.Resolver.Resolve(ctx, to.String())
	if ctx.Err() != nil {
		panic(stop{context.Cause(ctx)})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, MissingImportFile, "not found"
	case err != nil:
		return nil, SourceNotAllowed, err.Error()
	}
	return data, "", ""
}

// note adds a file to the digest of all that was read.
func (t *loader) note(name string, data []byte) {
	fmt.Fprintf(t.digest, "%d %s %d\n", len(name), name, len(data))
	t.digest.Write(data)
}

func digestOf(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

var newDigest = sha256.New
