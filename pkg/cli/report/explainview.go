package report

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
)

// ExplanationView is the output of `explain -o json`.
type ExplanationView struct {
	Type     `yaml:",inline"`
	Resource explain.ViewResource `json:"resource" yaml:"resource"`
	// Schema is User, Default or Fields.
	Schema string `json:"schema" yaml:"schema"`
	// Profiles are the HoldProfiles that change the schema.
	Profiles []string `json:"profiles,omitempty" yaml:"profiles,omitempty"`

	Fields []explain.Field `json:"fields" yaml:"fields"`
}

// ViewOf returns the form of an explanation that is printed for programs. Values of Secrets are as masked as in e.
func ViewOf(e explain.Explanation) ExplanationView {
	v := ExplanationView{
		Type: Type{v1alpha1.GroupVersion.String(), "Explanation"}, Schema: string(v1alpha1.SchemaUser),
		Resource: explain.ViewResource{APIVersion: e.Change.APIVersion, Kind: e.ID.Kind, Namespace: e.ID.Namespace, Name: e.ID.Name},
		Fields:   append([]explain.Field{}, e.Fields...), Profiles: e.Profiles,
	}
	switch {
	case e.Default:
		v.Schema = string(v1alpha1.SchemaDefault)
	case !e.Written:
		v.Schema = string(v1alpha1.SchemaFields)
	}
	return v
}
