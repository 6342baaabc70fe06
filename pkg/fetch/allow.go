package fetch

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// NotAllowedError says why a URL is not fetched. Only a change of the URL, or of the
// controller's flags, helps.
type NotAllowedError struct{ Reason string }

func (e *NotAllowedError) Error() string { return e.Reason }

func notAllowed(format string, args ...any) error {
	return &NotAllowedError{fmt.Sprintf(format, args...)}
}

// readPrefix reads an allowed prefix. It ends at a border of a path segment.
func readPrefix(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is no prefix of URLs like https://example.com/templates/", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q: a prefix has a host and a path, and nothing else", text)
	}
	return u, nil
}

// check refuses a URL that is not allowed. The reason has no query of it, which may
// have a secret.
func (f *Fetcher) check(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, notAllowed("the URL cannot be read")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, notAllowed("the URL must begin with https://")
	case u.User != nil:
		return nil, notAllowed("the URL names a user: credentials do not belong there")
	case u.Host == "":
		return nil, notAllowed("the URL has no host")
	case !plainPath(u):
		return nil, notAllowed("the path of the URL has dots or escaped slashes that lead elsewhere")
	case slices.ContainsFunc(f.prefixes, func(prefix *url.URL) bool { return covers(prefix, u) }):
		return u, nil
	case f.options.Anywhere && u.Scheme == "https":
		return u, nil
	case f.options.Anywhere:
		return nil, notAllowed("the URL must begin with https://")
	case len(f.prefixes) == 0:
		return nil, notAllowed("the controller fetches no URLs: its --allow-url-prefix is empty")
	}
	return nil, notAllowed("it is not below an --allow-url-prefix of the controller")
}

// plainPath reports whether a path says the same before and after it is cleaned.
func plainPath(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") || strings.Contains(escaped, "%2e") || strings.Contains(u.Path, `\`) {
		return false
	}
	return u.Path == "" || path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/") || u.Path == "/"
}

// covers reports whether a URL is the prefix, or below it.
func covers(prefix, u *url.URL) bool {
	if prefix.Scheme != u.Scheme || !strings.EqualFold(prefix.Hostname(), u.Hostname()) || port(prefix) != port(u) {
		return false
	}
	root := strings.TrimSuffix(prefix.Path, "/")
	rest, ok := strings.CutPrefix(u.Path, root)
	return ok && (rest == "" || rest[0] == '/')
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}
