package tosca

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

// loader reads the files of a translation. It is the only phase that calls the Resolver. Each file is read once, and
// counts toward the limits and the digest once, regardless of the number of references. It reads files depth-first,
// which determines the order of messages and of the digest.
type loader struct {
	*session

	// archive is nil for a single template.
	archive *csar.Archive
	// archiveName is the name of the source in messages, if the source is an archive.
	archiveName string
	// loaded contains a file from the moment before it is parsed, so a loop of imports ends.
	loaded   map[string]*file // by location
	files    []*file          // in the order they were read
	imported int              // bytes
	// digest covers the source and all files that were read, in order.
	digest   hash.Hash
	contents map[string]content // by location
	archived map[string]string  // where the archive has profiles
}

func newLoader(s *session) *loader {
	return &loader{session: s, loaded: map[string]*file{}, digest: sha256.New(), contents: map[string]content{}}
}

// statement is one import, or another reference to a file, in its many notations. Artifacts and repositories have the
// same references, so locate serves them, too.
type statement struct {
	at fileNode
	// reference is the name of the file, its URL, or the name of the profile.
	reference string
	// repository is the name of the repository that the reference is relative to; absent without one.
	repository fileNode
	// prefix is the namespace of the imported types; "" for none.
	prefix string
	// profile is true if reference is the name of a profile.
	profile bool
}

// readImports reads the imports of a file, and the files that they refer to.
func (t *loader) readImports(f *file) {
	list := f.root.get("imports")
	if !list.exists() || list.isNull() {
		return
	}
	if list.isMap() {
		t.faults.add(list, InvalidImport, "must be a list: write `- %s: …` for each import", append(list.names(), "name")[0])
		return
	}
	if !t.faults.wantList(list) {
		return
	}
	for _, element := range list.elements() {
		if s, ok := t.readImport(element); ok {
			t.follow(f, s)
		}
	}
}

// readImport reads one element of imports: `- file`, `- {file: …}`, `- {url: …}`, `- {profile: …}`, `- alias: file`
// or `- alias: {file: …}`. It returns false after an error.
func (t *loader) readImport(p fileNode) (statement, bool) {
	s := statement{at: p}
	if p.isScalar() && !p.isNull() {
		s.reference = p.text()
		return s, true
	}
	if !p.isMap() {
		t.faults.add(p, InvalidImport, "must be the name of a file, or a map with file, url or profile, not %s", p.describe())
		return s, false
	}
	body := p
	if alias, ok := p.only(); ok && !slices.Contains(importedBy, alias.name()) {
		if alias.isScalar() {
			s.reference = alias.text()
			return s, !alias.isNull()
		}
		body = alias
	}
	return t.readLongImport(s, body)
}

// importedBy are the keys that name the imported file. A map with another key as the only one is an alias.
var importedBy = []string{"file", "url", "profile"}

// readLongImport reads an import that is a map.
func (t *loader) readLongImport(s statement, body fileNode) (statement, bool) {
	if !t.faults.wantMap(body) {
		return s, false
	}
	t.known(body, importKeys)
	for _, key := range importedBy {
		reference := body.get(key)
		if !reference.exists() {
			continue
		}
		text, ok := t.faults.wantText(reference)
		s.reference, s.profile = text, key == "profile"
		s.repository = body.get("repository")
		s.prefix = body.get("namespace_prefix").text() + body.get("namespace").text()
		return s, ok
	}
	t.faults.add(body, InvalidImport, "needs one of file, url and profile")
	return s, false
}

// follow reads an imported file, once, and adds the import to f. Files with well-known types are not read: they are
// built in, or only the names of their types are known.
//
//	a normative profile                           built in: the import has no cost
//	profiles of network functions, custom_types   only the names of their types are known
//	a file that is loaded already                 a warning, and the types can be used
//	any other                                     read, within the limits
func (t *loader) follow(f *file, s statement) {
	isSOL001 := sol001.MatchString(s.reference)
	isPath := !s.profile && !strings.Contains(s.reference, "://")
	switch {
	case simple.MatchString(s.reference):
		f.imports = append(f.imports, edge{s.prefix, builtIn()})
		return
	case customTypes.MatchString(s.reference), nfv.MatchString(s.reference), isSOL001 && !isPath:
		f.minimal = true
		return
	}
	to, ok := t.find(f, s)
	if !ok {
		return
	}
	if loaded := t.loaded[to.String()]; loaded != nil {
		t.warn(s.at, "%s is already loaded", bare(to.shown()))
		f.imports = append(f.imports, edge{s.prefix, loaded})
		return
	}
	switch {
	case len(t.loaded) > maxFiles: // the entry template is no import
		t.faults.add(s.at, LimitExceeded, "more than %d files are imported", maxFiles)
		return
	case f.depth >= maxDepth:
		t.faults.add(s.at, LimitExceeded, "files import each other more than %d levels deep", maxDepth)
		return
	}
	data := t.fetch(s.at, to, isSOL001)
	if data == nil {
		f.minimal = f.minimal || isSOL001
		return
	}
	imported := &file{name: t.fileName(to), at: to, depth: f.depth + 1, sealed: f.sealed || to.url != nil}
	// The file is recorded before it is read, because files can import each other in loops.
	t.loaded[to.String()] = imported
	f.imports = append(f.imports, edge{s.prefix, imported})
	t.read(imported, f, data)
}

// find returns the location of an imported file. It returns false after an error or a warning.
func (t *loader) find(f *file, s statement) (location, bool) {
	if s.profile {
		to, there := t.profileFile(s.reference)
		if !there {
			t.warn(s.at, "unknown profile %s: the built-in profiles are %s; import others as files, or from a CSAR", quote(s.reference), inStock)
		}
		return to, there
	}
	to, ok := t.locate(f, s)
	if ok && t.loaded[to.String()] == nil {
		if found, there := t.elsewhere(f, s, to); there {
			to = found
		}
	}
	return to, ok
}

// profileFile returns the location of a profile: a file that has been read, or one of the archive. It searches the
// archive once.
func (t *loader) profileFile(name string) (location, bool) {
	for _, f := range t.files {
		if f.root.get("profile").text() == name {
			return f.at, true
		}
	}
	if t.archive != nil && t.archived == nil {
		t.archived = map[string]string{}
		for _, path := range t.archive.Names() {
			t.ongoing()
			if data, err := t.archive.File(path); err == nil {
				for _, declared := range profileLine.FindAllSubmatch(data, 1) {
					t.archived[string(declared[1])] = path
				}
			}
		}
	}
	path, there := t.archived[name]
	return location{inArchive: true, path: path}, there
}

// profileLine matches the line in which a file declares the name of its profile.
var profileLine = regexp.MustCompile(`(?m)^profile:[ \t]*["']?([^\s"'#]+)`)

// elsewhere finds a file that is not at its path: relative to the entry template, without the first directory, or next
// to the importing file. Other parsers of TOSCA 1.x find it there. It adds a warning if it finds one. For an import of
// types/a.yaml in defs/b.yaml, with the entry template in the root, it looks for types/a.yaml, defs/a.yaml and
// a.yaml, in this order. TOSCA 2.0 defines the place exactly, so it is not searched there.
func (t *loader) elsewhere(f *file, s statement, to location) (location, bool) {
	isExact := to.url != nil || s.repository.exists() || f.version.dollar() || sol001.MatchString(to.path)
	if isExact || t.content(to).code != MissingImportFile {
		return to, false
	}
	entry := t.files[0].at
	_, rest, below := strings.Cut(s.reference, "/")
	candidates := []struct {
		from      location
		reference string
	}{{entry, s.reference}, {f.at, rest}, {entry, rest}, {f.at, path.Base(s.reference)}}
	for _, candidate := range candidates {
		found, _, problem := candidate.from.resolve(candidate.reference)
		if problem != "" || (!below && candidate.reference == rest) {
			continue
		}
		// A file that exists and is too large also ends the search.
		if c := t.content(found); c.problem == "" || c.code == LimitExceeded {
			t.warn(s.at, "does not exist: %s is used instead", bare(found.shown()))
			return found, true
		}
	}
	return to, false
}

// fileName returns the name of an imported file for messages. A path is relative to the directory of the source, as the
// user typed it: dir/types/a.yaml.
func (t *loader) fileName(to location) string {
	if to.inArchive {
		return t.archiveName + "!" + to.path
	}
	if to.url == nil {
		return path.Join(path.Dir(t.name), to.path)
	}
	return to.shown()
}

// locate returns the location that a reference in f leads to. It returns false after an error.
func (t *loader) locate(f *file, s statement) (location, bool) {
	base := f.at
	if s.repository.exists() {
		var ok bool
		if base, ok = t.repository(f, s.repository); !ok {
			return location{}, false
		}
	}
	to, code, problem := base.resolve(s.reference)
	if code == EmbeddedCredential {
		return t.noLocation(s.at, code, "%s", problem) // and not what it is
	}
	if problem != "" {
		return t.noLocation(s.at, code, "%s: %s", bare(s.reference), problem)
	}
	return to, true
}

// repository returns the location to which the files of a repository are relative.
//
//	repositories: {acme: https://example.com/types}
//	imports: [{file: a.yaml, repository: acme}]
//
// imports https://example.com/types/a.yaml. A relative url is relative to the file that declares the repository.
func (t *loader) repository(f *file, name fileNode) (location, bool) {
	all := f.root.get("repositories")
	p := all.get(name.text())
	if !p.exists() {
		return t.noLocation(name, UnknownRepository, "there is no repository %s%s", quote(name.text()), t.near(name.text(), all.names))
	}
	reference := p
	if p.isMap() {
		reference = p.get("url")
		if credential := p.get("credential"); credential.exists() && !credential.isNull() {
			return t.noLocation(credential, EmbeddedCredential, "a credential must not be written into a template")
		}
	}
	if !reference.isScalar() {
		return t.noLocation(p, MissingRequiredKeyname, "the repository has no url")
	}
	to, code, problem := f.at.resolve(strings.TrimSuffix(reference.text(), "/") + "/")
	if problem != "" {
		return t.noLocation(reference, code, "%s", problem)
	}
	if to.url == nil {
		to.path += "/-" // resolve drops the last name
	}
	return to, true
}

// noLocation reports a reference that leads to no file.
func (t *loader) noLocation(p fileNode, code Code, format string, args ...any) (location, bool) {
	t.faults.add(p, code, format, args...)
	return location{}, false
}

// read parses a file, and reads the files that it imports. importer is nil for the entry template. A file that cannot
// be parsed is not in t.files.
func (t *loader) read(f, importer *file, data []byte) {
	t.step()
	t.parse(f, data)
	if !f.root.exists() {
		return
	}
	// The order determines that of the messages, and the entry template is first.
	t.files = append(t.files, f)
	t.readVersion(f, importer)
	t.readImports(f)
}

// fetch returns the content of a file; nil if it cannot be read. p is the position of the reference. An optional file
// can be missing without an error.
func (t *loader) fetch(p fileNode, to location, optional bool) []byte {
	c := t.content(to)
	if c.problem != "" && !optional {
		t.faults.add(p, c.code, "%s: %s", bare(to.shown()), c.problem)
	}
	return c.data
}

// content is a file, or the reason why it cannot be read.
type content struct {
	data []byte
	// code and problem are "" if the file could be read.
	code    Code
	problem string
}

// content reads a file, once: a template can refer to one file thousands of times. An error is cached, too, so a
// missing file is requested once. Beyond the total size, no file is read any more.
func (t *loader) content(to location) content {
	c, known := t.contents[to.String()]
	if known {
		return c
	}
	if t.imported <= maxImported {
		c = t.readContent(to)
		t.imported += len(c.data)
	}
	switch {
	case t.imported > maxImported:
		c = content{code: LimitExceeded, problem: fmt.Sprintf("the files are larger than %d bytes in total", maxImported)}
	case c.problem == "":
		t.note(to.String(), c.data)
	}
	t.contents[to.String()] = c
	return c
}

// readContent reads a file from the archive or with the Resolver, without the cache. The error of a Resolver becomes
// the message. A Resolver must not put content into it.
func (t *loader) readContent(to location) content {
	if to.inArchive {
		if !t.archive.Has(to.path) {
			return content{code: MissingImportFile, problem: "not found in the archive"}
		}
		data, err := t.archive.File(to.path)
		if err != nil {
			return content{code: InvalidArchive, problem: err.Error()}
		}
		return content{data: data}
	}
	if t.options.Resolver == nil && to.url != nil {
		return content{code: SourceNotAllowed, problem: "URLs are not fetched here"}
	}
	if t.options.Resolver == nil {
		return content{code: MissingImportFile, problem: "not found: only files of an archive can be read here"}
	}
	data, err := t.options.Resolver.Resolve(t.ctx, to.String())
	t.ongoing()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{code: MissingImportFile, problem: "not found"}
	case err != nil:
		return content{code: SourceNotAllowed, problem: err.Error()}
	}
	return content{data: data}
}

// note adds a file to the digest of all files that were read. The lengths separate name and content.
func (t *loader) note(name string, data []byte) {
	fmt.Fprintf(t.digest, "%d %s %d\n", len(name), name, len(data))
	t.digest.Write(data)
}
