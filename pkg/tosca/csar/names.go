package csar

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/pkg/manifest"
)

// driveLetter matches the beginning of an absolute path on Windows.
var driveLetter = regexp.MustCompile(`^[A-Za-z]:`)

// names are the entries that an archive has had so far. Every name is checked, also those of directories and of files
// that are not read: an archive with an insecure name is malicious.
type names struct {
	limits Limits
	// count is the number of entries so far.
	count int
	// folded contains the entries by their names in lower case, because some file systems ignore case.
	folded map[string]namedEntry
}

// namedEntry is an entry with its cleaned name.
type namedEntry struct {
	name  string
	isDir bool
}

func newNames(limits Limits) *names { return &names{limits: limits, folded: map[string]namedEntry{}} }

// add checks the name of an entry, and returns it in its cleaned form. It returns "" for the root itself. A directory
// can occur several times with the same name.
//
//	name            result
//	a/b.yaml        a/b.yaml
//	./a/            a, for a directory
//	./              the root, which has no name
//	a//b, a/./b     an error: they would be two names of one file
//	A.yaml          an error after a.yaml
//
// Directories count as entries, so an archive of a million directories is rejected early.
func (n *names) add(raw string, isDir bool) (string, error) {
	if n.count++; n.count > n.limits.Entries {
		return "", fault(ArchiveTooLarge, "the archive has more than %d entries", n.limits.Entries)
	}
	if len(raw) > n.limits.Name {
		return "", fault(ArchiveTooLarge, "the name of the entry %s is longer than %d bytes: shorten it", quote(raw), n.limits.Name)
	}
	if strings.Count(raw, "/") >= n.limits.Levels {
		return "", fault(ArchiveTooLarge, "the entry %s is in directories nested deeper than %d levels: move it up", quote(raw), n.limits.Levels)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(raw, "./"), "/")
	if isDir && (name == "" || name == ".") {
		return "", nil
	}
	if !utf8.ValidString(name) {
		return "", fault(InvalidArchive, "the entry %s has a name that is not UTF-8: pack the archive with names in UTF-8, or without this file", quote(raw))
	}
	if !secure(name) {
		return "", fault(InsecurePath, "the entry %s has an insecure path: it must be relative, with / between names, and without ..", quote(raw))
	}
	// Two names that differ only in case are one file on some systems.
	key := strings.ToLower(name)
	entry := namedEntry{name, isDir}
	if first, twice := n.folded[key]; twice && (!isDir || first != entry) {
		return "", fault(DuplicateEntry, "the archive has %s twice (as %s), so programs may read different files", quote(name), quote(first.name))
	}
	n.folded[key] = entry
	return name, nil
}

// throughFile reports a file that is also used as a directory: the program that unpacks the archive determines which of
// them exists. The limits of names limit its cost. For example, an archive with the file a and the file a/b.
// Directories need no entry of their own, so it is checked when all names are known. The first name
// in the order of the alphabet is reported.
func (n *names) throughFile() error {
	for _, key := range slices.Sorted(maps.Keys(n.folded)) {
		for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key[:i], '/') {
			if file, there := n.folded[key[:i]]; there && !file.isDir {
				return fault(DuplicateEntry, "the archive has %s as a file and as the directory of %s", quote(file.name), quote(n.folded[key].name))
			}
		}
	}
	return nil
}

// secure reports whether a path is relative, does not contain "..", and is interpreted equally by all operating
// systems. A backslash separates names on Windows, and a drive letter begins an absolute path there. fs.ValidPath
// rejects "", "..", and empty names.
func secure(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsAny(name, "\\\x00") && !driveLetter.MatchString(name)
}

// isYAML reports whether a file has the name of a YAML file.
func isYAML(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml":
		return true
	default:
		return false
	}
}

// quote quotes a name for a message and shortens it if it is too long for one.
func quote(name string) string { return manifest.QuoteKey(name) }
