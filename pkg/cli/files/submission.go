package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// Submission is an Application that is to be sent, and the files that it is
// from.
type Submission struct {
	Name, Namespace string
	// Content is what is sent: a JSON object in which nulls mean something.
	Content map[string]any
	App     *v1alpha1.Application
	// whole is the file that is an Application itself; its Value is nil if there
	// is none, and the manifests and entries are these.
	whole     manifest.Document
	manifests []manifest.Document
	entries   []manifest.Document
	Archive   []byte // of --csar, to be put into a ConfigMap
}

// Read makes a submission of the files.
func (s SubmittedSource) Read(ctx context.Context) (*Submission, error) {
	documents, err := s.Input.Read(ctx, s.files)
	entries, schemaErr := s.Input.Read(ctx, s.schemas)
	if err = errors.Join(err, schemaErr); err != nil {
		return nil, err
	}
	if s.kustomization != "" {
		built, err := kustomized(s.kustomization)
		if err != nil {
			return nil, err
		}
		documents = append(documents, built...)
	}
	sub := &Submission{Name: s.name, manifests: documents, entries: entries}
	if err := sub.takeWhole(); err != nil {
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

// takeWhole finds the document that is an Application itself.
func (s *Submission) takeWhole() error {
	for _, document := range s.manifests {
		if group, _, _ := strings.Cut(text(document.Value, "apiVersion"), "/"); group != v1alpha1.GroupVersion.Group || text(document.Value, "kind") != v1alpha1.Kind {
			continue
		}
		if len(s.manifests) > 1 {
			return FaultAt(document, nil, "is an Application, and there are other objects beside it: submit it alone, or give the objects without it")
		}
		if err := errors.Join(isApplication(document), checkApplication(document)); err != nil {
			return err
		}
		if err := refuseMaskedIn(document); err != nil {
			return err
		}
		s.whole, s.manifests = document, nil
		own, _, _ := unstructured.NestedString(document.Value, "metadata", "name")
		if s.Name != "" && s.Name != own {
			return FaultAt(document, manifest.Path{"metadata", "name"}, fmt.Sprintf("is %s, and you said %s: leave one of them out", own, s.Name))
		}
		s.Name = own
	}
	if s.Name == "" {
		return errors.New("what is its name? Give NAME, or a file that is an Application")
	}
	return nil
}

// text is a string in an object, or "".
func text(object map[string]any, fields ...string) string {
	s, _, _ := unstructured.NestedString(object, fields...)
	return s
}

// fill makes the content out of the files and the flags.
func (s SubmittedSource) fill(ctx context.Context, sub *Submission) error {
	metadata, spec := map[string]any{"name": sub.Name}, map[string]any{}
	if sub.whole.Value != nil {
		metadata, spec = wholeParts(sub.whole.Value)
	}
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
	if err := s.template(ctx, sub, spec); err != nil {
		return err
	}
	for field, value := range map[string]string{
		"serviceAccountName": s.serviceAccount, "adoption": s.adoption, "deletionPolicy": s.deletionPolicy,
	} {
		if value != "" {
			spec[field] = value
		}
	}
	if len(s.hooks) > 0 {
		hooks, _ := spec["hooks"].(map[string]any)
		if hooks == nil {
			hooks = map[string]any{}
		}
		if hooks["complete"] == nil {
			hooks["complete"] = map[string]any{}
		}
		spec["hooks"] = hooks
	}
	sub.Content = map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": metadata, "spec": spec,
	}
	return nil
}

// wholeParts are the parts of an Application in a file that a user sets.
func wholeParts(content map[string]any) (metadata, spec map[string]any) {
	metadata = map[string]any{}
	for _, field := range []string{"name", "namespace", "labels", "annotations"} {
		if value, has, _ := unstructured.NestedFieldNoCopy(content, "metadata", field); has {
			metadata[field] = value
		}
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		// The server's own and those of a client-side apply do not belong to the file.
		delete(annotations, lastApplied)
		delete(annotations, v1alpha1.AnnotationKinds)
	}
	spec, _ = content["spec"].(map[string]any)
	return metadata, spec
}

// refuseMaskedIn looks at the manifests of an Application in a file.
func refuseMaskedIn(document manifest.Document) error {
	manifests, _, _ := unstructured.NestedFieldNoCopy(document.Value, "spec", "manifest")
	list, _ := manifests.([]any)
	var faults []error
	for i, item := range list {
		content, _ := item.(map[string]any)
		faults = append(faults, refuseMasked(document, manifest.Path{"spec", "manifest", i}, content))
	}
	return errors.Join(faults...)
}

// refuseMasked refuses a Secret whose values were masked by whoever printed it. at
// is where it stands in its file.
func refuseMasked(document manifest.Document, at manifest.Path, object map[string]any) error {
	if text(object, "kind") != "Secret" || text(object, "apiVersion") != "v1" {
		return nil
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if values[key] == manifest.Masked {
				return FaultAt(document, append(slices.Clone(at), field, key), "its value is masked: put the value there, or get the Secret again with --show-secrets")
			}
		}
	}
	return nil
}

// decode reads the content as an Application.
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

// Place puts it into a namespace: that of the file, of the flag, or of the
// context.
func (s *Submission) Place(namespace, flag string) error {
	own := s.App.Namespace
	if own != "" && flag != "" && own != flag {
		return FaultAt(s.whole, manifest.Path{"metadata", "namespace"}, fmt.Sprintf("is %s, and you said -n %s: leave one of them out", own, flag))
	}
	if s.Namespace = own; own == "" {
		s.Namespace = namespace
	}
	s.App.Namespace = s.Namespace
	if s.Namespace != "" {
		s.Content["metadata"].(map[string]any)["namespace"] = s.Namespace
	}
	return nil
}

// Check has the engine look at manifests and schema.
func (s *Submission) Check(kinds plan.Kinds) error {
	if s.App.Spec.Tosca != nil || s.App.Spec.CSAR != nil {
		return nil // the controller translates it
	}
	in := plan.Input{Application: s.App, Kinds: kinds}
	if s.Namespace == "" {
		in.Application = s.App.DeepCopy()
		in.Application.Namespace = "default"
	}
	p := plan.Decide(in)
	if p.Refused == nil {
		return nil
	}
	if s.whole.Value != nil {
		return refusal(s.whole, p.Refused, plan.Faults(in))
	}
	return s.refusal(p.Refused, plan.Faults(in))
}

// refusal says why the files cannot be used, each mistake in the file that it is
// in.
func (s *Submission) refusal(problem *plan.Problem, faults []error) error {
	if len(faults) == 0 {
		return fmt.Errorf("%s: %w", problem.Reason, problem)
	}
	all := make([]error, len(faults))
	for i, fault := range faults {
		all[i] = fmt.Errorf("%s: %w", problem.Reason, s.placed(fault))
	}
	return errors.Join(all...)
}

func (s *Submission) placed(fault error) error {
	var ofManifest *manifest.Fault
	if errors.As(fault, &ofManifest) && ofManifest.Position < len(s.manifests) {
		return FaultAt(s.manifests[ofManifest.Position], ofManifest.Path, fault.Error())
	}
	var ofSchema *observer.Fault
	if errors.As(fault, &ofSchema) && ofSchema.Entry < len(s.entries) {
		return FaultAt(s.entries[ofSchema.Entry], ParsePath(ofSchema.Path), fault.Error())
	}
	return fault
}

// Object is the content as printers take it, with the values of Secrets: it is
// what would be sent.
func (s *Submission) Object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.Content)}
}

// readInputs reads NAME=VALUE, values as YAML.
func readInputs(texts []string) (map[string]any, error) {
	inputs := map[string]any{}
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("--input takes NAME=VALUE, and %q has no name before a '='", name)
		}
		var read any
		if err := yaml.Unmarshal([]byte(value), &read); err != nil {
			return nil, fmt.Errorf("--input %s: the value is not YAML: put it into quotes", name)
		}
		inputs[name] = read
	}
	return inputs, nil
}
