package tosca

import (
	"errors"
	"net/url"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

// load reads the source and all files that it imports. It returns the entry template, or nil after an error. The name
// of the entry template in an archive is the name of the source, "!" and the path: shop.csar!main.yaml.
func (t *loader) load(source Source) *file {
	f := &file{name: source.Name, sealed: source.URL != "" || source.Sensitive}
	if source.URL != "" {
		f.at.url, _ = url.Parse(source.URL)
	}
	// The digest covers the whole archive, and not only the files that are used.
	t.note(source.Name, source.Data)
	data := source.Data
	if csar.Detect(data) != csar.Template {
		if data = t.openArchive(f, data); data == nil {
			return nil
		}
	}
	t.loaded[f.at.String()] = f
	t.read(f, nil, data)
	if !f.root.exists() {
		return nil
	}
	t.checkEntryVersion(f)
	return f
}

// openArchive returns the entry template of an archive, and sets the name and location of f to it. It returns nil after
// an error. A nested archive is a file like any other, and cannot be imported.
func (t *loader) openArchive(f *file, data []byte) []byte {
	archive, err := csar.Open(t.ctx, data, csar.DefaultLimits())
	t.ongoing()
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

// archiveFault reports an error of package csar, in the file of the archive that it concerns. The column is 1 if the
// error has a line, so that editors can open the position. A sealed archive is not quoted, not even the names of its
// entries.
func (t *loader) archiveFault(f *file, err error) {
	fault, _ := errors.AsType[*csar.Error](err) // there is no other: ongoing has reported the end of the context
	at := f.position(0, 0)
	if fault.File != "" {
		part := &file{name: f.name + "!" + fault.File, sealed: f.sealed}
		at = part.position(fault.Line, min(fault.Line, 1))
	}
	t.faults.add(at, Code(fault.Code), "%s", fault.Message)
}

// checkEntryVersion reports an archive of TOSCA 1.0 without TOSCA.meta, which is required there. For later versions of
// TOSCA 1.x, it warns of missing metadata. TOSCA 1.0 has no other way to name the entry template. A single template
// needs neither.
func (t *loader) checkEntryVersion(f *file) {
	if t.archive == nil || t.archive.HasMeta || f.version.major != 1 {
		return
	}
	if f.version.minor == 0 {
		t.faults.add(f.position(0, 0), InvalidMeta, "a CSAR with a template of %s needs a TOSCA-Metadata/TOSCA.meta", f.version.name)
		return
	}
	metadata := f.root.get("metadata")
	for _, key := range []string{"template_name", "template_version"} {
		if !metadata.get(key).exists() && !f.root.get(key).exists() {
			t.warn(f.root, "a CSAR without TOSCA.meta should have %s in its metadata", key)
		}
	}
}
