package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/manifest"
)

// ManifestFlags are the flags that select the files with manifests, or with an observer schema.
type ManifestFlags struct {
	// files are the values of the flag, with duplicates.
	files []string
	// kustomization is the directory of -k, or empty.
	kustomization string
	// recursive is the value of -R, which several flags share; nil if the command does not have it.
	recursive *bool
	// flag distinguishes a flag that is not given from one with an empty value.
	flag *pflag.Flag
}

// filesUsage is the end of the usage of a flag that names files.
const filesUsage = ", a directory, a URL, or - for standard input; can be repeated"

// Add registers a flag that names files. of describes their content.
func (f *ManifestFlags) Add(flags *pflag.FlagSet, name, short, of string) {
	flags.StringSliceVarP(&f.files, name, short, nil, "`FILE`: "+of+": a file"+filesUsage)
	f.flag = flags.Lookup(name)
}

// Use makes f read the files of other flags. Call it after the flags are parsed. One command has several tasks, and
// -f has another meaning in each of them.
func (f *ManifestFlags) Use(source Sources) {
	f.files, f.flag = source.Files, source.Set.Lookup("filename")
	f.Recurse(source)
}

// Sources returns the files as sources of Applications without live objects. It requires -R, and ignores -k. It is
// for a command whose -f names Applications, but that has no --live.
func (f ManifestFlags) Sources(in io.Reader, namespace string) Sources {
	return Sources{Input: Input{In: in, Recursive: *f.recursive}, Files: Unique(f.files), Namespace: namespace}
}

// Recurse makes -R of other flags apply to f. It copies the value, so call it after the flags are parsed.
func (f *ManifestFlags) Recurse(source Sources) { f.recursive = &source.Recursive }

// AddRecursive registers -R, which applies to all of the given flags.
func AddRecursive(flags *pflag.FlagSet, all ...*ManifestFlags) {
	recursive := flags.BoolP("recursive", "R", false, "with directories: also their subdirectories")
	for _, f := range all {
		f.recursive = recursive
	}
}

// AddKustomize registers -k.
func (f *ManifestFlags) AddKustomize(flags *pflag.FlagSet) {
	flags.StringVarP(&f.kustomization, "kustomize", "k", "", "`DIRECTORY`: kustomization")
}

// Check returns an error if the flags are invalid. It does not read any file.
func (f ManifestFlags) Check() error {
	if isEmpty(f.flag, f.files) {
		return fmt.Errorf("-%s needs the name of a file: one is empty", f.flag.Shorthand)
	}
	return nil
}

// Given reports whether the flags name a file or a kustomization.
func (f ManifestFlags) Given() bool { return len(f.files) > 0 || f.kustomization != "" }

// FromStdin reports whether standard input is read.
func (f ManifestFlags) FromStdin() bool { return slices.Contains(f.files, Stdin) }

// Names returns the names of the files for messages.
func (f ManifestFlags) Names() []string {
	names := namesOf(f.files)
	if f.kustomization != "" {
		names = append(names, f.kustomization)
	}
	return names
}

// Arguments returns the flags with which another command reads the same files, for example "-f a.yaml -f - -R".
func (f ManifestFlags) Arguments() string {
	arguments := "-f " + strings.Join(Unique(f.files), " -f ")
	if f.recursive != nil && *f.recursive {
		arguments += " -R"
	}
	return arguments
}

// Read returns the documents in the order of the flags, and then those of the kustomization. It replaces
// Recursive of the input by the value of -R.
func (f ManifestFlags) Read(ctx context.Context, in Input) ([]manifest.Document, error) {
	in.Recursive = f.recursive != nil && *f.recursive
	documents, err := in.Read(ctx, Unique(f.files))
	if f.kustomization == "" {
		return documents, err
	}
	built, kustomizeErr := kustomized(f.kustomization)
	return append(documents, built...), errors.Join(err, kustomizeErr)
}
