package v1alpha1

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"
)

// Version is a release of Holdfast, such as v0.1.0.
type Version string

// release has the fields of a spec, and the values of its enumerations, that a release introduced. A list in
// a path is marked by []. A new field has no default in the definition: with a default, each Application
// would have it, and no older version would hold any of them.
type release struct {
	version              Version
	application, profile string
}

// releases has each field and value of a spec exactly once, the oldest release first.
var releases = []release{{
	version: "v0.1.0",
	application: `
		manifest observerSchema serviceAccountName suspend interval maxObjects maxDeletions
		tosca tosca.template tosca.url tosca.sha256 tosca.inputs tosca.strictConcat tosca.ignoreForeignNodes
		tosca.inputsFrom tosca.inputsFrom[].configMapRef tosca.inputsFrom[].configMapRef.name
		tosca.inputsFrom[].secretRef tosca.inputsFrom[].secretRef.name
		csar csar.url csar.sha256 csar.inputs csar.strictConcat csar.ignoreForeignNodes
		csar.configMapRef csar.configMapRef.name csar.configMapRef.key csar.secretRef csar.secretRef.name csar.secretRef.key
		csar.inputsFrom csar.inputsFrom[].configMapRef csar.inputsFrom[].configMapRef.name
		csar.inputsFrom[].secretRef csar.inputsFrom[].secretRef.name
		select select[].apiVersion select[].kind select[].namespaces select[].selector select[].names select[].hold
		fields fields[].resource fields[].resource.apiVersion fields[].resource.kind fields[].resource.namespace fields[].resource.name
		fields[].free fields[].leave fields[].restore
		fields[].hold fields[].hold[].path fields[].hold[].minimum fields[].hold[].maximum fields[].hold[].oneOf
		fields[].hold[].pattern fields[].hold[].rule
		fields[].hold[].mode fields[].hold[].mode=hold fields[].hold[].mode=push
		fields[].hold[].mode=report fields[].hold[].mode=absent
		fields[].hold[].type fields[].hold[].type=set fields[].hold[].type=quantity
		fields[].hold[].keys fields[].hold[].keys.hold 
		healthCheckExprs healthCheckExprs[].apiVersion healthCheckExprs[].kind
		healthCheckExprs[].inProgress healthCheckExprs[].failed healthCheckExprs[].current
		hooks hooks.reconcile
		hooks.complete hooks.complete.action hooks.complete.action=Delete hooks.complete.action=Keep
		hooks.complete.urlVariable hooks.complete.tokenVariable
		hooks.shutdown hooks.shutdown.service hooks.shutdown.port hooks.shutdown.path
		hooks.shutdown.scheme hooks.shutdown.scheme=http hooks.shutdown.scheme=https
		hooks.shutdown.gracePeriodSeconds hooks.shutdown.retries
		hooks.shutdown.onFailure hooks.shutdown.onFailure=GiveUp hooks.shutdown.onFailure=Delete
		hooks.shutdown.urlVariable hooks.shutdown.tokenVariable
		ownership ownership=Own ownership=Share
		onRelease onRelease=Leave onRelease=Restore
		adoption adoption=Never adoption=IfUnowned adoption=Always
		deletionPolicy deletionPolicy=Delete deletionPolicy=Orphan
		adoptedDeletionPolicy adoptedDeletionPolicy=Delete adoptedDeletionPolicy=Orphan
		mode mode=Hold mode=Observe
		retry retry.initialInterval retry.multiplier retry.maxInterval retry.maxAttempts`,
	profile: `
		rules rules[].kinds rules[].kinds[].group rules[].kinds[].kind rules[].match rules[].free rules[].hold
		rules[].whileTargetedBy rules[].whileTargetedBy=HorizontalPodAutoscaler`,
}}

// Newest is the newest release whose fields and values this version knows.
var Newest = releases[len(releases)-1].version

// IsNewer reports whether a version is none that this program knows.
func (v Version) IsNewer() bool {
	return v != "" && !slices.ContainsFunc(releases, func(r release) bool { return r.version == v })
}

// DecodeApplication decodes an Application from JSON, and lists in Unknown what this version does not know of
// its spec.
func DecodeApplication(raw []byte) (*Application, error) {
	app := &Application{}
	unknown, err := decodeStrictly(raw, app)
	app.Unknown = slices.Concat(unknown, applicationFeatures().read(&app.Spec).unknown)
	return app, err
}

// DecodeProfile decodes a HoldProfile from JSON, and lists in Unknown what this version does not know of its
// spec.
func DecodeProfile(raw []byte) (*HoldProfile, error) {
	p := &HoldProfile{}
	unknown, err := decodeStrictly(raw, p)
	p.Unknown = slices.Concat(unknown, profileFeatures().read(&p.Spec).unknown)
	return p, err
}

// RequiredVersion returns the oldest release that knows all fields and values of the spec.
func (s *ApplicationSpec) RequiredVersion() Version {
	return releases[applicationFeatures().read(s).newest].version
}

// decodeStrictly decodes JSON, and returns the paths in the spec of the fields that the type lacks.
func decodeStrictly(raw []byte, into any) (unknown []string, err error) {
	faults, err := kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields)
	return slices.DeleteFunc(pathsOf(faults), func(path string) bool { return !strings.HasPrefix(path, "spec.") }), err
}

func pathsOf(faults []error) (paths []string) {
	for _, fault := range faults {
		if at, ok := errors.AsType[kjson.FieldError](fault); ok {
			paths = append(paths, at.FieldPath())
		}
	}
	return paths
}

// feature is a field of a spec.
type feature struct {
	name   string
	index  int            // of the field in its struct
	since  int            // the index of its release
	values map[string]int // the known values, with the index of their release; nil for any value
	below  []feature
}

// features are the fields of a struct.
type features []feature

var (
	applicationFeatures = sync.OnceValue(func() features {
		return featuresOf(reflect.TypeFor[ApplicationSpec](), "", sinceOf(func(r release) string { return r.application }))
	})
	profileFeatures = sync.OnceValue(func() features {
		return featuresOf(reflect.TypeFor[HoldProfileSpec](), "", sinceOf(func(r release) string { return r.profile }))
	})
)

// sinceOf returns the index of the release of each field and value.
func sinceOf(list func(release) string) map[string]int {
	since := map[string]int{}
	for i, r := range releases {
		for _, name := range strings.Fields(list(r)) {
			since[name] = i
		}
	}
	return since
}

// featuresOf returns the fields of a struct of this package. Other structs belong to Kubernetes.
func featuresOf(t reflect.Type, prefix string, since map[string]int) (all features) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		one, path, below := feature{name: name, index: i, since: since[prefix+name]}, prefix+name, f.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			if below.Kind() == reflect.Slice {
				path += "[]"
			}
			below = below.Elem()
		}
		for value, release := range since {
			if text, is := strings.CutPrefix(value, path+"="); is {
				if one.values == nil {
					one.values = map[string]int{}
				}
				one.values[text] = release
			}
		}
		if below.Kind() == reflect.Struct && below.PkgPath() == t.PkgPath() {
			if !f.Anonymous {
				path += "."
			}
			one.below = featuresOf(below, path, since)
		}
		all = append(all, one)
	}
	return all
}

// usedFeatures is the result of reading a spec.
type usedFeatures struct {
	newest  int // the index of the newest release of a used field or value
	unknown []string
}

func (all features) read(spec any) usedFeatures {
	var used usedFeatures
	used.fields(reflect.ValueOf(spec).Elem(), all, &specPath{name: "spec", index: -1})
	return used
}

// specPath is the path of a value. Its text is needed only for an unknown value.
type specPath struct {
	above *specPath
	name  string
	index int // in a list, or -1
}

func (p *specPath) String() string {
	text := p.name
	if p.index >= 0 {
		text = fmt.Sprintf("[%d]", p.index)
	}
	switch {
	case p.above == nil:
		return text
	case p.index >= 0, text == "":
		return p.above.String() + text
	}
	return p.above.String() + "." + text
}

func (u *usedFeatures) fields(of reflect.Value, all features, at *specPath) {
	for _, f := range all {
		if value := of.Field(f.index); !value.IsZero() {
			u.newest = max(u.newest, f.since)
			u.value(value, f, &specPath{at, f.name, -1})
		}
	}
}

func (u *usedFeatures) value(v reflect.Value, f feature, at *specPath) {
	switch {
	case f.below == nil && f.values == nil:
	case v.Kind() == reflect.Pointer:
		u.value(v.Elem(), f, at)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			u.value(v.Index(i), f, &specPath{at, "", i})
		}
	case v.Kind() == reflect.String:
		since, known := f.values[v.String()]
		if u.newest = max(u.newest, since); !known {
			u.unknown = append(u.unknown, at.String()+": "+v.String())
		}
	default:
		if held, is := v.Addr().Interface().(*HeldField); is {
			for _, name := range held.Unknown {
				u.unknown = append(u.unknown, at.String()+"."+name)
			}
		}
		u.fields(v, f.below, at)
	}
}
