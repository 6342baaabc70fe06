package page

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guard is a handler that serves only clients with the printed address. It rejects other clients that can
// reach the port: other users of the machine, and pages of other sites in the same browser.
type guard struct {
	next http.Handler
	port string
	// token is in the printed address. session is in the cookie for which the browser exchanges the token.
	// Both fields are SHA-256 hashes. The token can be in the history of the browser, but the cookie cannot.
	token, session [sha256.Size]byte
	// cookie is the value of the session cookie.
	cookie string
}

// newGuard returns a guard with new secrets, and the address to print. Each start of the server makes earlier
// addresses invalid.
func newGuard(listener net.Addr, next http.Handler) (g *guard, address string) {
	_, port, _ := net.SplitHostPort(listener.String())
	token := secret()
	g = &guard{next: next, port: port, token: sha256.Sum256([]byte(token)), cookie: secret()}
	g.session = sha256.Sum256([]byte(g.cookie))
	return g, "http://" + listener.String() + "/?token=" + token
}

// secret returns 256 random bits as a string.
func secret() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// policy allows the browser to load and run only content of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler. It checks the host first, because only then the browser's checks of the
// origin have a meaning.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
	} {
		w.Header().Set(name, value)
	}
	given := r.URL.Query().Get("token")
	switch {
	case !g.isOurHost(r.Host):
		http.Error(w, "this address is not served here: use the printed address", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read-only", http.StatusMethodNotAllowed)
	// Only a navigation exchanges the token, so that a page of another site cannot do it in a frame.
	case r.URL.Path == "/" && given != "" && isSame(given, g.token) && isNavigation(r):
		g.exchange(w)
	case !g.isOurOrigin(r) || !g.isKnown(r):
		http.Error(w, "open the complete address that `holdfast ui` has printed, with its token", http.StatusUnauthorized)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// isOurHost reports whether the host of a request is the loopback address, with the port of this server. This
// rejects names that an attacker has pointed to this machine (DNS rebinding).
func (g *guard) isOurHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == g.port && (name == "127.0.0.1" || name == "localhost" || name == "::1")
}

// isOurOrigin reports whether a request is from a page of this server, or from no page, as when a user types
// the address. The browser sets these headers; scripts cannot set them.
func (g *guard) isOurOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme != "http" || !strings.EqualFold(parsed.Host, r.Host) {
			return false
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

// isNavigation reports whether a user has opened an address. Pages of other sites may link to it, but cannot
// embed or fetch it.
func isNavigation(r *http.Request) bool {
	mode, dest := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document")
}

// isKnown reports whether a request contains the session cookie. It can contain several cookies of this name, because
// browsers do not separate cookies by port.
func (g *guard) isKnown(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(g.cookieName()) {
		if isSame(cookie.Value, g.session) {
			return true
		}
	}
	return false
}

// isSame reports whether a string has a hash, in a time that does not depend on the string.
func isSame(given string, want [sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}

// cookieName returns a name with the port, so that two servers on one machine can be used at the same time.
func (g *guard) cookieName() string { return "holdfast-" + g.port }

// exchange sets the session cookie. It responds with a page that opens the list of Applications
// automatically. A redirect is not enough: if the user has followed a link on another site, the browser does
// not send a strict cookie after a redirect.
func (g *guard) exchange(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // http on the loopback address
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=/\">" +
		"<title>Holdfast</title><p><a href=/>Continue to the Applications</a></p></html>"))
}
