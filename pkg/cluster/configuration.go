package cluster

import (
	"errors"
	"fmt"
	"slices"

	validate "k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// configuration is a file that configures the selection:
//
//	apiVersion: holdfast.dev/v1alpha1
//	kind: ControllerConfiguration
//	watchNamespaces: [shop, blog]
//	selector: team=web
//
// It is not an object in an API server. It is mounted as a file, and read again when it changes.
type configuration struct {
	APIVersion      string    `json:"apiVersion"`
	Kind            string    `json:"kind"`
	WatchNamespaces *[]string `json:"watchNamespaces"`
	Selector        *string   `json:"selector"`
}

// ConfigurationKind is the kind of a configuration file.
const ConfigurationKind = "ControllerConfiguration"

// ParseConfiguration parses a ControllerConfiguration in YAML or JSON. For fields that are not set, it uses
// flags. An error describes the problem, but does not name the file.
func ParseConfiguration(text []byte, flags Selection) (Selection, error) {
	var c configuration
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return Selection{}, err
	}
	if c.APIVersion != v1alpha1.GroupVersion.String() || c.Kind != ConfigurationKind {
		return Selection{}, fmt.Errorf("it is a %q of %q, must be a %s of %s", c.Kind, c.APIVersion, ConfigurationKind, v1alpha1.GroupVersion)
	}
	// A field that the file sets replaces the flag, also with an empty value.
	selection := flags
	var err error
	if c.WatchNamespaces != nil {
		selection.Namespaces, err = namespacesNamed(*c.WatchNamespaces)
		if err != nil {
			return Selection{}, fmt.Errorf("watchNamespaces: %w", err)
		}
	}
	if c.Selector != nil {
		selection.Labels, err = labels.Parse(*c.Selector)
		if err != nil {
			return Selection{}, fmt.Errorf("selector: %w", err)
		}
	}
	return selection, nil
}

// NewSelection returns a Selection. Without namespaces, it selects all namespaces. selector is a label
// selector in the syntax of kubectl; if empty, it matches all labels.
func NewSelection(namespaces []string, selector string) (Selection, error) {
	named, err := namespacesNamed(namespaces)
	if err != nil {
		return Selection{}, err
	}
	parsed, err := labels.Parse(selector)
	return Selection{Namespaces: named, Labels: parsed}, err
}

// namespacesNamed validates the names of namespaces, and returns them sorted and without duplicates.
func namespacesNamed(names []string) ([]string, error) {
	var errs []error
	for _, name := range names {
		for _, problem := range validate.IsDNS1123Label(name) {
			errs = append(errs, fmt.Errorf("%q is not a valid name of a namespace: %s", name, problem))
		}
	}
	named := slices.Clone(names)
	slices.Sort(named)
	return slices.Compact(named), errors.Join(errs...)
}
