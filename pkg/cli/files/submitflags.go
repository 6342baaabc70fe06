package files

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// SubmittedFlags say what an Application is made from.
type SubmittedFlags struct {
	files, schemas []string
	kustomization  string
	recursive      bool
	tosca, csar    string
	inputs         []string
	hooks          []string
	serviceAccount string
	adoption       string
	deletionPolicy string
	set            *pflag.FlagSet
}

// Add adds all of them.
func (f *SubmittedFlags) Add(flags *pflag.FlagSet) {
	f.set = flags
	flags.StringSliceVarP(&f.files, "filename", "f", nil,
		"`FILE` with manifests, a directory, a URL, or - for standard input; may be given several times")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "with directories: what is below them, too")
	flags.StringVarP(&f.kustomization, "kustomize", "k", "", "`DIRECTORY` with a kustomization")
	flags.StringSliceVarP(&f.schemas, "observer-schema", "O", nil, "`FILE` with entries of the observer schema; may be given several times")
	flags.StringVar(&f.tosca, "tosca", "", "TOSCA template, a `FILE` or a URL")
	flags.StringVar(&f.csar, "csar", "", "CSAR archive, a `FILE` or a URL")
	flags.StringArrayVar(&f.inputs, "input", nil, "input `NAME=VALUE` of the template; the value is YAML; may be given several times")
	flags.StringSliceVar(&f.hooks, "hook", nil, "`HOOK` to switch on: complete, by which the workload says that its work is done")
	flags.StringVar(&f.serviceAccount, "service-account", "", "`NAME` of the ServiceAccount whose rights are used")
	flags.StringVar(&f.adoption, "adoption", "", "`POLICY` for objects that exist already: Never, IfUnowned, Always")
	flags.StringVar(&f.deletionPolicy, "deletion-policy", "", "`POLICY` for the resources when the Application is deleted: Delete, Orphan")
}

// SubmittedSource is what to make an Application from, and with.
type SubmittedSource struct {
	Input
	SubmittedFlags
	name       string
	inputsRead map[string]any
}

// Options says what is wrong with the flags, without reading any file.
func (f SubmittedFlags) Options(streams terminal.Streams, args []string) (SubmittedSource, error) {
	s := SubmittedSource{Input: Input{In: streams.In, Recursive: f.recursive}, SubmittedFlags: f}
	if len(args) == 1 {
		s.name = args[0]
		if err := ValidName(s.name); err != nil {
			return s, err
		}
	}
	if err := f.checkSource(s.name); err != nil {
		return s, err
	}
	s.files, s.schemas = Once(f.files), Once(f.schemas)
	if err := f.checkWords(); err != nil {
		return s, err
	}
	var err error
	s.inputsRead, err = readInputs(f.inputs)
	return s, err
}

// checkSource says what is wrong with where it comes from.
func (f SubmittedFlags) checkSource(name string) error {
	sources := 0
	for _, given := range []bool{len(f.files) > 0 || f.kustomization != "", f.tosca != "", f.csar != ""} {
		if given {
			sources++
		}
	}
	switch {
	case IsEmpty(f.set, "filename", f.files), IsEmpty(f.set, "observer-schema", f.schemas):
		return errors.New("-f and -O take the name of a file, and one of them is empty")
	case sources == 0:
		return errors.New("what is it made of? Give manifests with -f or -k, or a template with --tosca or --csar")
	case sources > 1:
		return errors.New("an Application has one source: manifests (-f, -k), --tosca or --csar")
	case len(f.files) == 0 && name == "":
		return errors.New("what is its name? Give NAME")
	case slices.Contains(f.files, Stdin) && slices.Contains(f.schemas, Stdin):
		return errors.New("standard input can be read once: give a file to -f or to -O")
	case len(f.inputs) > 0 && f.tosca == "" && f.csar == "":
		return errors.New("--input is for the inputs of a template: give it with --tosca or --csar")
	}
	return nil
}

// checkWords refuses values that are none of a few.
func (f SubmittedFlags) checkWords() error {
	for _, hook := range f.hooks {
		if hook != "complete" {
			return fmt.Errorf("--hook takes complete, not %q: hooks that need more than a name are written in spec.hooks of an Application", hook)
		}
	}
	for _, word := range []struct {
		flag, value string
		known       []string
	}{
		{"adoption", f.adoption, []string{string(v1alpha1.AdoptNever), string(v1alpha1.AdoptIfUnowned), string(v1alpha1.AdoptAlways)}},
		{"deletion-policy", f.deletionPolicy, []string{string(v1alpha1.DeletionDelete), string(v1alpha1.DeletionOrphan)}},
	} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			return fmt.Errorf("--%s takes %s, not %q%s", word.flag, strings.Join(word.known, ", "), word.value, suggest.DidYouMean(word.value, word.known))
		}
	}
	return nil
}
