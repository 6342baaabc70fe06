package files

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Stdin is the name of standard input among files. StdinName is its name in messages.
const (
	Stdin     = "-"
	StdinName = "stdin"
)

// SourcesLong is the part of the help that all commands with the flags of Sources share.
const SourcesLong = `To include learned values, which are in the status, get the Application with
"kubectl get hfapp NAME -o yaml". If an Application has no UID, it was never
submitted, and all live objects are treated as its own. If it has a UID, its live
objects have its tracking metadata. CustomResourceDefinitions in the files define
their kinds.`

// Sources are the files to read, and the input that reads them. Add registers the flags that select them.
type Sources struct {
	Input
	// Files contain Applications, and Live contain live objects. Check removes their duplicates.
	Files, Live []string
	// Namespace is the namespace of Applications and live objects that name none. Check sets the default namespace.
	Namespace string
	// Set distinguishes a flag that is not given from one with an empty value. It is nil without flags.
	Set *pflag.FlagSet
}

// Add registers the flags that name files.
func (s *Sources) Add(flags *pflag.FlagSet) {
	s.Set = flags
	flags.StringSliceVarP(&s.Files, "filename", "f", nil,
		"`FILE`: Applications: a file"+filesUsage)
	flags.BoolVarP(&s.Recursive, "recursive", "R", false, "with directories: also their subdirectories")
	flags.StringSliceVar(&s.Live, "live", nil,
		"`FILE`: live objects (documents, a List), or - for standard input; can be repeated; default: no live objects")
}

// InFiles reports whether files are given, so that no cluster is contacted.
func (s Sources) InFiles() bool {
	return s.Set != nil && (s.Set.Changed("filename") || s.Set.Changed("live"))
}

// Check returns an error if the flags are invalid. It does not read any file. Duplicates are removed, because a file
// that is given twice would contain each Application twice. It is called before a file is read, so that a mistake in
// a flag is reported at once.
func (s *Sources) Check(streams terminal.Streams) error {
	s.In, s.Namespace = streams.In, cmp.Or(s.Namespace, metav1.NamespaceDefault)
	switch {
	case isEmpty(s.Set.Lookup("filename"), s.Files), isEmpty(s.Set.Lookup("live"), s.Live):
		return errors.New("-f and --live need the name of a file: one is empty")
	case len(s.Files) == 0:
		return errors.New("no Application given: give its file with -f, or -f - for standard input")
	case slices.Contains(s.Files, Stdin) && slices.Contains(s.Live, Stdin):
		return errors.New("standard input can be read only once: give a file to -f or --live")
	case len(validation.IsDNS1123Label(s.Namespace)) > 0:
		return fmt.Errorf("-n %q is not a valid namespace: use lower-case letters, digits and '-'", s.Namespace)
	}
	s.Files, s.Live = Unique(s.Files), Unique(s.Live)
	return nil
}

// isEmpty reports whether a flag is given without the name of a file. Usually the cause is a shell variable that is
// not set. A flag that the command does not have is nil. For example, -f "$FILE" without a value would otherwise
// read nothing, and an Application without objects deletes all.
func isEmpty(flag *pflag.Flag, files []string) bool {
	return flag != nil && flag.Changed && (len(files) == 0 || slices.Contains(files, ""))
}

// Unique returns the files without duplicates, in the order of their first occurrence; nil if there are none.
func Unique(files []string) []string {
	var different []string
	for _, file := range files {
		if !slices.Contains(different, file) {
			different = append(different, file)
		}
	}
	return different
}

// FaultAt returns an error at a field of a document. If the field does not exist, the error names
// the position of its nearest existing parent.
//
//	path of the field         known                 position
//	spec.fields[0].hold[1]    the whole path        of hold[1]
//	spec.replicas.x           spec.replicas only    of replicas
//	nil                       the document          of its first line
func FaultAt(d manifest.Document, path manifest.Path, message string) *manifest.Error {
	fault := &manifest.Error{File: d.File, Path: path, Message: message}
	for n := len(path); n >= 0; n-- {
		var known bool
		if fault.Line, fault.Column, known = d.Position(path[:n]); known {
			break
		}
	}
	return fault
}

// joinSorted joins the errors of one file in the order of their lines and columns, each with a prefix. It sorts faults.
func joinSorted(faults []*manifest.Error, prefix string) error {
	slices.SortStableFunc(faults, func(a, b *manifest.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all := make([]error, len(faults))
	for i, fault := range faults {
		all[i] = fmt.Errorf("%s%w", prefix, fault)
	}
	return errors.Join(all...)
}

// positionOf returns the start of a document as file:line.
func positionOf(d manifest.Document) string { return fmt.Sprintf("%s:%d", d.File, d.Line) }
