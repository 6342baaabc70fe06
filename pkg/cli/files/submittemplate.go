package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
)

// These limits are the sizes that an Application and a ConfigMap can store, in bytes.
const (
	templateLimit = 512 << 10
	archiveLimit  = 1 << 20
)

// ArchiveKey is the key of the archive in its ConfigMap.
const ArchiveKey = "archive.csar"

// templateFile is a template or archive that was read from a file. A template with a URL has none.
type templateFile struct {
	// name is the name of the file for messages.
	name string
	data []byte
	// texts are the values of --input, as they were typed.
	texts map[string]string
}

// setTemplate sets spec.tosca or spec.csar. It keeps the content of a file in sub, for the translation here.
//
//	--tosca shop.yaml         spec.tosca.template: the content
//	--tosca https://...       spec.tosca.url
//	--csar shop.csar          spec.csar.configMapRef, and the Archive of the submission
//	--csar https://...        spec.csar.url
func (s SubmittedSource) setTemplate(ctx context.Context, sub *Submission, spec map[string]any) error {
	field, file := "tosca", s.template()
	switch {
	case file == "":
		return nil
	case s.csar != "":
		field = "csar"
	}
	source := map[string]any{"url": file}
	if !IsURL(file) {
		name, data, err := s.content(ctx, file)
		if err != nil {
			return Unreadable(name, err)
		}
		sub.template = templateFile{name, data, s.texts}
		if source, err = sub.template.source(sub, field); err != nil {
			return err
		}
	}
	inputs, err := s.inputValues(ctx)
	if err != nil {
		return err
	}
	if len(inputs) > 0 {
		source["inputs"] = inputs
	}
	if s.inputs.StrictConcat {
		source["strictConcat"] = true
	}
	if s.inputs.IgnoreForeignNodes {
		source["ignoreForeignNodes"] = true
	}
	spec[field] = source
	return nil
}

// source returns the field of a spec that contains a template, or refers to the ConfigMap that submit creates
// for an archive. For an archive, it sets the Archive of sub. The name of the ConfigMap contains a digest of the
// archive, so that another archive changes the spec.
func (t templateFile) source(sub *Submission, field string) (map[string]any, error) {
	switch {
	case field == "tosca" && len(t.data) > templateLimit:
		return nil, fmt.Errorf("%s: has %d KiB, more than the limit of %d KiB in an Application: give its URL, or pack it into an archive for --csar",
			t.name, len(t.data)>>10, templateLimit>>10)
	case field == "tosca":
		return map[string]any{"template": string(t.data)}, nil
	case len(t.data) > archiveLimit:
		return nil, fmt.Errorf("%s: has %d KiB, more than the limit of %d KiB in a ConfigMap: give a URL from which the controller can fetch it",
			t.name, len(t.data)>>10, archiveLimit>>10)
	}
	sub.Archive = t.data
	return map[string]any{"configMapRef": map[string]any{"name": ArchiveName(sub.Name, t.data), "key": ArchiveKey}}, nil
}

// inputValues returns a new map of the values of the inputs. Those of --input are strings, because the types of
// the inputs are not known yet. If they remain unknown here, the controller's translation converts the strings.
func (s SubmittedSource) inputValues(ctx context.Context) (map[string]any, error) {
	values := map[string]any{}
	given, err := s.inputs.Values(ctx)
	maps.Copy(values, given)
	for name, text := range s.texts {
		values[name] = text
	}
	return values, err
}

// ArchiveName returns the name of the ConfigMap for an archive. It contains the first 40 bits of the archive's
// SHA-256 digest.
//
//	web-csar-5a1c0f93de
func ArchiveName(application string, archive []byte) string {
	digest := sha256.Sum256(archive)
	return application + ArchiveInfix + hex.EncodeToString(digest[:5])
}

// ArchiveInfix is the part of the name of a ConfigMap between the name of the Application and the digest of
// the archive.
const ArchiveInfix = "-csar-"
