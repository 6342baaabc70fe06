package files

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// SubmittedFlags are the flags that select the source of an Application.
type SubmittedFlags struct {
	// manifests are the files of -f and -k: manifests or an Application.
	manifests ManifestFlags
	// schema are the files of -O.
	schema ManifestFlags
	// tosca and csar are a file or URL each; at most one is set.
	tosca, csar string
	inputs      InputFlags
	// hooks contains the values of --hook. Only "complete" is valid.
	hooks []string
	// These set fields of the spec; empty means that the file, or the API server, sets them.
	serviceAccount string
	adoption       string
	mode           string
	deletionPolicy string
	// set distinguishes a flag that is not given from one with an empty value.
	set *pflag.FlagSet
	// FromLive makes the manifests from live objects; the files then only name these objects.
	FromLive bool
}

// Add registers the flags.
func (f *SubmittedFlags) Add(flags *pflag.FlagSet) {
	f.set = flags
	f.manifests.Add(flags, "filename", "f", "manifests")
	f.manifests.AddKustomize(flags)
	f.schema.Add(flags, "observer-schema", "O", "observer schema")
	AddRecursive(flags, &f.manifests, &f.schema)
	flags.BoolVar(&f.FromLive, "from-live", false, "create the manifests from live objects, selected by KIND/NAME, -l or the files of -f")
	flags.StringVar(&f.tosca, "tosca", "", "`FILE`: TOSCA template: a file, a URL, or - for standard input")
	flags.StringVar(&f.csar, "csar", "", "`FILE`: CSAR archive: a file, a URL, or - for standard input")
	f.inputs.Add(flags)
	flags.StringSliceVar(&f.hooks, "hook", nil, "`HOOK`: hook to enable: complete, with which the workload reports that its work is done")
	flags.StringVar(&f.serviceAccount, "service-account", "", "`NAME`: ServiceAccount to use")
	flags.StringVar(&f.adoption, "adoption", "", "`POLICY`: adoption of existing objects: Never, IfUnowned, Always")
	flags.StringVar(&f.mode, "mode", "", "`MODE`: mode of the Application: Hold, or Observe, which writes nothing and reports drift")
	flags.StringVar(&f.deletionPolicy, "deletion-policy", "", "`POLICY`: policy for the resources when the Application is deleted: Delete, Orphan")
}

// SubmittedSource is the source of an Application, with the values that its flags set. It is the result of valid
// flags. Reading it is the next step, so that all flags are checked before.
type SubmittedSource struct {
	Input
	SubmittedFlags
	// name is the name that the user gave; empty if it is in the file.
	name  string
	texts map[string]string // values of --input
	live  *FromLive
}

// Options returns the source, or an error if the flags are invalid. args can contain the name of the
// Application. It does not read any file.
func (f SubmittedFlags) Options(streams terminal.Streams, args []string) (SubmittedSource, error) {
	s := SubmittedSource{Input: Input{In: streams.In}, SubmittedFlags: f}
	if len(args) > 0 {
		s.name = args[0]
		if err := ValidName(s.name); err != nil {
			return s, err
		}
	}
	check := f.checkSource
	if f.FromLive {
		check = f.checkLive
	}
	if err := check(s.name); err != nil {
		return s, err
	}
	if err := f.checkWords(); err != nil {
		return s, err
	}
	var err error
	s.texts, err = f.inputs.Texts()
	return s, err
}

// Submitted returns the source of an Application with the given name, made from files with manifests or
// with an Application.
func Submitted(name string, manifests Sources, schema ManifestFlags) (*SubmittedSource, error) {
	if err := errors.Join(ValidName(name), schema.Check()); err != nil {
		return nil, err
	}
	if schema.FromStdin() && slices.Contains(manifests.Files, Stdin) {
		return nil, errors.New("standard input can be read only once: give a file to -f or -O")
	}
	f := SubmittedFlags{manifests: ManifestFlags{files: manifests.Files, recursive: &manifests.Recursive}, schema: schema}
	return &SubmittedSource{Input: manifests.Input, SubmittedFlags: f, name: name}, nil
}

// checkSource returns an error unless the flags select exactly one source. name is empty if the user gave none;
// then only an Application in a file can have one.
//
//	flags                          valid
//	-f or -k, with or without -O   yes
//	--tosca or --csar, with NAME   yes
//	-f and --tosca                 no: two sources
//	-k without NAME                no: only a file of -f can be an Application
//	-f - and -O -                  no: standard input is read once
func (f SubmittedFlags) checkSource(name string) error {
	if err := errors.Join(f.manifests.Check(), f.schema.Check()); err != nil {
		return err
	}
	if f.tosca == "" && f.set.Changed("tosca") || f.csar == "" && f.set.Changed("csar") {
		return errors.New("--tosca and --csar need the name of a file: it is empty")
	}
	switch sources := f.sources(); {
	case sources == 0:
		return errors.New("no manifests given: give them with -f or -k, or a template with --tosca or --csar")
	case sources > 1:
		return errors.New("an Application has one source: manifests (-f, -k), --tosca or --csar")
	case len(f.manifests.files) == 0 && name == "":
		return errors.New("no name given: give NAME")
	case f.schema.FromStdin() && (f.manifests.FromStdin() || f.template() == Stdin):
		return errors.New("standard input can be read only once: give a file to -O, or instead of the other -")
	case f.template() == "":
		return f.inputs.checkUnused()
	}
	return nil
}

// checkLive returns an error for flags that cannot be used with --from-live. Live objects have values, but no
// schema and no template.
func (f SubmittedFlags) checkLive(name string) error {
	switch {
	case f.tosca != "" || f.csar != "" || f.inputs.checkUnused() != nil || name == "":
		return errors.New("--from-live creates an Application from live objects: give its NAME, and no template")
	case f.schema.Given():
		return errors.New("--from-live holds the values that users have set: omit -O, and use `holdfast hold` and `holdfast free` later")
	}
	return f.manifests.Check()
}

// template returns the file or URL of --tosca or --csar; empty if neither is given.
func (f SubmittedFlags) template() string { return cmp.Or(f.tosca, f.csar) }

// sources returns the number of sources that are given.
func (f SubmittedFlags) sources() (n int) {
	for _, given := range []bool{f.manifests.Given(), f.tosca != "", f.csar != ""} {
		if given {
			n++
		}
	}
	return n
}

// checkWords returns an error if a flag has a value that is not in its list of values. The API server would reject
// the same values later, after other files were read.
func (f SubmittedFlags) checkWords() error {
	for _, hook := range f.hooks {
		if hook != "complete" {
			return fmt.Errorf("--hook must be complete, not %q: configure other hooks in spec.hooks of an Application", hook)
		}
	}
	for _, word := range []struct {
		flag, value string
		known       []string
	}{
		{"adoption", f.adoption, []string{string(v1alpha1.AdoptNever), string(v1alpha1.AdoptIfUnowned), string(v1alpha1.AdoptAlways)}},
		{"mode", f.mode, []string{string(v1alpha1.ModeHold), string(v1alpha1.ModeObserve)}},
		{"deletion-policy", f.deletionPolicy, []string{string(v1alpha1.DeletionDelete), string(v1alpha1.DeletionOrphan)}},
	} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			return fmt.Errorf("--%s must be one of %s, not %q%s", word.flag, strings.Join(word.known, ", "), word.value, suggest.DidYouMean(word.value, word.known))
		}
	}
	return nil
}
