package page

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageGuard(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	g, address := newGuard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8123}, next)
	opened, err := url.Parse(address)
	require.NoError(t, err)
	token := opened.Query().Get("token")
	require.Len(t, token, 43, "256 bits")
	cookie := http.Cookie{Name: g.cookieName(), Value: g.cookie}
	rows := []struct {
		name, method, host, path, cookie string
		headers                          map[string]string
		want                             int
	}{
		{name: "a request of the page", headers: map[string]string{"Origin": "http://127.0.0.1:8123", "Sec-Fetch-Site": "same-origin"}, want: 418},
		{name: "a typed address", headers: map[string]string{"Sec-Fetch-Site": "none"}, want: 418},
		{name: "by the name of this machine", host: "localhost:8123", want: 418},
		{name: "another cookie of the same name comes first", cookie: g.cookieName() + "=x; " + cookie.String(), want: 418},
		{name: "no cookie", cookie: "a=b", want: 401},
		{name: "a wrong cookie", cookie: g.cookieName() + "=" + token, want: 401},
		{name: "a name that was pointed here", host: "evil.example:8123", want: 421},
		{name: "a name without a port", host: "127.0.0.1", want: 421},
		{name: "another port", host: "127.0.0.1:80", want: 421},
		{name: "a page of another site asks", headers: map[string]string{"Origin": "http://evil.example"}, want: 401},
		{name: "a page of another port asks", headers: map[string]string{"Origin": "http://127.0.0.1:9999"}, want: 401},
		{name: "a page of no origin asks", headers: map[string]string{"Origin": "null"}, want: 401},
		{name: "a page of another site links here", headers: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 401},
		{name: "a page of this machine links here", headers: map[string]string{"Sec-Fetch-Site": "same-site"}, want: 401},
		{name: "something is written", method: http.MethodPost, want: 405},
		{name: "the token, opened", path: "/?token=" + token, cookie: "a=b", headers: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, want: 200},
		{name: "the token, loaded into another page", path: "/?token=" + token, cookie: "a=b", headers: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, want: 401},
		{name: "the token by a name that was pointed here", path: "/?token=" + token, host: "evil.example:8123", want: 421},
		{name: "a wrong token", path: "/?token=x", cookie: "a=b", want: 401},
		{name: "the token on another path", path: "/events?token=" + token, cookie: "a=b", want: 401},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			method, path, host, cookies := row.method, row.path, row.host, row.cookie
			for to, otherwise := range map[*string]string{&method: "GET", &path: "/applications/a/b", &host: "127.0.0.1:8123", &cookies: cookie.String()} {
				if *to == "" {
					*to = otherwise
				}
			}
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Host = host
			r.Header.Set("Cookie", cookies)
			for name, value := range row.headers {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			assert.Equal(t, row.want, w.Code, w.Body.String())
			assert.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			assert.NotContains(t, w.Body.String(), token)
			given := w.Header().Get("Set-Cookie")
			assert.Equal(t, row.want == 200, given != "", given)
			if given != "" {
				assert.Contains(t, given, "; HttpOnly; SameSite=Strict")
				assert.True(t, strings.HasPrefix(given, g.cookieName()+"="))
			}
		})
	}
	assert.NotContains(t, policy, "unsafe")
}
