package files

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/manifest"
)

// ManifestFlags say where manifests, or entries of an observer schema, come from.
type ManifestFlags struct {
	files         []string
	kustomization string
	recursive     *bool
	flag          *pflag.Flag
}

// Add adds a flag that names files; of says what is in them.
func (f *ManifestFlags) Add(flags *pflag.FlagSet, name, short, of string) {
	flags.StringSliceVarP(&f.files, name, short, nil, "`FILE` with "+of+", a directory, a URL, or - for standard input; may be given several times")
	f.flag = flags.Lookup(name)
}

// AddRecursive adds -R, which is for all of them.
func AddRecursive(flags *pflag.FlagSet, all ...*ManifestFlags) {
	recursive := flags.BoolP("recursive", "R", false, "with directories: what is below them, too")
	for _, f := range all {
		f.recursive = recursive
	}
}

// AddKustomize adds -k.
func (f *ManifestFlags) AddKustomize(flags *pflag.FlagSet) {
	flags.StringVarP(&f.kustomization, "kustomize", "k", "", "`DIRECTORY` with a kustomization")
}

// Check says what is wrong with the flags, without reading any file.
func (f ManifestFlags) Check() error {
	if f.flag.Changed && (len(f.files) == 0 || slices.Contains(f.files, "")) {
		return fmt.Errorf("-%s takes the name of a file, and one of them is empty", f.flag.Shorthand)
	}
	return nil
}

// Given reports whether there is anything to read.
func (f ManifestFlags) Given() bool { return len(f.files) > 0 || f.kustomization != "" }

// FromStdin reports whether standard input is read.
func (f ManifestFlags) FromStdin() bool { return slices.Contains(f.files, Stdin) }

// Names are the files as messages name them.
func (f ManifestFlags) Names() []string {
	names := namesOf(f.files)
	if f.kustomization != "" {
		names = append(names, f.kustomization)
	}
	return names
}

// Read returns the documents in the order of the flags.
func (f ManifestFlags) Read(ctx context.Context, in Input) ([]manifest.Document, error) {
	in.Recursive = f.recursive != nil && *f.recursive
	documents, err := in.Read(ctx, Once(f.files))
	if f.kustomization == "" {
		return documents, err
	}
	built, kustomizeErr := kustomized(f.kustomization)
	return append(documents, built...), errors.Join(err, kustomizeErr)
}
