package csar

import "fmt"

// The codes of errors. They are stable: scripts can rely on them.
const (
	// InvalidArchive: the file cannot be read, or its parts contradict each other.
	InvalidArchive = "InvalidArchive"
	// InsecurePath: unpacking an entry could write outside of the directory, or follow a link.
	InsecurePath = "InsecurePath"
	// DuplicateEntry: which of two entries exists depends on the program that unpacks the archive.
	DuplicateEntry = "DuplicateEntry"
	// ArchiveTooLarge: a limit is exceeded.
	ArchiveTooLarge = "ArchiveTooLarge"
	// InvalidMeta: TOSCA.meta is malformed, or has an unknown version.
	InvalidMeta = "InvalidMeta"
	// NoEntry: the archive does not determine one entry template.
	NoEntry = "NoEntryDefinitions"
)

// Error is a mistake in an archive. File and Line are set if it concerns a file of the archive. Line starts at 1, and
// is 0 for an error of the whole file. Names in messages are quoted and shortened. A message contains no content of a
// file except for names in TOSCA.meta.
type Error struct {
	File    string
	Line    int
	Code    string
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line == 0:
		return e.File + ": " + e.Message
	default:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
}

// fault returns an *Error about the archive as a whole.
func fault(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
