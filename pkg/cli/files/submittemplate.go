package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// Limits of what an Application and a ConfigMap can carry.
const (
	templateLimit = 512 << 10
	archiveLimit  = 1 << 20
)

// ArchiveKey is the key of the archive in its ConfigMap.
const ArchiveKey = "archive.csar"

// template sets spec.tosca or spec.csar.
func (s SubmittedSource) template(_ context.Context, sub *Submission, spec map[string]any) error {
	var source map[string]any
	var err error
	switch {
	case s.tosca != "":
		source, err = toscaSource(s.tosca)
		spec["tosca"] = source
	case s.csar != "":
		source, err = s.csarSource(sub)
		spec["csar"] = source
	default:
		return nil
	}
	if err == nil && len(s.inputsRead) > 0 {
		source["inputs"] = s.inputsRead
	}
	return err
}

func toscaSource(file string) (map[string]any, error) {
	if IsURL(file) {
		return map[string]any{"url": file}, nil
	}
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return nil, Unreadable(file, err)
	case len(text) > templateLimit:
		return nil, fmt.Errorf("%s: is %d KiB long, and an Application takes %d KiB: give its URL, or pack it into an archive for --csar",
			file, len(text)>>10, templateLimit>>10)
	}
	return map[string]any{"template": string(text)}, nil
}

// csarSource refers to an archive behind a URL, or to the ConfigMap that submit
// will make of the file. The name of the ConfigMap has a digest of the archive, so
// that another archive is another spec.
func (s SubmittedSource) csarSource(sub *Submission) (map[string]any, error) {
	if IsURL(s.csar) {
		return map[string]any{"url": s.csar}, nil
	}
	archive, err := os.ReadFile(s.csar)
	switch {
	case err != nil:
		return nil, Unreadable(s.csar, err)
	case len(archive) > archiveLimit:
		return nil, fmt.Errorf("%s: is %d KiB long, and a ConfigMap takes %d KiB: give a URL that the controller can fetch it from",
			s.csar, len(archive)>>10, archiveLimit>>10)
	}
	sub.Archive = archive
	return map[string]any{"configMapRef": map[string]any{"name": ArchiveName(sub.Name, archive), "key": ArchiveKey}}, nil
}

// ArchiveName is the name of the ConfigMap for an archive. It has a digest of it.
func ArchiveName(application string, archive []byte) string {
	digest := sha256.Sum256(archive)
	return application + ArchiveInfix + hex.EncodeToString(digest[:5])
}

// ArchiveInfix stands between the name of an Application and the digest of its
// archive in the name of a ConfigMap.
const ArchiveInfix = "-csar-"

// IsURL tells whether what is given for a file is a URL.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}
