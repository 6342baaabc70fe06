package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/pkg/manifest"
)

// stdin is the name of standard input among files; stdinName is that in
// messages.
const (
	stdin     = "-"
	stdinName = "stdin"
)

// sourcesLong is the part of the help that commands with sourceFlags share.
const sourcesLong = `What was learned is in the status; a file has it that was made by
"kubectl get hfapp NAME -o yaml". The live objects of an Application without a
UID, which was never submitted, are taken to be its own; those of one with a UID
carry its marks. CustomResourceDefinitions among the files are read for what
they say of their kinds.`

// sourceFlags say where the Applications and the live objects come from.
type sourceFlags struct {
	files, live []string
	namespace   string
	set         *pflag.FlagSet
}

func (f *sourceFlags) add(flags *pflag.FlagSet) {
	f.set = flags
	flags.StringSliceVarP(&f.files, "filename", "f", nil,
		"`FILE` with Applications, or - for standard input; may be given several times")
	flags.StringSliceVar(&f.live, "live", nil,
		"`FILE` with live objects (documents, a List), or - for standard input; may be given several times; without it, nothing is live")
	flags.StringVarP(&f.namespace, "namespace", "n", "default",
		"`NAMESPACE` of Applications that do not name theirs")
}

// sources are files to read.
type sources struct {
	in          io.Reader
	files, live []string
	namespace   string
}

// options says what is wrong with the flags, without reading any file.
func (f sourceFlags) options(streams Streams) (sources, error) {
	s := sources{in: streams.In, files: f.files, live: f.live, namespace: f.namespace}
	switch {
	case f.isEmpty("filename", s.files), f.isEmpty("live", s.live):
		return s, errors.New("-f and --live take the name of a file, and one of them is empty")
	case len(s.files) == 0:
		return s, errors.New("which Application? Give its file with -f, or -f - for standard input")
	case slices.Contains(s.files, stdin) && slices.Contains(s.live, stdin):
		return s, errors.New("standard input can be read once: give a file to -f or to --live")
	case len(validation.IsDNS1123Label(s.namespace)) > 0:
		return s, fmt.Errorf("-n %q is not the name of a namespace: lower-case letters, digits and '-'", s.namespace)
	}
	s.files, s.live = once(s.files), once(s.live)
	return s, nil
}

// isEmpty tells whether a flag is there and names no file: most often because a
// variable of a shell is not set.
func (f sourceFlags) isEmpty(flag string, files []string) bool {
	return f.set.Changed(flag) && (len(files) == 0 || slices.Contains(files, ""))
}

// once drops what is given a second time.
func once(files []string) []string {
	var different []string
	for _, file := range files {
		if !slices.Contains(different, file) {
			different = append(different, file)
		}
	}
	return different
}

// read returns the documents of files, with the items of lists in place of the
// lists. The error joins those of all files.
func (s sources) read(files []string) ([]manifest.Document, error) {
	var all []manifest.Document
	var faults []error
	for _, file := range files {
		documents, err := s.readOne(file)
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, documents...)
	}
	return all, errors.Join(faults...)
}

func (s sources) readOne(file string) ([]manifest.Document, error) {
	name, data, err := s.content(file)
	if err != nil {
		return nil, unreadable(name, err)
	}
	documents, err := manifest.Read(name, data)
	if err != nil {
		return nil, err
	}
	return manifest.Expand(documents)
}

// content returns what is in a file, and how messages name it.
func (s sources) content(file string) (name string, data []byte, err error) {
	if file == stdin {
		data, err = io.ReadAll(s.in)
		return stdinName, data, err
	}
	data, err = os.ReadFile(file)
	return file, data, err
}

// unreadable says what to do about a file that cannot be read.
func unreadable(file string, err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such file", file)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%s: is a directory: give the files in it", file)
	case errors.As(err, &path):
		return fmt.Errorf("%s: cannot be read: %w", file, path.Err)
	default:
		return fmt.Errorf("%s: cannot be read: %w", file, err)
	}
}

// faultAt is a fault at a field of a document, or at the nearest that is there
// above it.
func faultAt(d manifest.Document, path manifest.Path, message string) *manifest.Error {
	fault := &manifest.Error{File: d.File, Path: path, Message: message}
	for n := len(path); n >= 0; n-- {
		var known bool
		if fault.Line, fault.Column, known = d.Position(path[:n]); known {
			break
		}
	}
	return fault
}

// byPlace sorts faults of one file from its top to its bottom.
func byPlace(a, b *manifest.Error) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// place is where a document begins: file:line.
func place(d manifest.Document) string { return fmt.Sprintf("%s:%d", d.File, d.Line) }
