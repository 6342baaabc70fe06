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
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/slice"
)

// Submission is an Application to be sent, with the files that it is made from. The methods are called in this
// order: SetNamespace, Translate, Check, and then the others.
//
//	step          sets
//	Read          Name, Content, App, the files
//	SetNamespace  Namespace
//	Translate     translation, and the typed inputs in Content
//	Check         kinds, input; drops server fields from Content
//	Cut, Objects  nothing: they return what is sent or printed
type Submission struct {
	Name, Namespace string
	// Content is the object to send, a JSON object in which nulls have a meaning. Check removes fields from it.
	Content map[string]any
	// App is the decoded Content, without the changes of Check.
	App *v1alpha1.Application
	// whole is the file that is an Application itself; its Value is nil if there is none. manifests and entries
	// are the documents of the other files, in the order of spec.manifest and spec.observerSchema.
	whole     manifest.Document
	manifests []manifest.Document
	entries   []manifest.Document
	Archive   []byte // from --csar, stored in a ConfigMap
	// template is the file of --tosca or --csar; its name is empty if there is none.
	template    templateFile
	translation *intent.Source // the translated template, or nil
	kinds       intent.Kinds   // the kinds that Check resolved
	input       *plan.Input    // the input that Check decided about, or nil
}

// Read returns the submission that the files and flags describe. It reads standard input, so call it once. It
// fetches files with a URL, but not a template with a URL: the controller fetches that.
func (s SubmittedSource) Read(ctx context.Context) (*Submission, error) {
	documents, err := s.Manifests(ctx)
	entries, schemaErr := s.schema.Read(ctx, s.Input)
	if err = errors.Join(err, schemaErr); err != nil {
		return nil, err
	}
	documents, get, err := takeSlices(documents)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 && s.tosca == "" && s.csar == "" {
		return nil, fmt.Errorf("no manifest in %s", strings.Join(s.manifests.Names(), ", "))
	}
	// Slices in the files are joined into the Application, which is split again before it is sent.
	sub := &Submission{Name: s.name, manifests: documents, entries: entries}
	if err := sub.takeWhole(get); err != nil {
		return nil, err
	}
	if err := s.fill(ctx, sub); err != nil {
		return nil, err
	}
	if err := sub.decode(); err != nil {
		return nil, err
	}
	return sub, nil
}

// NewSubmission returns the submission of an Application with a spec. It keeps the spec, and does not validate
// it.
func NewSubmission(name string, spec map[string]any) (*Submission, error) {
	s := &Submission{Name: name, Content: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
	err := s.decode()
	return s, err
}

// Manifests returns the manifests: those made from live objects if there are any, or else the documents of the files.
func (s SubmittedSource) Manifests(ctx context.Context) ([]manifest.Document, error) {
	if s.live != nil {
		return s.live.Manifests, nil
	}
	return s.manifests.Read(ctx, s.Input)
}

// takeWhole finds the document that is an Application itself, joins its slices, and sets the name of the
// submission. It returns an error if the submission has no name.
//
//	NAME given   the file is      result
//	yes          manifests        NAME
//	yes          an Application   its name, which must be NAME
//	no           an Application   its name
//	no           manifests        an error
func (s *Submission) takeWhole(get slice.Get) error {
	for _, document := range s.manifests {
		if !ofApplication(document.Value) {
			continue
		}
		isOther := func(d manifest.Document) bool { return !ofApplication(d.Value) }
		switch {
		case len(s.manifests) == 1:
		case slices.ContainsFunc(s.manifests, isOther):
			return FaultAt(document, nil, "is an Application, and the input contains other objects: submit only the Application, or only the objects")
		default:
			return FaultAt(document, nil, fmt.Sprintf("is one of %d Applications: submit each with a command of its own", len(s.manifests)))
		}
		if err := errors.Join(isApplication(document), checkApplication(document)); err != nil {
			return err
		}
		// The spec is shared with the document, so the document gets the content of the slices, too. The status
		// is not sent, so its slices are not needed.
		sent := maps.Clone(document.Value)
		delete(sent, "status")
		if err := JoinObject(sent, get); err != nil {
			return FaultAt(document, manifest.Path{"spec"}, err.Error()+": also give its slices, or get the complete Application with `holdfast get -o yaml`")
		}
		if err := refuseMaskedIn(document, nil, document.Value); err != nil {
			return err
		}
		s.whole, s.manifests = document, nil
		own := manifest.NestedString(document.Value, "metadata", "name")
		if s.Name != "" && s.Name != own {
			return FaultAt(document, manifest.Path{"metadata", "name"}, fmt.Sprintf("is %s, but you gave %s: omit one of them", own, s.Name))
		}
		s.Name = own
	}
	if s.Name == "" {
		return errors.New("no name given: give NAME, or a file that is an Application")
	}
	return nil
}

// fill sets the content from the files and the flags. Flags take precedence over the file. It can change the
// document of an Application. The content has only fields that a user sets. An apply would otherwise become the
// owner of fields of the controller.
func (s SubmittedSource) fill(ctx context.Context, sub *Submission) error {
	metadata, spec := map[string]any{"name": sub.Name}, map[string]any{}
	if sub.whole.Value != nil {
		metadata, spec = wholeParts(sub.whole.Value)
	}
	// The order of spec.manifest is the order of the documents, which located relies on.
	for i, document := range sub.manifests {
		if err := refuseMasked(document, nil, document.Value); err != nil {
			return err
		}
		list, _ := spec["manifest"].([]any)
		spec["manifest"] = append(list, sub.manifests[i].Value)
	}
	for i := range sub.entries {
		list, _ := spec["observerSchema"].([]any)
		spec["observerSchema"] = append(list, sub.entries[i].Value)
	}
	s.live.fill(spec)
	replaceNulls(spec)
	if err := s.setTemplate(ctx, sub, spec); err != nil {
		return err
	}
	for field, value := range map[string]string{
		"serviceAccountName": s.serviceAccount, "adoption": s.adoption, "mode": s.mode, "deletionPolicy": s.deletionPolicy,
	} {
		if value != "" {
			spec[field] = value
		}
	}
	if len(s.hooks) > 0 {
		// A hook that the file configures keeps its configuration.
		manifest.EnsureMap(manifest.EnsureMap(spec, "hooks"), "complete")
	}
	sub.Content = map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": metadata, "spec": spec,
	}
	return nil
}

// wholeParts returns the parts of an Application in a file that a user sets: without status, UID and
// resourceVersion. The parts are shared with content, and it removes annotations from content. `holdfast get NAME -o
// yaml` therefore prints a file that submit accepts.
func wholeParts(content map[string]any) (metadata, spec map[string]any) {
	metadata = map[string]any{}
	for _, field := range []string{"name", "namespace", "labels", "annotations"} {
		if value, has, _ := unstructured.NestedFieldNoCopy(content, "metadata", field); has {
			metadata[field] = value
		}
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		// The annotations of the controller and of a client-side apply are not part of the user's input.
		delete(annotations, manifest.LastApplied)
		for _, key := range Ahead {
			delete(annotations, key)
		}
	}
	spec, _ = content["spec"].(map[string]any)
	return metadata, spec
}

// refuseMaskedIn returns an error if a manifest of an Application is a masked Secret, also inside a nested
// Application. at is the path of the Application in its document.
func refuseMaskedIn(document manifest.Document, at manifest.Path, application map[string]any) error {
	spec, _ := application["spec"].(map[string]any)
	list, _ := spec["manifest"].([]any)
	var faults []error
	for i, item := range list {
		content, _ := item.(map[string]any)
		faults = append(faults, refuseMasked(document, append(slices.Clone(at), "spec", "manifest", i), content))
	}
	return errors.Join(faults...)
}

// refuseMasked returns an error if an object is a Secret that was printed with masked values. Otherwise the mask
// would replace the real values. at is the path of the object in the document. Only exact masks are found, in data
// and stringData. A mask in another kind is a value like any other.
func refuseMasked(document manifest.Document, at manifest.Path, object map[string]any) error {
	if ofApplication(object) {
		return refuseMaskedIn(document, at, object)
	}
	if manifest.NestedString(object, "kind") != "Secret" || manifest.NestedString(object, "apiVersion") != "v1" {
		return nil
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if values[key] == manifest.Masked {
				return FaultAt(document, append(slices.Clone(at), field, key), "has a masked value: set the value, or get the Secret again with --show-secrets")
			}
		}
	}
	return nil
}

// decode sets App from the content.
func (s *Submission) decode() error {
	raw, err := json.Marshal(s.Content)
	if err != nil {
		return fmt.Errorf("writing the Application %s: %w", s.Name, err)
	}
	s.App = &v1alpha1.Application{}
	if err := json.Unmarshal(raw, s.App); err != nil {
		return fmt.Errorf("the Application %s cannot be read: %w", s.Name, err)
	}
	return nil
}

// SetNamespace sets the namespace to that of the file, or else to the given one. flag is the value of -n, which
// must not contradict the file. If all are empty, the submission has no namespace.
//
//	file   -n     context   namespace
//	a      ""     c         a
//	a      a      c         a
//	a      b      c         an error
//	""     b      c         b
//	""     ""     c         c
//	""     ""     none      none: with --dry-run=client
func (s *Submission) SetNamespace(namespace, flag string) error {
	own := s.App.Namespace
	if own != "" && flag != "" && own != flag {
		return FaultAt(s.whole, manifest.Path{"metadata", "namespace"}, fmt.Sprintf("is %s, but you gave -n %s: omit one of them", own, flag))
	}
	s.Namespace = cmp.Or(own, namespace)
	s.App.Namespace = s.Namespace
	if s.Namespace != "" {
		s.Content["metadata"].(map[string]any)["namespace"] = s.Namespace
	}
	return nil
}

// Check validates the manifests and the observer schema with the engine, and returns its warnings. If only the
// controller can translate the template, it validates only the schema. The view provides the known kinds. Check
// removes the fields from Content that the engine drops; see dropServerFields.
//
//	what is known                        checked
//	manifests, or a translated template  manifests, schema, fields, kinds
//	a template that was not translated   the schema only
//
// The API server is asked only for kinds. It validates the objects in a dry run, or when the controller writes them.
func (s *Submission) Check(ctx context.Context, view View) (warnings []string, err error) {
	if intent.IsTranslated(s.App) && s.translation == nil {
		return nil, s.checkSchema()
	}
	app := s.App
	if s.Namespace == "" {
		// The engine needs a namespace for namespaced objects. The real one is unknown, and does not matter
		// here.
		app = app.DeepCopy()
		app.Namespace = "default"
	}
	// App has no status, so an update is decided like a new Application: only the validation matters.
	snapshot, p, err := reconcile.Decide(ctx, view, reconcile.Request{Application: app, Source: s.translation, Memory: reconcile.NewMemory(app, time.Time{})})
	if err != nil {
		return nil, err
	}
	if s.kinds = snapshot.Input.Kinds; p.Invalid != nil {
		return nil, s.refusal(p.Invalid, intent.Faults(snapshot.Input.Intent()))
	}
	s.input = &snapshot.Input
	s.dropServerFields()
	return append(p.Warnings, s.impossible(p)...), nil
}

// Decision returns the decision of Check about the manifests. It is nil if only the controller can translate the
// template, and before Check.
func (s *Submission) Decision() *Decision {
	if s.input == nil {
		return nil
	}
	return &Decision{Subject: Subject{Application: s.App}, Plan: plan.Decide(*s.input), Kinds: s.input.Kinds, gathered: *s.input}
}

// dropServerFields removes the fields and Helm hooks from the content that the engine drops with a warning. The
// warning would otherwise be repeated as long as the Application exists.
func (s *Submission) dropServerFields() {
	spec, _ := s.Content["spec"].(map[string]any)
	list, _ := spec["manifest"].([]any)
	for i, item := range list {
		if content, ok := item.(map[string]any); ok {
			list[i] = manifest.WithoutServerFields(content)
		}
	}
	isUnused := func(item any) bool {
		content, _ := item.(map[string]any)
		return manifest.IsUnusedHook(content)
	}
	if slices.ContainsFunc(list, isUnused) {
		spec["manifest"] = slices.DeleteFunc(list, isUnused)
	}
}

// impossible returns sorted messages about kinds that cannot be held, and about kinds that are neither served nor
// defined by the Application. Usually the names of the latter are mistyped. They are warnings, because the kind can
// be installed later: the controller retries.
func (s *Submission) impossible(p *plan.Plan) (messages []string) {
	defined := KindsOf(s.Known()).definitions
	for _, change := range p.Changes {
		if change.Problem == nil {
			continue
		}
		switch d := change.Problem.Disposition(); {
		case d == v1alpha1.DispositionEdit, d == v1alpha1.DispositionInstall && defined[change.ID.GroupKind()] == nil:
			messages = append(messages, change.Problem.Message)
		}
	}
	slices.Sort(messages)
	return slices.Compact(messages)
}

// checkSchema validates only the observer schema. Whether it matches the manifests is unknown here.
func (s *Submission) checkSchema() error {
	entries := make([]map[string]any, len(s.App.Spec.ObserverSchema))
	for i, item := range s.App.Spec.ObserverSchema {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil {
			return fmt.Errorf("observerSchema[%d]: %w", i, err)
		}
		entries[i] = content
	}
	_, err := observer.ParseAll(entries)
	if err == nil {
		return nil
	}
	return s.refusal(&plan.Problem{Reason: v1alpha1.ReasonObserverSchemaInvalid}, terminal.Each(err))
}

// Known returns the Application with the translated objects among its manifests, so that their kinds can be
// found. It is not the Application to send.
func (s *Submission) Known() *v1alpha1.Application {
	return WithTranslation(s.App, s.translation)
}

// refusal returns an error that explains why the files are invalid. Each validation error has a position in its
// file, or the name of the template.
func (s *Submission) refusal(problem *plan.Problem, faults []error) error {
	if s.whole.Value != nil {
		return refusal(s.whole, problem, faults)
	}
	if len(faults) == 0 {
		return fmt.Errorf("%s: %w", problem.Reason, problem)
	}
	all := make([]error, len(faults))
	for i, fault := range faults {
		all[i] = fmt.Errorf("%s: %w", problem.Reason, s.located(fault))
	}
	return errors.Join(all...)
}

// located returns a validation error of the engine with the position in the file that it is about. The index of
// a manifest or schema in the spec is also the index of its document. It returns other errors unchanged.
//
//	web.yaml:7:3: spec.replicas: ...           from -f
//	schema.yaml:4:5: spec.replicas: ...        from -O
//	shop.yaml: spec.replicas: ...              an object of the template shop.yaml
func (s *Submission) located(fault error) error {
	ofManifest, isManifest := errors.AsType[*manifest.ValidationError](fault)
	if isManifest && ofManifest.Field == nil && ofManifest.Position < len(s.manifests) {
		return FaultAt(s.manifests[ofManifest.Position], ofManifest.Path, fault.Error())
	}
	if ofSchema, is := errors.AsType[*observer.ValidationError](fault); is && ofSchema.Entry < len(s.entries) {
		return FaultAt(s.entries[ofSchema.Entry], ParsePath(ofSchema.Path), fault.Error())
	}
	if s.template.name != "" && isManifest {
		return fmt.Errorf("%s: %w", s.template.name, fault)
	}
	return fault
}
