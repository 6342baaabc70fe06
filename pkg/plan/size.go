package plan

import (
	"encoding/json"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// maxApplicationBytes is what an Application may take with its status. etcd
// refuses requests of more than 1.5 MiB; the rest is for managedFields and for
// what is learned later.
const maxApplicationBytes = 1536*1024 - 128*1024

// inventoryBytes is what a resource takes in the inventory and in messages.
const inventoryBytes = 400

// tooLarge refuses an Application whose status would not fit beside its spec,
// before anything is created: without its status nothing could be learned,
// corrected or deleted.
func tooLarge(p *Plan) *Problem {
	app := p.in.Application
	spec := rawSize(app.Spec.Manifest) + rawSize(app.Spec.ObserverSchema) + fieldsSize(app) + sourceSize(app)
	for key, value := range app.Annotations {
		spec += textSize(key) + textSize(value)
	}
	status, records := 0, 0
	if p.in.Source != nil {
		status += size(p.in.Source.Outputs)
	}
	for _, res := range p.resources {
		status += inventoryBytes + len(encode(res.baseline).Raw)
		for _, path := range res.entry.Nulls() {
			status += textSize(path) + len(",")
		}
		records += size(res.entry.Raw()) + size(res.stored()) + size(res.projected())
	}
	if spec+status+records <= maxApplicationBytes || p.fitted(records) {
		return nil
	}
	if status += p.packedRecords(); spec+status <= maxApplicationBytes && records <= v1alpha1.MaxUnpacked {
		return nil
	}
	if records > v1alpha1.MaxUnpacked { // nobody would read it, however small it is packed
		status += records
	}
	remedy := "split it into several Applications"
	if len(p.resources) == 1 {
		remedy = p.resources[0].object.ID.String() + " alone is too large, since the status repeats what is held of it: make it smaller, or observe less of it"
	}
	return problemf(v1alpha1.ReasonManifestTooLarge,
		"the Application would take %d KiB (spec %d KiB, status %d KiB) of the %d KiB that one object may have: %s",
		(spec+status)/1024, spec/1024, status/1024, maxApplicationBytes/1024, remedy)
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

// fitted reports whether the status of this very spec has been written, with records that
// are no smaller: it fits, then. To find out costs more than the rest of a decision.
func (p *Plan) fitted(records int) bool {
	status := &p.in.Application.Status
	return p.in.Source == nil && status.ObservedGeneration == p.in.Application.Generation &&
		apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRendered) && len(status.LastAppliedManifest) >= len(p.resources) &&
		records <= rawSize(status.MangledObserverSchema)+rawSize(status.LastAppliedManifest)+rawSize(status.LastObservedManifest)
}

// packedRecords is what the manifests and schemas of a status take.
func (p *Plan) packedRecords() int {
	var status v1alpha1.ApplicationStatus
	for _, res := range p.resources {
		status.MangledObserverSchema = append(status.MangledObserverSchema, encode(res.entry.Raw()))
		status.LastAppliedManifest = append(status.LastAppliedManifest, encode(res.stored()))
		status.LastObservedManifest = append(status.LastObservedManifest, encode(res.projected()))
	}
	return len(encode(status).Raw)
}

// spare puts into a status what is only needed should the spec change before its work is
// done, as long as there is room. Whatever does not fit stays should that happen.
type spare struct {
	status *v1alpha1.ApplicationStatus
	room   int
}

func spareIn(app *v1alpha1.Application, status *v1alpha1.ApplicationStatus) *spare {
	whole := *app
	whole.Status = *status
	raw, err := json.Marshal(&whole)
	if err != nil {
		return &spare{status: status}
	}
	return &spare{status: status, room: maxApplicationBytes - len(raw)}
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
