package explain

import (
	"bytes"
	"encoding/json"
	"maps"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// View is the printed form of a plan, for `holdfast diff -o yaml` and the golden files. Values of Secrets are masked.
type View struct {
	APIVersion  string    `json:"apiVersion" yaml:"apiVersion"`
	Kind        string    `json:"kind" yaml:"kind"`
	Application ViewOwner `json:"application" yaml:"application"`
	// Refused is the reason why the Application is invalid. The plan then has no changes.
	Refused *ViewProblem `json:"refused,omitempty" yaml:"refused,omitempty"`
	// Selected lists the number of objects that each spec.select item matches.
	Selected []plan.ViewSelection `json:"selected,omitempty" yaml:"selected,omitempty"`
	// Changes are in the order of execution, including unchanged resources.
	Changes  []ViewChange `json:"changes" yaml:"changes"`
	Warnings []string     `json:"warnings" yaml:"warnings"`
	// Status is the status that the Application would have after the changes.
	Status ViewStatus `json:"status" yaml:"status"`
}

// ViewOwner names the Application.
type ViewOwner struct {
	Namespace string `json:"namespace" yaml:"namespace"`
	Name      string `json:"name" yaml:"name"`
	// Mode is Observe for an observe-only Application, whose plan is not executed. Otherwise, it is empty.
	Mode v1alpha1.Mode `json:"mode,omitempty" yaml:"mode,omitempty"`
}

// ViewProblem is the reason why a plan or a change cannot be executed.
type ViewProblem struct {
	Reason  string `json:"reason" yaml:"reason"`
	Message string `json:"message" yaml:"message"`
}

// ViewChange is a planned change of one object.
type ViewChange struct {
	// Action is Change.Verb, which for a shared object is not one of the four actions.
	Action   plan.Action  `json:"action" yaml:"action"`
	Resource ViewResource `json:"resource" yaml:"resource"`
	Problem  *ViewProblem `json:"problem,omitempty" yaml:"problem,omitempty"`
	// Manifest is the body of a create.
	Manifest map[string]any `json:"manifest,omitempty" yaml:"manifest,omitempty"`
	// Fields are the drifted fields. Reported are those of them that are report-only, and never corrected.
	Fields []Field `json:"fields,omitempty" yaml:"fields,omitempty"`
	// Patch lists the operations without the guards.
	Patch []ViewOp `json:"patch,omitempty" yaml:"patch,omitempty"`
	// NotHeld lists the free fields whose live values differ from the manifest.
	NotHeld []Field `json:"notHeld,omitempty" yaml:"notHeld,omitempty"`
	// Additions lists the elements that other clients added to open lists.
	Additions []string `json:"additions,omitempty" yaml:"additions,omitempty"`
	// Reported is the drift of report-only fields. It is not corrected.
	Reported []Field `json:"reported,omitempty" yaml:"reported,omitempty"`
	// Profiles lists the HoldProfiles that apply to fields of the resource.
	Profiles []string `json:"profiles,omitempty" yaml:"profiles,omitempty"`
}

// ViewResource is a reference to an object. Its fields are in reading order.
type ViewResource struct {
	APIVersion string `json:"apiVersion" yaml:"apiVersion"`
	Kind       string `json:"kind" yaml:"kind"`
	Namespace  string `json:"namespace,omitempty" yaml:"namespace,omitempty"`
	Name       string `json:"name" yaml:"name"`
}

// ViewOp is one operation of the patch.
type ViewOp struct {
	Op    string      `json:"op" yaml:"op"`
	Path  string      `json:"path" yaml:"path"`
	Value delta.Value `json:"value,omitzero" yaml:"value,omitempty"`
}

// ViewStatus is the planned status. YAML contains only the exported fields, and JSON the whole status.
type ViewStatus struct {
	MangledObserverSchema []any `json:"mangledObserverSchema" yaml:"mangledObserverSchema"`
	LastAppliedManifest   []any `json:"lastAppliedManifest" yaml:"lastAppliedManifest"`
	LastObservedManifest  []any `json:"lastObservedManifest" yaml:"lastObservedManifest"`

	// whole is the status in the API version, for MarshalJSON.
	whole v1alpha1.ApplicationStatus
}

// MarshalJSON writes the whole planned status, without the transition times of conditions. A user can put it
// into an Application file to compute the next plan.
func (s ViewStatus) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(v1alpha1.WholeStatus(s.whole))
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := utiljson.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	for _, condition := range manifest.NestedMaps(tree, "conditions") {
		delete(condition, "lastTransitionTime")
	}
	// The records are redacted when they are written. A status in a file may have values.
	for _, record := range []string{"lastAppliedManifest", "lastObservedManifest"} {
		if objects, is := tree[record].([]any); is {
			tree[record] = shown(objects)
		}
	}
	return manifest.EncodeJSON(tree), nil // the raw parts are escaped already
}

// ViewOf returns the printed form of a plan. Its status is the one after all changes of the plan succeed.
// Values of Secrets are masked in all parts. ViewOf does not change the plan.
func ViewOf(p *plan.Plan) View {
	app := p.Input().Application
	v := View{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Plan",
		Application: ViewOwner{Namespace: app.Namespace, Name: app.Name},
		Refused:     viewProblem(p.Invalid),
		Changes:     make([]ViewChange, 0, len(p.Changes)),
		Warnings:    append([]string{}, p.Warnings...),
	}
	v.Selected, _ = p.Selected()
	if p.IsObserveOnly() {
		v.Application.Mode = v1alpha1.ModeObserve
	}
	for _, c := range p.Changes {
		v.Changes = append(v.Changes, viewChange(p, c))
	}
	status := p.PreviewStatus()
	v.Status = ViewStatus{
		MangledObserverSchema: manifest.DecodeRawList(status.MangledObserverSchema),
		LastAppliedManifest:   shown(manifest.DecodeRawList(status.LastAppliedManifest)),
		LastObservedManifest:  shown(manifest.DecodeRawList(status.LastObservedManifest)),
		whole:                 status,
	}
	return v
}

// Schemas returns the effective schemas of a plan, as the status would store them.
func Schemas(p *plan.Plan) (schemas []map[string]any) {
	for _, raw := range p.PreviewStatus().MangledObserverSchema {
		if content, err := manifest.DecodeRaw(raw); err == nil {
			schemas = append(schemas, content)
		}
	}
	return schemas
}

// YAML returns the view as YAML, with the keys of the plan in reading order. Golden files have this form, so it is
// deterministic.
func (v View) YAML() ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// shown masks the values of Secrets in objects. It changes the slice, but not the objects in it.
func shown(objects []any) []any {
	for i, object := range objects {
		if content, is := object.(map[string]any); is {
			objects[i] = manifest.RedactNested(content)
		}
	}
	return objects
}

// viewChange returns the printed form of a change.
func viewChange(p *plan.Plan, c plan.Change) ViewChange {
	v := ViewChange{
		Action: plan.Action(c.Verb()),
		Resource: ViewResource{
			APIVersion: c.APIVersion, Kind: c.ID.Kind, Namespace: c.ID.Namespace, Name: c.ID.Name,
		},
		Problem: viewProblem(c.Problem),
		NotHeld: FreeDifferences(p, c),
	}
	if schema := c.Schema(); schema != nil {
		v.Profiles = schema.Profiles()
	}
	if c.Manifest != nil {
		v.Manifest = withGenerated(manifest.RedactNested(c.Manifest))
	}
	for _, d := range c.Fields {
		f := MaskedField(c.ID, d)
		f.Corrected = corrects(p, c, d)
		v.Fields = append(v.Fields, f)
	}
	for _, d := range c.Additions() {
		v.Additions = append(v.Additions, d.Path)
	}
	for _, d := range c.Reported() {
		v.Reported = append(v.Reported, MaskedField(c.ID, d))
	}
	for _, op := range c.Patch {
		v.Patch = append(v.Patch, viewOp(c.ID, op))
	}
	return v
}

// MaskedField returns a difference as a field for display. The values of a Secret are masked, so that they only show
// that they differ. The field has no state, and Corrected is false.
func MaskedField(id manifest.ID, d delta.Difference) Field {
	desired, live := plan.MaskedPair(id, d.Path, d.Desired, d.Live)
	return Field{Path: d.Path, Desired: desired, Live: live, Drift: d.Reason, Rule: d.Rule}
}

// withGenerated returns a Secret with a placeholder for each value that is generated when it is created. It returns
// any other object as it is, and does not change its argument.
func withGenerated(object map[string]any) map[string]any {
	keys, err := hooks.GeneratedKeys(object)
	if err != nil || len(keys) == 0 {
		return object
	}
	shown, data := maps.Clone(object), map[string]any{}
	maps.Copy(data, manifest.NestedMap(object, "data"))
	for _, key := range keys {
		data[key.Name] = manifest.Masked + " (generated)"
	}
	shown["data"] = data
	return shown
}

// viewOp returns the printed form of an operation. A value of a Secret is masked.
func viewOp(id manifest.ID, op delta.Op) ViewOp {
	v := ViewOp{Op: op.Op, Path: op.Path}
	// An operation with the value null is printed with it.
	if op.Op != "remove" {
		value := op.Value
		if plan.IsSecretPointer(id, op.Path) {
			value = manifest.Masked
		}
		v.Value = delta.NewValue(value)
	}
	return v
}

// viewProblem returns the printed form of a Problem, or nil. It omits the remedy.
func viewProblem(p *plan.Problem) *ViewProblem {
	if p == nil {
		return nil
	}
	return &ViewProblem{Reason: p.Reason, Message: p.Message}
}
