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

// guard lets in who has the address that was printed, and nobody else who can reach the
// port: other users of the machine, and pages of other sites in the same browser.
type guard struct {
	next http.Handler
	port string
	// token is in the address that was printed; session is in the cookie that it is
	// exchanged for. Both are SHA-256 here.
	token, session [sha256.Size]byte
	cookie         string
}

// newGuard returns it with the address to print.
func newGuard(listener net.Addr, next http.Handler) (g *guard, address string) {
	_, port, _ := net.SplitHostPort(listener.String())
	token := secret()
	g = &guard{next: next, port: port, token: sha256.Sum256([]byte(token)), cookie: secret()}
	g.session = sha256.Sum256([]byte(g.cookie))
	return g, "http://" + listener.String() + "/?token=" + token
}

// secret is 256 bits that nobody can guess.
func secret() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// policy has the browser load and run what is ours, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
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
		http.Error(w, "this address is not served here: use the one that was printed", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read-only", http.StatusMethodNotAllowed)
	case r.URL.Path == "/" && given != "" && isSame(given, g.token) && isNavigation(r):
		g.exchange(w)
	case !g.isOurOrigin(r) || !g.isKnown(r):
		http.Error(w, "open the whole address that `holdfast ui` has printed, with its token", http.StatusUnauthorized)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// isOurHost reports whether a request names this machine: a name that an attacker has
// pointed to it (DNS rebinding) is refused.
func (g *guard) isOurHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == g.port && (name == "127.0.0.1" || name == "localhost" || name == "::1")
}

// isOurOrigin reports whether a request comes from one of our own pages, or from nobody's,
// as when its address is typed. A browser says which: scripts cannot.
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

// isNavigation reports whether a person has opened an address; pages of other sites may
// link to it, and not load it into them.
func isNavigation(r *http.Request) bool {
	mode, dest := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document")
}

// isKnown reports whether a request has the cookie. Several may have its name: cookies do
// not know ports, but for their names.
func (g *guard) isKnown(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(g.cookieName()) {
		if isSame(cookie.Value, g.session) {
			return true
		}
	}
	return false
}

func isSame(given string, want [sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}

func (g *guard) cookieName() string { return "holdfast-" + g.port }

// exchange gives the cookie. The page that it answers with goes on by itself: after a
// redirect a browser would not send a strict cookie to who came from a link elsewhere.
func (g *guard) exchange(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // http on the loopback address
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=/\">" +
		"<title>Holdfast</title><p><a href=/>Go on to the Applications</a></p></html>"))
}
