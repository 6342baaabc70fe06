package csar

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"unicode/utf8"
)

// Kind is the format of a source.
type Kind int

// The kinds of content. Data that are not an archive count as a template.
const (
	Template Kind = iota
	Zip
	Gzip
	Tar
	// Unsupported is an archive of another form.
	Unsupported
)

// Detect returns the format of data by its first bytes. The name of the file has no effect: a signed URL need not
// contain one. A zip begins with an entry, or with the end record if it is empty. A tar has its mark at byte 257; old
// tars without it are not recognized. A gzip counts as an archive before it is known to contain a tar in it.
func Detect(data []byte) Kind {
	const ustarAt = 257
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("PK\x05\x06")):
		return Zip
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return Gzip
	case len(data) > ustarAt+5 && string(data[ustarAt:ustarAt+5]) == "ustar":
		return Tar
	case formOf(data) != "":
		return Unsupported
	default:
		return Template
	}
}

// formOf returns the name of an archive format that is not supported, or "". The text must not be valid UTF-8, because
// a template could begin with BZh. A zip with other data before it is most often a self-extracting program, and
// libraries disagree on where it begins.
func formOf(data []byte) string {
	for _, form := range []struct{ name, mark string }{
		{"a bzip2 file", "BZh"}, {"an xz file", "\xfd7zXZ\x00"}, {"a zstd file", "\x28\xb5\x2f\xfd"}, {"a 7z archive", "7z\xbc\xaf\x27\x1c"}, {"a rar archive", "Rar!\x1a\x07"},
	} {
		if bytes.HasPrefix(data, []byte(form.mark)) && !utf8.Valid(data) {
			return form.name
		}
	}
	if bytes.Contains(data, []byte("PK\x03\x04")) && bytes.Contains(data, []byte("PK\x05\x06")) {
		return "a zip archive with other data before it"
	}
	return ""
}

// Archive is a CSAR whose entries have been checked.
type Archive struct {
	// Entry is the path of the entry template.
	Entry string
	// HasMeta is true if the archive contains a TOSCA.meta.
	HasMeta bool
	// Version is the CSAR-Version in TOSCA.meta, or "".
	Version string
	// Warnings are the warnings about TOSCA.meta. They begin with the name of the file, and are about keys that CSAR
	// requires and this package does not need.
	Warnings []string

	// files contains the files of the archive by their cleaned paths.
	files map[string]content
}

// content returns the content of one file. For a zip, each call unpacks it. The result must not be changed: for a tar,
// it is a part of the archive.
type content func() ([]byte, error)

// Open reads a zip, tar or gzipped tar. The error is an *Error, or the cause of the end of ctx. The archive retains
// data. It returns an archive only if all entries are valid and the entry template exists. ctx is checked for every
// entry, and while a gzip is unpacked.
func Open(ctx context.Context, data []byte, limits Limits) (*Archive, error) {
	files, err := open(ctx, data, limits)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	archive := &Archive{files: files}
	if err := archive.findEntry(); err != nil {
		return nil, err
	}
	return archive, nil
}

// open checks all entries and returns the files. After the end of ctx, Open ignores the error.
func open(ctx context.Context, data []byte, limits Limits) (map[string]content, error) {
	if len(data) > limits.Archive {
		return nil, fault(ArchiveTooLarge, "the archive is larger than %d bytes", limits.Archive)
	}
	switch Detect(data) {
	case Zip:
		return readZip(ctx, data, limits)
	case Gzip:
		return readGzip(ctx, data, limits)
	case Tar:
		return readTar(ctx, data, len(data), limits)
	case Unsupported:
		return nil, fault(InvalidArchive, "is %s: pack it as zip, tar or tar.gz", formOf(data))
	default:
		return nil, fault(InvalidArchive, "is neither a zip nor a tar archive")
	}
}

// Has reports whether the archive contains a file of that path.
func (a *Archive) Has(name string) bool {
	_, there := a.files[name]
	return there
}

// File returns the content of a file, which the caller must not change. The error is an *Error. name is a path as Names
// returns it. A zip is checked again while it is unpacked: its checksum can be wrong.
func (a *Archive) File(name string) ([]byte, error) {
	read, there := a.files[name]
	if !there {
		return nil, fault(InvalidArchive, "%s is not in the archive", quote(name))
	}
	return read()
}

// Names returns the paths of all files, sorted.
func (a *Archive) Names() []string {
	return slices.Sorted(maps.Keys(a.files))
}
