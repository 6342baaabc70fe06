package controller_test

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// greetings is the template of the kind Greeting: a ConfigMap with a text.
type greetings struct{}

// Kind implements template.Template.
func (greetings) Kind() template.Kind {
	gvk := schema.GroupVersionKind{Group: "templates.example.com", Version: "v1", Kind: "Greeting"}
	return template.Kind{GroupVersionKind: gvk, Resource: "greetings"}
}

// Render implements template.Template.
func (greetings) Render(in template.Input) (template.RenderedTemplate, error) {
	object := unstructured.Unstructured{Object: in.Object}
	text, _, _ := unstructured.NestedString(in.Object, "spec", "text")
	if text == "" {
		return template.RenderedTemplate{}, &template.ValidationError{
			Path: manifest.Path{"spec", "text"}, Reason: template.ReasonSpecInvalid, Message: "is empty: say something",
		}
	}
	config := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()},
		"data":     map[string]any{"text": text},
	}
	return template.RenderedTemplate{
		Manifests: []map[string]any{config},
		Schema:    []map[string]any{template.Observe(config)},
	}, nil
}

// Status implements template.Template.
func (greetings) Status(seen template.Seen) (map[string]any, error) {
	verdict := seen.Verdict()
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, LastTransitionTime: seen.Now,
		Reason: verdict.Reason, Message: verdict.Message,
	}
	if verdict.Ready {
		ready.Status = metav1.ConditionTrue
	}
	var greeting struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(seen.Object, &greeting); err != nil {
		return nil, err
	}
	meta.SetStatusCondition(&greeting.Status.Conditions, ready)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&greeting.Status)
}
