package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// schemaFactor limits how many times longer than a manifest its default schema can be. The worst case is an
// empty list, whose schema is its two lengths.
const schemaFactor = 40

// sizeProblem returns a Problem if an Application is too large even with slices. It is checked before any object
// is created, because without its status the controller could not learn, correct or delete. It returns nil as soon as
// an upper bound fits: exact sizes need the encoded records of all resources. There are two limits:
//
//	MaxApplicationBytes    annotations, template, inputs and the rest of the spec, Secrets, and most baselines
//	MaxUnpacked            manifests, schemas and records, which can be in slices
func sizeProblem(p *Plan) *Problem {
	app := p.in.Application
	// fixed is the size of the parts that must be in the Application itself. The rest can be in slices.
	fixed := fixedSize(app)
	// The usual case, without measuring any object.
	if fixed <= v1alpha1.MaxApplicationBytes && isSmall(p.in.Application, p.resources) {
		return nil
	}
	// atMost is an upper bound with the longest possible schemas. records is computed only if atMost exceeds the limit.
	written := v1alpha1.RawSize(app.Spec.Manifest, app.Spec.ObserverSchema)
	atMost, records := written*(1+schemaFactor), written
	for _, res := range p.resources {
		baseline := slices.Concat(res.baseline, res.copies)
		if n := len(manifest.EncodeRaw(baseline).Raw); intent.IsSelected(res.object) { // the inventory of selected objects is in slices
			atMost, records = atMost+n, records+n
		} else if len(baseline) > 0 {
			fixed += n
		}
		// Secrets are not in slices. Those of a template count, too, because a small one can render large Secrets.
		if manifest.IsSecret(res.object.ID.GroupKind()) {
			fixed += submittedSize(app, res)
		}
		atMost += size(res.desired)*(1+schemaFactor) + size(res.live)
	}
	if fixed <= v1alpha1.MaxApplicationBytes && atMost <= v1alpha1.MaxUnpacked {
		return nil
	}
	for _, res := range p.resources {
		// The three records of a resource: mangledObserverSchema, lastAppliedManifest and lastObservedManifest.
		records += size(res.entry.Raw()) + size(res.stored()) + size(res.projected())
	}
	if fixed <= v1alpha1.MaxApplicationBytes && records <= v1alpha1.MaxUnpacked {
		return nil
	}
	remedy := "split it into several Applications"
	if len(p.resources) == 1 {
		remedy = p.resources[0].object.ID.String() + " is too large, because the status repeats its held fields: make it smaller, or observe fewer fields"
	}
	if fixed > v1alpha1.MaxApplicationBytes {
		return intent.Problemf(v1alpha1.ReasonManifestTooLarge,
			"the Application has %d KiB of Secrets and other parts that slices cannot contain, more than the limit of %d KiB per object: %s",
			fixed/1024, v1alpha1.MaxApplicationBytes/1024, remedy)
	}
	return intent.Problemf(v1alpha1.ReasonManifestTooLarge,
		"the Application and its record need %d MiB, more than the limit of %d MiB: %s", records>>20, v1alpha1.MaxUnpacked>>20, remedy)
}

// isSmall reports whether the spec is so short that its record cannot be too large. The held values usually
// equal those of the spec, and then the resources do not need to be measured. It returns false if there are Secrets or
// baselines: sizeProblem then measures.
func isSmall(app *v1alpha1.Application, resources []*resource) bool {
	n := 0
	for _, items := range [][]runtime.RawExtension{app.Spec.Manifest, app.Spec.ObserverSchema} {
		for i := range items {
			n += longest(items[i].Raw)
		}
	}
	for _, res := range resources {
		isSpec := res.object.Field == nil && intent.IsSameContent(res.written, res.object.Content) && intent.IsSameContent(res.object.Content, res.desired)
		if manifest.IsSecret(res.object.ID.GroupKind()) || len(res.baseline)+len(res.copies) > 0 {
			return false
		}
		// An object in sync contains the held values of the manifest, and no others are projected.
		if isSeen := res.live == nil || res.compared.Held > 0 && res.compared.IsInPlace(); !isSpec || !isSeen {
			n += size(res.object.Content) + size(res.desired) + size(res.live)
		}
	}
	return n*2*(1+schemaFactor) <= v1alpha1.MaxUnpacked
}

// longest returns the maximum length of JSON text after it is encoded again, with HTML escaping.
func longest(raw []byte) int {
	n := len(raw) + len(",")
	for _, c := range []byte{'<', '>', '&', 0xe2} {
		n += len(`\u003c`) * bytes.Count(raw, []byte{c})
	}
	return n
}

// fixedSize returns the size of the annotations and of the spec without the lists that can be in slices.
func fixedSize(app *v1alpha1.Application) int {
	rest := app.Spec
	rest.Manifest, rest.ObserverSchema = nil, nil
	raw, _ := json.Marshal([]any{app.Annotations, rest})
	return len(raw)
}

// projected returns the approximate lastObservedManifest item of a resource.
func (res *objectState) projected() any {
	if res.live != nil {
		return res.entry.Project(res.kind, res.desired, res.live)
	}
	return res.entry.Project(res.kind, res.desired, res.desired)
}

// size returns the length of a value as JSON. It does not encode the value, because it can run for every resource
// in every reconcile.
func size(v any) int {
	switch v := v.(type) {
	case map[string]any:
		n := len("{") + max(len(v), 1) // a comma or the end
		for name, child := range v {
			n += textSize(name) + len(":") + size(child)
		}
		return n
	case []any:
		n := len("[") + max(len(v), 1)
		for _, child := range v {
			n += size(child)
		}
		return n
	case string:
		return textSize(v)
	case bool:
		return len(strconv.FormatBool(v))
	case nil:
		return len("null")
	// Without the allocation of json.Marshal.
	case int64:
		var digits [20]byte
		return len(strconv.AppendInt(digits[:0], v, 10))
	}
	raw, _ := json.Marshal(v) // a number
	return len(raw)
}

// textSize returns the length of a string as JSON, with quotes. An escaped character takes two or six bytes. The set of
// escaped characters is the default of encoding/json.
func textSize(s string) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < 0x20, c == '<', c == '>', c == '&':
			n += 5
		case c == '"', c == '\\':
			n++
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			n += 3
		}
	}
	return n
}

// submittedSize returns the size of a resource as the Application contains it. For a resource of a template or a hook,
// it is the size of the manifest.
func submittedSize(app *v1alpha1.Application, res *resource) int {
	at := res.object.Position
	if res.written == nil || res.object.Field != nil || at >= len(app.Spec.Manifest) {
		return size(res.object.Content)
	}
	return v1alpha1.RawSize(app.Spec.Manifest[at : at+1])
}
