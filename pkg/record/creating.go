package record

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// PendingCreates is the decoded value of the annotation holdfast.dev/creating.
type PendingCreates struct {
	// Objects are the identities of objects: group/kind/namespace/name, for example apps/Deployment/prod/web, or
	// /Secret/prod/key in the core group.
	Objects []string `json:"objects"`
	// States are the desired states of some of these objects, as JSON objects. Values of Secrets are masked in them.
	States []any `json:"states"`
}

// ReadPendingCreates decodes the value of the annotation holdfast.dev/creating: base64 of compressed JSON. It returns
// an empty value if it cannot be decoded.
func ReadPendingCreates(text string) (pending PendingCreates) {
	compressed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(compressed) == 0 {
		return PendingCreates{}
	}
	// A limit, because any client that may write the Application may write the annotation.
	raw, err := compress.Decode(compressed, 2*v1alpha1.MaxApplicationBytes)
	if err != nil {
		return PendingCreates{}
	}
	var tree map[string]any // integers are int64 in it
	if utiljson.Unmarshal(raw, &tree) != nil {
		return PendingCreates{}
	}
	pending.States, _ = tree["states"].([]any)
	objects, _ := tree["objects"].([]any)
	for _, name := range objects {
		if text, ok := name.(string); ok {
			pending.Objects = append(pending.Objects, text)
		}
	}
	return pending
}

// Has reports whether the annotation names an object.
func (a PendingCreates) Has(id manifest.ID) bool { return slices.Contains(a.Objects, Identity(id)) }

// Pack encodes the value as compressed JSON in base64. It drops the last states until the value fits into
// room, in bytes. If the value without states does not fit, Pack returns "". The receiver's States are not changed.
func (a PendingCreates) Pack(room int) string {
	for {
		raw, _ := json.Marshal(a) // values that were decoded can be encoded
		if frame := compress.Encode(raw); base64.StdEncoding.EncodedLen(len(frame)) <= room {
			return base64.StdEncoding.EncodeToString(frame)
		}
		if len(a.States) == 0 {
			return ""
		}
		// Halving, because each attempt compresses the value again.
		a.States = a.States[:len(a.States)/2]
	}
}

// Identity returns the identity of an object in the form of the annotation.
func Identity(id manifest.ID) string {
	return strings.Join([]string{id.Group, id.Kind, id.Namespace, id.Name}, "/")
}

// AddCreated adds the states in the annotation holdfast.dev/creating to the records. It adds only those of
// resources that the status does not have, or that could not be created. It changes records.
func AddCreated(records map[manifest.ID]*Record, app *v1alpha1.Application, types intent.Kinds) {
	for _, state := range ReadPendingCreates(app.Annotations[v1alpha1.AnnotationCreating]).States {
		desired, _ := state.(map[string]any)
		id, ok := manifest.Identify(desired, app.Namespace, types)
		if !ok {
			continue
		}
		r := records[id]
		// The status is newer than the annotation once it contains the UID. A user's schema removes no fields.
		if r != nil && (r.Status != nil && r.Status.UID != "" || r.Entry != nil && !r.Entry.FollowsManifest()) {
			continue
		}
		created := &Record{ID: id, Desired: desired, Created: true}
		object := manifest.Object{ID: id, APIVersion: manifest.NestedString(desired, "apiVersion"), Content: desired}
		created.Entry = observer.DefaultEntry(object).Typed(types.Type(object.GVK()))
		if r != nil {
			created.Status = r.Status
		}
		records[id] = created
	}
}
