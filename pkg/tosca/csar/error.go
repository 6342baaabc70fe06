package csar

import "fmt"

// The codes of errors. They are stable: scripts can rely on them.
const (
	InvalidArchive  = "InvalidArchive"
	InsecurePath    = "InsecurePath"
	DuplicateEntry  = "DuplicateEntry"
	ArchiveTooLarge = "ArchiveTooLarge"
	InvalidMeta     = "InvalidMeta"
	NoEntry         = "NoEntryDefinitions"
)

// Error is a mistake in an archive. File and Line are set if it concerns a file of the archive.
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

// ended is returned when the context has ended; Open returns its cause instead.
var ended = &Error{Code: InvalidArchive, Message: "reading the archive was interrupted"}

// fault returns an error about the archive as a whole.
func fault(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
