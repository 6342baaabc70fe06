package plan

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// maxApplicationBytes is what an Application may take with its status. etcd
// refuses requests of more than 1.5 MiB; the rest is for managedFields and for
// what is learned later. What is more is put into slices, as far as that can be.
const maxApplicationBytes = v1alpha1.MaxApplicationBytes

// schemaFactor is how much longer the default schema of a manifest can be, at most: that of
// an empty list is its two lengths.
const schemaFactor = 40

// sizeProblem refuses an Application that slices do not help, before anything is created:
// without its status nothing could be learned, corrected or deleted.
func sizeProblem(p *Plan) *Problem {
	app := p.in.Application
	fixed := sourceSize(app) + fieldsSize(app)
	for key, value := range app.Annotations {
		fixed += textSize(key) + textSize(value)
	}
	if fixed <= maxApplicationBytes && p.isSmall() {
		return nil
	}
	written := rawSize(app.Spec.Manifest) + rawSize(app.Spec.ObserverSchema)
	atMost, records := written*(1+schemaFactor), written
	for _, res := range p.resources {
		if n := len(encode(res.baseline).Raw); isSelected(res.object) { // the inventory of many objects is in slices
			atMost, records = atMost+n, records+n
		} else if len(res.baseline) > 0 {
			fixed += n
		}
		if manifest.IsSecret(res.object.ID.GroupKind()) { // it is in no slice
			fixed += size(res.object.Content)
		}
		atMost += size(res.desired)*(1+schemaFactor) + size(res.live)
	}
	if fixed <= maxApplicationBytes && atMost <= v1alpha1.MaxUnpacked {
		return nil
	}
	for _, res := range p.resources {
		records += size(res.entry.Raw()) + size(res.stored()) + size(res.projected())
	}
	if fixed <= maxApplicationBytes && records <= v1alpha1.MaxUnpacked {
		return nil
	}
	remedy := "split it into several Applications"
	if len(p.resources) == 1 {
		remedy = p.resources[0].object.ID.String() + " alone is too large, since the status repeats what is held of it: make it smaller, or observe less of it"
	}
	if fixed > maxApplicationBytes {
		return problemf(v1alpha1.ReasonManifestTooLarge,
			"the Application has %d KiB of annotations, templates and Secrets, of the %d KiB that one object may have: %s",
			fixed/1024, maxApplicationBytes/1024, remedy)
	}
	return problemf(v1alpha1.ReasonManifestTooLarge,
		"the Application and its record would take %d MiB of the %d MiB that are read: %s", records>>20, v1alpha1.MaxUnpacked>>20, remedy)
}

// isSmall reports whether the spec is so short that no record of it can be too large: what is
// held is as a rule what the spec says, and then nothing needs to be counted.
func (p *Plan) isSmall() bool {
	n := 0
	for _, items := range [][]runtime.RawExtension{p.in.Application.Spec.Manifest, p.in.Application.Spec.ObserverSchema} {
		for i := range items {
			n += longest(items[i].Raw)
		}
	}
	for _, res := range p.resources {
		isSpec := res.object.Field == nil && sameContent(res.written, res.object.Content) && sameContent(res.object.Content, res.desired)
		if manifest.IsSecret(res.object.ID.GroupKind()) || len(res.baseline) > 0 {
			return false
		}
		if isSeen := res.live == nil || res.compared.Held > 0 && res.compared.IsInPlace(); !isSpec || !isSeen {
			n += size(res.object.Content) + size(res.desired) + size(res.live)
		}
	}
	return n*2*(1+schemaFactor) <= v1alpha1.MaxUnpacked
}

// longest is how long a text of JSON is at most when it is written as here.
func longest(raw []byte) int {
	n := len(raw) + len(",")
	for _, c := range []byte{'<', '>', '&', 0xe2} {
		n += len(`\u003c`) * bytes.Count(raw, []byte{c})
	}
	return n
}

// fieldsSize is what spec.fields takes.
func fieldsSize(app *v1alpha1.Application) int {
	raw, _ := json.Marshal(app.Spec.Fields)
	return len(raw)
}

// projected is what of a resource will be lastObservedManifest, about.
func (res *resource) projected() any {
	if res.live != nil {
		return res.entry.Project(res.kind, res.desired, res.live)
	}
	return res.entry.Project(res.kind, res.desired, res.desired)
}

// spare puts into a status what is only needed should the spec change before its work is
// done, as long as there is room. Whatever does not fit stays should that happen.
type spare struct {
	status *v1alpha1.ApplicationStatus
	room   int
}

func spareIn(status *v1alpha1.ApplicationStatus) *spare {
	taken := rawSize(status.MangledObserverSchema) + rawSize(status.LastAppliedManifest) + rawSize(status.LastObservedManifest)
	return &spare{status: status, room: v1alpha1.MaxUnpacked - taken}
}

// put puts a record in the place of another one, or at the end if i is that of none.
func (s *spare) put(i int, r *record) {
	entry, desired := encode(r.entry.Raw()), encode(r.desired)
	atEnd := i >= len(s.status.LastAppliedManifest)
	more := len(entry.Raw) + len(desired.Raw) + len(",,")
	if !atEnd {
		more -= len(s.status.MangledObserverSchema[i].Raw) + len(s.status.LastAppliedManifest[i].Raw)
	}
	switch {
	case more > s.room:
		return
	case atEnd:
		s.status.MangledObserverSchema = append(s.status.MangledObserverSchema, entry)
		s.status.LastAppliedManifest = append(s.status.LastAppliedManifest, desired)
	default:
		s.status.MangledObserverSchema[i], s.status.LastAppliedManifest[i] = entry, desired
	}
	s.room -= more
}

// sourceSize is that of a template and its inputs.
func sourceSize(app *v1alpha1.Application) int {
	n := 0
	if t := app.Spec.Tosca; t != nil {
		n += textSize(t.Template) + inputsSize(t.Translation)
	}
	if a := app.Spec.CSAR; a != nil {
		n += inputsSize(a.Translation)
	}
	return n
}

func inputsSize(t v1alpha1.Translation) int {
	if t.Inputs == nil {
		return 0
	}
	return len(t.Inputs.Raw)
}

func rawSize(items []runtime.RawExtension) int {
	n := 0
	for i := range items {
		n += len(items[i].Raw) + len(",")
	}
	return n
}

// size is the length of a value as JSON, without writing it: this is asked of
// every resource each time.
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
		if !v {
			return len("false")
		}
		return len("true")
	case nil:
		return len("null")
	case int64:
		var digits [20]byte
		return len(strconv.AppendInt(digits[:0], v, 10))
	}
	raw, err := json.Marshal(v) // a number
	if err != nil {
		return 0
	}
	return len(raw)
}

// textSize is the length of a string with its quotes; what is escaped takes two bytes,
// or six.
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
