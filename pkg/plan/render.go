package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// rendered is the input, understood: the objects after hooks, the objects
// before them, and the entry of each.
type rendered struct {
	objects  []manifest.Object
	entries  []*observer.Entry
	warnings []string
}

// render turns the source and the schema of an Application into objects and
// their entries. It is all or nothing: one fault refuses the whole input, so
// that nothing is applied by halves and nothing is deleted by mistake.
func render(in Input) (rendered, *Problem) {
	app := in.Application
	if app.Spec.Tosca != nil || app.Spec.CSAR != nil {
		return rendered{}, stalled(v1alpha1.ReasonSourceNotSupported,
			"this version translates no TOSCA: put the manifests into spec.manifest")
	}
	if problem := nullsDropped(app); problem != nil {
		return rendered{}, problem
	}
	objects, warnings, err := objectsOf(in)
	entries, schemaErr := schemaOf(app)
	if err != nil {
		return rendered{}, stalled(v1alpha1.ReasonManifestInvalid, "%s", summary(errors.Join(err, schemaErr)))
	}
	if schemaErr != nil {
		return rendered{}, stalled(v1alpha1.ReasonObserverSchemaInvalid, "%s", summary(schemaErr))
	}
	assigned, err := observer.Assign(entries, objects)
	if err != nil {
		return rendered{}, stalled(v1alpha1.ReasonObserverSchemaInvalid, "%s", summary(err))
	}
	mangled, assigned, err := mangle(in.Mangle, objects, assigned)
	if err != nil {
		return rendered{}, stalled(v1alpha1.ReasonManifestInvalid, "%s", summary(err))
	}
	return rendered{objects: mangled, entries: assigned, warnings: warnings}, nil
}

func objectsOf(in Input) ([]manifest.Object, []string, error) {
	app := in.Application
	raw := make([]map[string]any, len(app.Spec.Manifest))
	var faults []error
	for i, item := range app.Spec.Manifest {
		content, err := decode(item)
		if err != nil {
			faults = append(faults, fmt.Errorf("manifest[%d]: %w", i, err))
		}
		raw[i] = content
	}
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	return manifest.Normalize(raw, manifest.Options{
		Application: types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, Scopes: in.Kinds,
	})
}

func schemaOf(app *v1alpha1.Application) ([]*observer.Entry, error) {
	raw := make([]map[string]any, len(app.Spec.ObserverSchema))
	var faults []error
	for i, item := range app.Spec.ObserverSchema {
		content, err := decode(item)
		if err != nil {
			faults = append(faults, fmt.Errorf("observerSchema[%d]: %w", i, err))
		}
		raw[i] = content
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return observer.ParseAll(raw)
}

func decode(item runtime.RawExtension) (map[string]any, error) {
	if len(item.Raw) == 0 {
		return nil, errors.New("is empty")
	}
	return manifest.DecodeJSON(item.Raw)
}

// mangle runs the hooks. An object that a hook adds is held by default.
func mangle(manglers []Mangler, objects []manifest.Object, entries []*observer.Entry) ([]manifest.Object, []*observer.Entry, error) {
	if len(manglers) == 0 {
		return objects, entries, nil
	}
	before := make(map[manifest.ID]int, len(objects))
	for i, o := range objects {
		before[o.ID] = i
	}
	mangled := objects
	for _, m := range manglers {
		var err error
		if mangled, err = m.Mangle(mangled); err != nil {
			return nil, nil, err
		}
	}
	grown := make([]*observer.Entry, len(mangled))
	for i, o := range mangled {
		if k, had := before[o.ID]; had {
			grown[i] = entries[k].Mangled(objects[k], o)
		} else {
			grown[i] = observer.DefaultEntry(o)
		}
	}
	return mangled, grown, nil
}

// lastAppliedAnnotation is where a client-side kubectl apply keeps what it was
// given.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// nullsDropped refuses a schema that arrived with fewer leaves than the user
// wrote: nothing is held by half in silence.
func nullsDropped(app *v1alpha1.Application) *Problem {
	text, ok := app.Annotations[lastAppliedAnnotation]
	if !ok || len(app.Spec.ObserverSchema) == 0 {
		return nil
	}
	stored := make([]any, len(app.Spec.ObserverSchema))
	for i, item := range app.Spec.ObserverSchema {
		if content, err := decode(item); err == nil {
			stored[i] = content
		}
	}
	lost := observer.DroppedNulls(sentSchema(text), stored)
	if len(lost) == 0 {
		return nil
	}
	const shown = 5
	more := ""
	if len(lost) > shown {
		more = fmt.Sprintf(" and %d more", len(lost)-shown)
		lost = lost[:shown]
	}
	return stalled(v1alpha1.ReasonObserverSchemaNullsDropped,
		"kubectl apply dropped nulls from spec.observerSchema (%s%s), so these fields would not be held: "+
			"submit with `kubectl apply --server-side`, or write %q in place of null",
		strings.Join(lost, ", "), more, observer.LeafText)
}

// sentSchema is the schema in the annotation; an annotation that cannot be read
// says nothing.
func sentSchema(text string) []any {
	var sent struct {
		Spec struct {
			ObserverSchema []any `json:"observerSchema"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(text), &sent) != nil {
		return nil
	}
	return sent.Spec.ObserverSchema
}

// summary is the text of an error, short enough for a condition.
func summary(err error) string {
	const limit = 4096
	text := err.Error()
	if len(text) <= limit {
		return text
	}
	cut := strings.LastIndexByte(text[:limit], '\n')
	if cut <= 0 {
		cut = limit
	}
	return fmt.Sprintf("%s\n… and %d more lines", strings.ToValidUTF8(text[:cut], ""), strings.Count(text[cut:], "\n"))
}
