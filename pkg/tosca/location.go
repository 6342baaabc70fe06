package tosca

import (
	"net/url"
	"path"
	"strings"
)

// location is the address of a file: a path in the archive, a URL, or a path next to the template. Only one of
// inArchive and url is set. path is relative to the root of the archive, or to the directory of the source.
type location struct {
	inArchive bool
	url       *url.URL // nil for a path
	path      string
}

// String returns the location for the Resolver, and as the key of a file. It has no password. Two references to one
// file have the same string, which the cache relies on. No location contains a user, because allowed rejects it; only
// the URL of the source can.
func (l location) String() string {
	if l.url != nil {
		return l.url.Redacted()
	}
	return l.path
}

// shown returns the location for messages: a URL without its query, which can contain a token.
func (l location) shown() string {
	if l.url == nil {
		return l.path
	}
	u := *l.url
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	return u.Redacted()
}

// resolve returns the target of a reference in the file at l. problem is the reason if there is no target.
//
//	reference      the file is in an archive           fetched from a URL      next to the template
//	https://…      this URL                            this URL                this URL
//	types/a.yaml   relative to the file                relative to the URL     relative to the file
//	/types/a.yaml  relative to the root                relative to the host    an error
//	../a.yaml      an error if it is above the root    relative to the URL     relative to the file; the Resolver decides
//
// A reference never leads from an archive to a file next to it, or from a URL to a local file.
func (l location) resolve(reference string) (to location, code Code, problem string) {
	if strings.Contains(reference, "://") || strings.HasPrefix(reference, "file:") {
		return absolute(reference)
	}
	if reference == "" || strings.ContainsAny(reference, "\\\x00") {
		return location{}, InvalidImport, "is not a path or URL"
	}
	switch {
	case l.inArchive:
		return l.within(reference)
	case l.url != nil:
		relative, err := url.Parse(reference)
		switch {
		case err != nil:
			return location{}, InvalidImport, "is not a path or URL"
		// Such as //user@host/path, which takes only the scheme from the URL of the file.
		case relative.IsAbs() || relative.Host != "" || relative.User != nil:
			return allowed(l.url.ResolveReference(relative))
		}
		return location{url: l.url.ResolveReference(relative)}, "", ""
	case path.IsAbs(reference):
		return location{}, InsecurePath, "is an absolute path, which is only allowed in a CSAR"
	default:
		return location{path: path.Join(path.Dir(l.path), reference)}, "", ""
	}
}

// within resolves a path inside the archive; a path that begins with / begins at its root.
func (l location) within(reference string) (to location, code Code, problem string) {
	name := strings.TrimLeft(reference, "/")
	if !path.IsAbs(reference) {
		name = path.Join(path.Dir(l.path), reference)
	}
	name = path.Clean(name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return location{}, InsecurePath, "points outside the CSAR"
	}
	return location{inArchive: true, path: name}, "", ""
}

// absolute returns the location of an absolute URL.
func absolute(reference string) (to location, code Code, problem string) {
	u, err := url.Parse(reference)
	if err != nil {
		return location{}, InvalidImport, "is not a valid URL"
	}
	return allowed(u)
}

// allowed returns the location of a URL that a template contains. Only http and https are supported. The Resolver
// decides which hosts are.
func allowed(u *url.URL) (to location, code Code, problem string) {
	isWeb := u.Scheme == "https" || u.Scheme == "http"
	switch {
	case u.Host == "" && u.Scheme != "file" && (isWeb || u.Opaque == ""):
		return location{}, InvalidImport, "is not a valid URL"
	case !isWeb:
		return location{}, SourceNotAllowed, "is not an https URL"
	case u.User != nil:
		return location{}, EmbeddedCredential, "contains a user or password, which is not allowed in a template"
	}
	return location{url: u}, "", ""
}
