package files

import (
	"errors"
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// refusal returns an error that explains why an Application is invalid. It joins the validation errors in the
// order of their positions, or contains the problem if there are none. document is the Application itself.
func refusal(document manifest.Document, problem *plan.Problem, faults []error) error {
	if len(faults) == 0 {
		faults = []error{problem}
	}
	located := make([]*manifest.Error, len(faults))
	for i, fault := range faults {
		located[i] = FaultAt(document, faultPath(fault), fault.Error())
	}
	return joinSorted(located, problem.Reason+": ")
}

// faultPath returns the path of the field in an Application that a validation error of the engine is about. It
// returns nil for other errors.
//
//	error of                   path
//	a manifest                 spec.manifest[POSITION].PATH
//	a schema                   spec.observerSchema[ENTRY].PATH
//	an item of spec.fields     spec.fields[ENTRY].hold[ITEM]
//	a template                 the field with the template or its URL
//	any other                  nil: the start of the document
func faultPath(fault error) manifest.Path {
	if ofManifest, is := errors.AsType[*manifest.ValidationError](fault); is {
		if ofManifest.Field != nil {
			return slices.Concat(ofManifest.Field, manifest.Path{ofManifest.Position}, ofManifest.Path)
		}
		return append(manifest.Path{"spec", "manifest", ofManifest.Position}, ofManifest.Path...)
	}
	if ofSchema, is := errors.AsType[*observer.ValidationError](fault); is {
		return append(manifest.Path{"spec", "observerSchema", ofSchema.Entry}, ParsePath(ofSchema.Path)...)
	}
	if ofFields, is := errors.AsType[*observer.FieldPathError](fault); is {
		path := manifest.Path{"spec", "fields", ofFields.Entry}
		if ofFields.List != "" {
			path = append(path, ofFields.List, ofFields.Item)
		}
		return path
	}
	if ofSource, is := errors.AsType[*sourceFault](fault); is {
		return ofSource.path
	}
	return nil
}

// ParsePath converts a field path from a message into the path in an object. It stops before a list element that
// is not identified by its position. It returns nil if the path is invalid.
//
//	spec.ports[0].port               spec, ports, 0, port
//	spec.containers[name=web].image  spec, containers
//	spec..x                          nil
func ParsePath(text string) manifest.Path {
	parsed, err := observer.ParsePath(text)
	if err != nil {
		return nil
	}
	return pathOf(parsed)
}

// pathOf returns a parsed path as the path in an object, up to the first element without a position.
func pathOf(parsed *observer.Path) (path manifest.Path) {
	for _, step := range parsed.Chain() {
		if !step.IsElement() {
			path = append(path, step.Name())
			continue
		}
		position, ok := step.Position()
		if !ok {
			break
		}
		path = append(path, position)
	}
	return path
}

// sourceFault is a validation error in a template or archive. path is the field of the Application that contains
// the template, or refers to it.
type sourceFault struct {
	path    manifest.Path
	message string
}

func (f *sourceFault) Error() string { return f.message }
