package csar

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	metaInFolder = "TOSCA-Metadata/TOSCA.meta"
	metaInRoot   = "TOSCA.meta"
)

// The keys of TOSCA.meta that mean something to us; all others are ignored.
const (
	keyFileVersion    = "TOSCA-Meta-File-Version"
	keyOldFileVersion = "TOSCA-Meta-Version" // of the time of TOSCA in XML
	keyVersion        = "CSAR-Version"
	keyEntry          = "Entry-Definitions"
)

// metaLine is the value of a key, and its line.
type metaLine struct {
	value string
	line  int
}

// findEntry sets the entry template of the archive: TOSCA.meta names it, or it is the only YAML file in the root.
//
//	TOSCA.meta with Entry-Definitions        the file that it names
//	TOSCA.meta of CSAR 2.0 without           the only YAML file in the root
//	TOSCA.meta of CSAR 1.x without           an error
//	no TOSCA.meta                            the only YAML file in the root
func (a *Archive) findEntry() error {
	inFolder, inRoot := a.Has(metaInFolder), a.Has(metaInRoot)
	switch {
	case inFolder && inRoot:
		return fault(InvalidMeta, "the archive has %s and %s: remove one of them", metaInFolder, metaInRoot)
	case inFolder:
		return a.entryFromMeta(metaInFolder)
	case inRoot:
		return a.entryFromMeta(metaInRoot)
	default:
		return a.entryFromRoot("the archive has no " + metaInFolder + ", so it")
	}
}

// entryFromRoot takes the only YAML file in the root. why is the beginning of the error for none or several.
func (a *Archive) entryFromRoot(why string) error {
	// Hidden files belong to tools: tar on macOS adds a ._main.yaml to main.yaml.
	found := slices.DeleteFunc(a.Names(), func(name string) bool {
		return strings.Contains(name, "/") || !isYAML(name) || strings.HasPrefix(name, ".")
	})
	if len(found) == 1 {
		a.Entry = found[0]
		return nil
	}
	hint := ""
	if folder := a.onlyFolder(); folder != "" {
		hint = fmt.Sprintf("; all files are in the directory %s: pack its content, not the directory", quote(folder))
	}
	return fault(NoEntry, "%s should have exactly one YAML file in its root, and has %d%s", why, len(found), hint)
}

// onlyFolder returns the directory that contains all files, or "". Such an archive was packed with its directory.
func (a *Archive) onlyFolder() string {
	only := ""
	for name := range a.files {
		folder, _, below := strings.Cut(name, "/")
		if !below || only != "" && folder != only {
			return ""
		}
		only = folder
	}
	return only
}

// entryFromMeta takes the file that TOSCA.meta names. Only CSAR 1.x requires the key.
func (a *Archive) entryFromMeta(file string) error {
	data, err := a.files[file]()
	if err != nil {
		return err
	}
	block, err := parseMeta(file, string(data))
	if err != nil {
		return err
	}
	a.HasMeta = true
	if err := a.checkVersions(file, block); err != nil {
		return err
	}
	entry, there := block[keyEntry]
	if !there || entry.value == "" {
		if strings.HasPrefix(a.Version, "1.") {
			return &Error{File: file, Line: 1, Code: NoEntry, Message: keyEntry + " is missing: it must name the entry template"}
		}
		return a.entryFromRoot(file + " has no " + keyEntry + ", so the archive")
	}
	return a.checkEntry(file, entry)
}

// checkEntry takes the named file, if the archive has it. The path is cleaned first: ./main.yaml is main.yaml. It is
// relative to the root, not to the directory of TOSCA.meta.
func (a *Archive) checkEntry(file string, entry metaLine) error {
	name, code := path.Clean(entry.value), InsecurePath
	var problem string
	switch {
	case name == ".." || strings.HasPrefix(name, "../"):
		problem = "%s %s points outside the CSAR"
	case !secure(name):
		problem = "%s %s is not a path in the CSAR: it must be relative to the root, with / between names"
	case !a.Has(name):
		code, problem = NoEntry, "the %s file %s does not exist in the archive"
	default:
		a.Entry = name
		return nil
	}
	return &Error{File: file, Line: entry.line, Code: code, Message: fmt.Sprintf(problem, keyEntry, quote(entry.value))}
}

// checkVersions sets the version of the archive. An unknown version is an error, and a missing one a warning. Each
// version of CSAR has its own place for the file:
//
//	CSAR 1.0, 1.1    TOSCA-Metadata/TOSCA.meta
//	CSAR 2.0         TOSCA.meta; TOSCA-Metadata is accepted
func (a *Archive) checkVersions(file string, block map[string]metaLine) error {
	version, err := oneOf(file, block, keyVersion, "1.0", "1.1", "2.0")
	if err != nil {
		return err
	}
	a.Version = version
	key := keyFileVersion
	if _, there := block[key]; !there {
		if _, old := block[keyOldFileVersion]; old {
			key = keyOldFileVersion
		}
	}
	fileVersion, err := oneOf(file, block, key, "1.0", "1.1")
	for _, missing := range []struct{ key, value string }{{keyFileVersion, fileVersion}, {keyVersion, version}} {
		if missing.value == "" {
			a.Warnings = append(a.Warnings, file+": "+missing.key+" is missing")
		}
	}
	if file == metaInRoot && strings.HasPrefix(version, "1.") {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s: in CSAR %s it belongs in %s", file, version, metaInFolder))
	}
	return err
}

// oneOf returns the value of a key that has few valid values. It returns "" if the key is absent.
func oneOf(file string, block map[string]metaLine, key string, values ...string) (string, error) {
	line, there := block[key]
	if !there {
		return "", nil
	}
	if slices.Contains(values, line.value) {
		return line.value, nil
	}
	return "", &Error{File: file, Line: line.line, Code: InvalidMeta, Message: fmt.Sprintf("%s must be one of %s", key, strings.Join(values, ", "))}
}

// parseMeta reads the first block of a TOSCA.meta, which describes the archive: lines of "Name: value". A line that
// begins with a blank continues the previous one. Comments and quotes are accepted, because some authors write the file
// as YAML. For example:
//
//	TOSCA-Meta-File-Version: 1.1
//	CSAR-Version: 1.1
//	Entry-Definitions: definitions/
//	 main.yaml
//
// An empty line ends the block. The blocks after it describe single files, and are ignored.
func parseMeta(file, text string) (map[string]metaLine, error) {
	block, last := map[string]metaLine{}, ""
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			if len(block) == 0 {
				continue
			}
			break
		}
		if at := block[last]; line[0] == ' ' && last != "" {
			at.value += strings.TrimRight(line[1:], " ")
			block[last] = at
			continue
		}
		if line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) != name {
			return nil, &Error{File: file, Line: i + 1, Code: InvalidMeta, Message: "a line must have the form Name: value"}
		}
		if first, twice := block[name]; twice {
			return nil, &Error{File: file, Line: i + 1, Code: InvalidMeta, Message: fmt.Sprintf("duplicate %s, first on line %d", quote(name), first.line)}
		}
		block[name], last = metaLine{unquoted(strings.TrimSpace(value)), i + 1}, name
	}
	return block, nil
}

// unquoted removes the quotes around a value.
func unquoted(value string) string {
	for _, mark := range []string{`"`, `'`} {
		if inner, ok := strings.CutPrefix(value, mark); ok && strings.HasSuffix(inner, mark) {
			return inner[:len(inner)-1]
		}
	}
	return value
}
