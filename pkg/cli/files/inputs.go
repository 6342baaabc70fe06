package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/manifest"
)

// InputFlags are the flags for the inputs of a template and for the options of its translation.
type InputFlags struct {
	// pairs are the values of --input, as NAME=VALUE.
	pairs []string
	// file is the value of --inputs.
	file string
	// StrictConcat and IgnoreForeignNodes have the same meaning as in a v1alpha1.Translation.
	StrictConcat, IgnoreForeignNodes bool
}

// Add registers the flags.
func (f *InputFlags) Add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.pairs, "input", nil, "`NAME=VALUE`: input of the template, parsed as the type of the input; can be repeated")
	flags.StringVar(&f.file, "inputs", "", "`FILE`: map of inputs; --input takes precedence")
	flags.BoolVar(&f.StrictConcat, "strict-concat", false, "do not insert a space between a key and its value in concat")
	flags.BoolVar(&f.IgnoreForeignNodes, "ignore-foreign-nodes", false, "skip nodes that are not Kubernetes objects")
}

// Given reports whether the flags set the value of an input.
func (f InputFlags) Given() bool { return len(f.pairs) > 0 || f.file != "" }

// checkUnused returns an error if any of the flags is set. It is for Applications without a template.
func (f InputFlags) checkUnused() error {
	switch {
	case f.Given():
		return errors.New("--input and --inputs are only for templates: use them with --tosca or --csar")
	case f.StrictConcat || f.IgnoreForeignNodes:
		return errors.New("--ignore-foreign-nodes and --strict-concat are only for templates: use them with --tosca or --csar")
	}
	return nil
}

// Texts returns the values of --input by name, as they were typed. The error never contains them, because they
// may be secret.
//
//	--input replicas=3 --input note=a=b  {"replicas": "3", "note": "a=b"}
//	--input replicas                     an error
//	--input a=1 --input a=2              an error
func (f InputFlags) Texts() (map[string]string, error) {
	texts := make(map[string]string, len(f.pairs))
	for _, pair := range f.pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, errors.New("--input needs NAME=VALUE: one has no name or no '='")
		}
		if _, twice := texts[name]; twice {
			return nil, fmt.Errorf("--input sets %q twice: remove one of them", name)
		}
		texts[name] = value
	}
	return texts, nil
}

// Values returns the values in the file of --inputs by name; nil without the flag. If the file has several
// documents, a later one takes precedence. Unlike those of --input, the values have the types of YAML, and can be
// maps and lists.
func (f InputFlags) Values(ctx context.Context) (map[string]any, error) {
	if f.file == "" {
		return nil, nil
	}
	data, err := ReadFile(ctx, Opening(f.file))
	if err != nil {
		return nil, Unreadable(f.file, err)
	}
	documents, err := manifest.Read(f.file, data)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, document := range documents {
		maps.Copy(values, document.Value)
	}
	return values, nil
}
