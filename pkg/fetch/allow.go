package fetch

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// NotAllowedError is the reason why a URL is not fetched. Retrying does not help: the URL or the
// controller's flags have to change.
type NotAllowedError struct{ Reason string }

func (e *NotAllowedError) Error() string { return e.Reason }

// notAllowed returns a NotAllowedError with a formatted reason.
func notAllowed(format string, args ...any) error {
	return &NotAllowedError{fmt.Sprintf(format, args...)}
}

// readPrefix parses an allowed prefix. A prefix matches whole path segments.
func readPrefix(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is not a URL prefix such as https://example.com/templates/", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q: a prefix must consist only of a host and a path", text)
	}
	return u, nil
}

// check returns an error for a URL that is not allowed. The error does not contain the query, which can
// contain a secret.
func (f *Fetcher) check(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, notAllowed("the URL is invalid")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, notAllowed("the URL must begin with https://")
	case u.User != nil:
		return nil, notAllowed("the URL contains a user: remove the credentials")
	case u.Host == "":
		return nil, notAllowed("the URL has no host")
	case !isCleanPath(u):
		return nil, notAllowed("the path of the URL must not contain .. or escaped slashes")
	case slices.ContainsFunc(f.prefixes, func(prefix *url.URL) bool { return isUnderPrefix(prefix, u) }):
		return u, nil
	case f.options.Anywhere && u.Scheme == "https":
		return u, nil
	case f.options.Anywhere:
		return nil, notAllowed("the URL must begin with https://")
	case len(f.prefixes) == 0:
		return nil, notAllowed("the controller fetches no URLs: its --allow-url-prefix is empty")
	}
	return nil, notAllowed("no --allow-url-prefix of the controller allows it")
}

// isCleanPath reports whether cleaning leaves the path unchanged. Otherwise, the server could resolve the path to one
// that is not below the prefix. Escaped dots and slashes are rejected for the same reason.
func isCleanPath(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") || strings.Contains(escaped, "%2e") || strings.Contains(u.Path, `\`) {
		return false
	}
	return u.Path == "" || path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/") || u.Path == "/"
}

// isUnderPrefix reports whether a URL is the prefix or below it.
func isUnderPrefix(prefix, u *url.URL) bool {
	if prefix.Scheme != u.Scheme || !strings.EqualFold(prefix.Hostname(), u.Hostname()) || port(prefix) != port(u) {
		return false
	}
	root := strings.TrimSuffix(prefix.Path, "/")
	rest, ok := strings.CutPrefix(u.Path, root)
	return ok && (rest == "" || rest[0] == '/')
}

// port returns the port of a URL, or the default port of its scheme.
func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
}
