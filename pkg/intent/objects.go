package intent

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
)

// objectsOf returns the normalized manifests and their warnings. The manifests are from spec.manifest, spec.select, or
// the translated source. The error is a *Problem if there are no manifests to validate. Otherwise it joins the
// validation errors. With validation errors, the objects are nil. Warnings are complete messages, also with errors.
func objectsOf(in Input) ([]manifest.Object, []string, error) {
	app := in.Application
	options := manifest.Options{
		Application: types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, Scopes: in.Kinds,
	}
	if !IsTranslated(app) {
		raw, err := decodeAll("manifest", app.Spec.Manifest)
		if err != nil {
			return nil, nil, err
		}
		// decodeAll has just decoded the manifests, so Normalize can modify them. The selected ones are copies
		// already.
		options.OwnsInput = true
		objects, warnings, err := manifest.Normalize(raw, options)
		if options.OwnsInput = false; len(app.Spec.Select) == 0 {
			return objects, manifest.Messages(warnings), err
		}
		return withSelected(in, options, objects, manifest.Messages(warnings), err)
	}
	switch source := in.Source; {
	case source == nil:
		return nil, nil, Problemf(v1alpha1.ReasonSourceNotSupported, "this source cannot be fetched and translated here")
	// There was never a successful translation. Otherwise, the last one remains in effect.
	case source.Objects == nil:
		return nil, nil, source.Problem
	}
	options.Field = manifest.Path{"translation"}
	objects, warnings, err := manifest.Normalize(in.Source.Objects, options)
	return objects, slices.Concat(in.Source.Warnings, manifest.Messages(warnings)), err
}

// withSelected adds the objects that spec.select matches. An object with a manifest is not among them. wrong is the
// error of the manifests; the result joins it with the error of the selection. The objects of the manifests are first,
// and the selected ones follow in the order of their IDs.
func withSelected(in Input, options manifest.Options, objects []manifest.Object, warnings []string, wrong error) ([]manifest.Object, []string, error) {
	selected, more, err := selectedObjects(in, options)
	if _, isProblem := errors.AsType[*Problem](err); !isProblem {
		err = errors.Join(wrong, err)
	} else if wrong != nil {
		err = wrong // the validation errors of the manifests have precedence
	}
	return slices.Concat(objects, selected), slices.Concat(warnings, more), err
}

// IsTranslated reports whether the manifests of an Application are translated from a template.
func IsTranslated(app *v1alpha1.Application) bool {
	return app.Spec.Tosca != nil || app.Spec.CSAR != nil
}

// decodeAll decodes the items of a list in the spec. The result is parallel to the items. The error joins one error for
// each item that is not a JSON object. An item with an error is nil in the result.
func decodeAll(list string, items []runtime.RawExtension) ([]map[string]any, error) {
	raw := make([]map[string]any, len(items))
	var faults []error
	for i, item := range items {
		content, err := manifest.DecodeRaw(item)
		if err != nil {
			faults = manifest.Collect(faults, fmt.Errorf("%s[%d]: %w", list, i, err))
		}
		raw[i] = content
	}
	return raw, errors.Join(faults...)
}

// Shared returns the shared objects of an Application, without those of spec.select. It skips manifests that cannot be
// decoded or identified. The controller needs it before it renders the Application, to watch these objects. It returns
// an empty map without any.
func Shared(in Input) map[manifest.ID]bool {
	shared := map[manifest.ID]bool{}
	var manifests []map[string]any
	if in.Source != nil {
		manifests = in.Source.Objects
	}
	for _, item := range in.Application.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			manifests = append(manifests, content)
		}
	}
	for _, content := range manifests {
		if id, ok := manifest.Identify(content, in.Application.Namespace, in.Kinds); ok && claim.DesiredPolicy(in.Application, manifest.OwnershipIn(content)).Claims {
			shared[id] = true
		}
	}
	return shared
}
