package source

import (
	"context"
	"encoding/base64"
	"fmt"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// secretKind is the kind whose values must not be shown.
const secretKind = "Secret"

// readKey reads the template or archive from a key of a ConfigMap or Secret. In the data of a ConfigMap it is a string,
// that is, a template instead of an archive. A missing key can be added later, so it is retried, like a missing object.
func (m *Material) readKey(ctx context.Context, reader Reader, kind string, ref v1alpha1.KeyReference) *plan.Problem {
	m.Name = fmt.Sprintf("%s %s, key %s", kind, ref.Name, ref.Key)
	object, problem := reader.Read(ctx, kind, ref.Name)
	if problem != nil {
		return problem
	}
	encoded := "binaryData"
	if kind == secretKind {
		encoded = "data"
		m.stamp = objectStamp(object, m.Name)
	}
	if text, has := textAt(object, encoded, ref.Key); has {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return missingProblem("%s: is not base64", m.Name)
		}
		m.Data = raw
		return nil
	}
	if text, has := textAt(object, "data", ref.Key); has && kind != secretKind {
		m.Data = []byte(text)
		return nil
	}
	return missingProblem("%s: the key does not exist", m.Name)
}

// textAt returns a string in one of the maps of a ConfigMap or Secret, and whether it exists.
func textAt(object map[string]any, field, key string) (string, bool) {
	data, _ := object[field].(map[string]any)
	text, has := data[key].(string)
	return text, has
}

// objectStamp identifies one version of an object. A digest of the content of a Secret would allow guessing
// its values.
func objectStamp(object map[string]any, name string) string {
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprintf("%s, uid %v, version %v", name, metadata["uid"], metadata["resourceVersion"])
}

// readInputs collects the inputs. Inputs of later objects override earlier ones, and those in the
// Application override all others.
func (m *Material) readInputs(ctx context.Context, reader Reader) *plan.Problem {
	t := translationOf(m.Application)
	m.Inputs = map[string]hooks.Input{}
	for i, from := range t.InputsFrom {
		kind, ref := "ConfigMap", from.ConfigMapRef
		if from.SecretRef != nil {
			kind, ref = secretKind, from.SecretRef
		}
		if ref == nil { // only from a file: an API server rejects it
			return &plan.Problem{Reason: v1alpha1.ReasonTranslationFailed, Message: fmt.Sprintf("inputsFrom[%d] must have configMapRef or secretRef", i)}
		}
		object, problem := reader.Read(ctx, kind, ref.Name)
		if problem != nil {
			return problem
		}
		if problem := m.addTexts(kind, ref.Name, object); problem != nil {
			return problem
		}
	}
	if t.Inputs == nil || len(t.Inputs.Raw) == 0 {
		return nil
	}
	values, err := manifest.DecodeJSON(t.Inputs.Raw)
	if err != nil {
		return &plan.Problem{Reason: v1alpha1.ReasonTranslationFailed, Message: "inputs: " + err.Error()}
	}
	for name, value := range values {
		m.Inputs[name] = hooks.Input{Value: value}
	}
	return nil
}

// addTexts adds each key of an object as an input. All keys of a Secret are sensitive. binaryData of a ConfigMap is
// ignored, because an input is text. A name that the template does not declare is an error of the translation.
func (m *Material) addTexts(kind, name string, object map[string]any) *plan.Problem {
	data, _ := object["data"].(map[string]any)
	for key, value := range data {
		text, _ := value.(string)
		if kind == secretKind {
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return missingProblem("Secret %s, key %s: is not base64", name, key)
			}
			text = string(raw)
		}
		m.Inputs[key] = hooks.Input{Text: &text, Sensitive: kind == secretKind}
	}
	return nil
}
