package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/slice"
)

// Subject is an Application, with the document in which it is written. The embedded Application is never nil. Its
// slices are joined, unless one is missing.
type Subject struct {
	*v1alpha1.Application
	// Document has a Value only if the Application was read from a file. Otherwise it only names the Application
	// for messages.
	Document manifest.Document
	// NewSource is true if the status belongs to another template or archive than the spec. The last-applied
	// state then cannot replace a translation.
	NewSource bool
}

// Applications returns the Applications in the files, with the content of their slices. It returns an error if
// there is none, and for each document that is neither an Application nor an ApplicationSlice. The error joins
// the validation errors of all documents; the result is then incomplete.
func (s Sources) Applications(ctx context.Context) ([]Subject, error) {
	documents, err := s.Input.Read(ctx, s.Files)
	if err != nil {
		return nil, err
	}
	return s.applicationsIn(documents)
}

// applicationsIn does the same as Applications for documents that were read, without HoldProfiles. Two Applications
// with the same name and namespace are an error: only one of them can exist in a cluster.
func (s Sources) applicationsIn(documents []manifest.Document) ([]Subject, error) {
	documents, get, err := takeSlices(documents)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("no Application in %s", strings.Join(s.Names(), ", "))
	}
	var apps []Subject
	var faults []error
	for _, document := range documents {
		app, err := readApplication(document, s.Namespace)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		app.Application, _ = slice.Join(app.Application, get) // the plan rejects an Application with missing slices
		isSame := func(other Subject) bool { return other.Namespace == app.Namespace && other.Name == app.Name }
		if first := slices.IndexFunc(apps, isSame); first >= 0 {
			faults = append(faults, FaultAt(document, nil, fmt.Sprintf("Application %s/%s is given twice, first at %s: remove one of them",
				app.Namespace, app.Name, positionOf(apps[first].Document))))
		}
		apps = append(apps, app)
	}
	return apps, errors.Join(faults...)
}

// Names returns the names of the files for messages.
func (s Sources) Names() []string { return namesOf(s.Files) }

// namesOf returns the names of files for messages, in the same order.
func namesOf(files []string) []string {
	names := make([]string, len(files))
	for i, file := range files {
		if names[i] = file; file == Stdin {
			names[i] = StdinName
		}
	}
	return names
}

// readApplication decodes a document as an Application. namespace is used if the document has none. A null leaf
// is only valid in a file. The API server has none in an Application that the controller accepts.
//
//	the file                    null leaves
//	without metadata.uid        replaced by "observed", as submit does
//	with metadata.uid           kept: a client has dropped others, and the engine reports that
func readApplication(document manifest.Document, namespace string) (Subject, error) {
	if err := isApplication(document); err != nil {
		return Subject{}, err
	}
	if err := checkApplication(document); err != nil {
		return Subject{}, err
	}
	content := document.Value
	// Without a UID, a user wrote the file, so null leaves are valid. With a UID, the engine reports them as the
	// controller would.
	if spec, ok := content["spec"].(map[string]any); ok && manifest.NestedString(content, "metadata", "uid") == "" {
		content, spec = maps.Clone(content), maps.Clone(spec)
		replaceNulls(spec)
		content["spec"] = spec
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return Subject{}, FaultAt(document, nil, err.Error())
	}
	app := &v1alpha1.Application{}
	// Integers beyond 2^53 would lose digits as floats.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, app); err != nil {
		return Subject{}, FaultAt(document, nil, "is not an Application: "+err.Error())
	}
	app.Namespace = cmp.Or(app.Namespace, namespace)
	return Subject{Application: app, Document: document}, nil
}

// isApplication returns an error with the remedy if the document is not an Application of this API version.
//
//	the document                               the remedy
//	no kind or apiVersion                      how an Application begins
//	a HoldProfile                              kubectl apply
//	an Application of another version          another version of this program
//	any other kind                             spec.manifest, or --live
func isApplication(document manifest.Document) error {
	apiVersion, kind := manifest.NestedString(document.Value, "apiVersion"), manifest.NestedString(document.Value, "kind")
	want := v1alpha1.GroupVersion.String()
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case kind == "" || apiVersion == "":
		return FaultAt(document, nil, fmt.Sprintf("is not an Application: it must begin with apiVersion: %s and kind: %s", want, v1alpha1.Kind))
	case apiVersion == want && kind == v1alpha1.Kind:
		return nil
	case isProfile(document):
		return FaultAt(document, nil, "is a HoldProfile, which is not part of an Application: remove it here, and install it with `kubectl apply`")
	case group == v1alpha1.GroupVersion.Group && kind == v1alpha1.Kind:
		return FaultAt(document, manifest.Path{"apiVersion"}, fmt.Sprintf("is an Application of %s, but this version of Holdfast reads %s", apiVersion, want))
	default:
		return FaultAt(document, nil, fmt.Sprintf(
			"must be kind %s of %s, not kind %s of %s: put it into spec.manifest of an Application, or give a live object with --live",
			v1alpha1.Kind, want, kind, apiVersion))
	}
}
