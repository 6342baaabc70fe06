package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyURLsUnderPrefixesAreAllowed(t *testing.T) {
	f, err := New(Options{Prefixes: []string{"https://example.com/templates", "http://plain.example.com:8080/", "https://root.example.com"}})
	require.NoError(t, err)
	for address, reason := range map[string]string{
		"https://example.com/templates":                     "",
		"https://example.com/templates/":                    "",
		"https://EXAMPLE.com:443/templates/a/b.yaml?x=../y": "",
		"http://plain.example.com:8080/a.csar":              "",
		"https://root.example.com":                          "",
		"https://root.example.com/any/path":                 "",
		"https://example.com/templates2":                    "no --allow-url-prefix",
		"https://example.com/":                              "no --allow-url-prefix",
		"https://example.com.evil.com/templates/a":          "no --allow-url-prefix",
		"https://example.com:444/templates/a":               "no --allow-url-prefix",
		"http://example.com/templates/a":                    "no --allow-url-prefix",
		"https://plain.example.com:8080/a":                  "no --allow-url-prefix",
		"https://example.com/templates/../secret":           "must not contain .. or escaped slashes",
		"https://example.com/templates/%2e%2e/secret":       "must not contain .. or escaped slashes",
		"https://example.com/templates/a%2fb":               "must not contain .. or escaped slashes",
		`https://example.com/templates/..\secret`:           "must not contain .. or escaped slashes",
		"https://example.com/templates//a":                  "must not contain .. or escaped slashes",
		"https://user:hunter2@example.com/templates/a":      "contains a user",
		"ftp://example.com/templates/a":                     "must begin with https://",
		"file:///etc/passwd":                                "must begin with https://",
		"//example.com/templates/a":                         "must begin with https://",
		"https:///templates/a":                              "has no host",
		"https://exa mple.com/":                             "the URL is invalid",
	} {
		_, err := f.check(address)
		if reason == "" {
			assert.NoError(t, err, address)
			continue
		}
		var refused *NotAllowedError
		require.ErrorAs(t, err, &refused, address)
		assert.ErrorContains(t, err, reason, address)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

func TestWithoutPrefixesNoURLIsAllowed(t *testing.T) {
	f, err := New(Options{})
	require.NoError(t, err)
	_, err = f.Get(t.Context(), "https://example.com/a", Page{})
	assert.EqualError(t, err, "the controller fetches no URLs: its --allow-url-prefix is empty")
}

func TestAnywhereRequiresTLS(t *testing.T) {
	f, err := New(Options{Anywhere: true, Prefixes: []string{"http://plain.example.com/"}})
	require.NoError(t, err)
	for address, reason := range map[string]string{
		"https://example.com/any/path?x=y": "",
		"http://plain.example.com/a":       "",
		"http://example.com/a":             "must begin with https://",
		"https://u:p@example.com/a":        "contains a user",
		"https://example.com/a/../b":       "must not contain .. or escaped slashes",
	} {
		_, err := f.check(address)
		if reason == "" {
			assert.NoError(t, err, address)
			continue
		}
		assert.ErrorContains(t, err, reason, address)
	}
	assert.False(t, f.reachable(netip.MustParseAddr("127.0.0.1")), "and not from this machine")
}

// FuzzCheck checks that every allowed URL has the host of a prefix and is below its path.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/templates/a.yaml", "https://example.com/templates/../a", "https://example.com\\@evil.com/templates/a",
		"https://example.com:443/templates/%2e%2e/a", "https://EXAMPLE.com/templates?x#y", "https://example.com/templates/..a", "https://example.com%00.evil.com/templates/",
	} {
		f.Add(seed)
	}
	fetcher, err := New(Options{Prefixes: []string{"https://example.com/templates"}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, address string) {
		u, err := fetcher.check(address)
		if err != nil {
			return
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), http.NoBody)
		require.NoError(t, err)
		require.Equal(t, "https", request.URL.Scheme)
		require.Equal(t, "example.com", strings.ToLower(request.URL.Hostname()))
		require.Contains(t, []string{"", "443"}, request.URL.Port())
		require.Nil(t, request.URL.User)
		path := request.URL.EscapedPath()
		require.True(t, path == "/templates" || strings.HasPrefix(path, "/templates/"), path)
		require.NotContains(t, strings.Split(path, "/"), "..")
	})
}

func TestInvalidPrefixes(t *testing.T) {
	for _, text := range []string{"example.com", "ftp://example.com/", "https://", "https://u@example.com/", "https://example.com/?a=b", "https://example.com/#a", ":"} {
		_, err := New(Options{Prefixes: []string{text}})
		assert.Error(t, err, text)
	}
}

func TestPrivateAddressesAreRejected(t *testing.T) {
	f, err := New(Options{Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	require.NoError(t, err)
	for address, allowed := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "10.1.2.3": true, "::ffff:10.1.2.3": true,
		"127.0.0.1": false, "::1": false, "10.2.0.1": false, "192.168.1.1": false, "172.16.0.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00::1": false, "100.64.0.1": false,
		"0.0.0.0": false, "::": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::ffff:127.0.0.1": false, "::7f00:1": false, "::8.8.8.8": false, "::ffff:169.254.169.254": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false,
		"2002:7f00:1::": false, "2001::1": false, "198.18.0.1": false, "192.0.2.1": false, "fec0::1": false,
	} {
		ip, err := netip.ParseAddr(address)
		require.NoError(t, err)
		assert.Equal(t, allowed, f.reachable(ip), address)
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// serve serves over TLS on a loopback address, which a fetcher can reach only if it is allowed.
func serve(t *testing.T, handler http.HandlerFunc, options Options) (*Fetcher, *httptest.Server) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	options.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	options.Prefixes = append(options.Prefixes, server.URL+"/ok/")
	f, err := New(options)
	require.NoError(t, err)
	return f, server
}

func TestGet(t *testing.T) {
	asked := 0
	f, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		assert.Equal(t, "test", r.UserAgent())
		assert.Empty(t, r.Header.Get("Cookie")+r.Header.Get("Authorization")+r.Header.Get("Referer"))
		w.Header().Set("ETag", `"1"`)
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "content")
	}, Options{Networks: loopback, UserAgent: "test"})
	page, err := f.Get(t.Context(), server.URL+"/ok/a.yaml", Page{})
	require.NoError(t, err)
	assert.Equal(t, Page{Data: []byte("content"), Tag: `"1"`}, page)
	again, err := f.Get(t.Context(), server.URL+"/ok/a.yaml", page)
	require.NoError(t, err)
	assert.Equal(t, page, again)
	assert.Equal(t, 2, asked)
	require.NoError(t, CheckDigest(page.Data, "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"))
	assert.ErrorContains(t, CheckDigest(page.Data, strings.Repeat("0", 64)), "digest is ed7002b4")
}

func TestRedirectsLeaveNoTraceInErrors(t *testing.T) {
	f, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Referer())
		if rest, more := strings.CutPrefix(r.URL.Path, "/ok/hop/"); more {
			http.Redirect(w, r, "/ok/"+rest, http.StatusFound)
			return
		}
		fmt.Fprint(w, "content")
	}, Options{Networks: loopback})
	page, err := f.Get(t.Context(), server.URL+"/ok/hop/hop/hop/page?token=hunter2", Page{})
	require.NoError(t, err)
	assert.Equal(t, "content", string(page.Data))
}

func TestMisbehavingServers(t *testing.T) {
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		options Options
		path    string
		message string
		refused bool
	}{
		{name: "be at an address that is not public", handler: func(http.ResponseWriter, *http.Request) {}, message: "neither public nor", refused: true},
		{
			name: "redirect to a URL that is not allowed", options: Options{Networks: loopback}, message: "it redirects to https://127.0.0.1:", refused: true,
			handler: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/secret?token=hunter2", http.StatusFound)
			},
		},
		{
			name: "redirect to an address that is not public", options: Options{Networks: loopback, Prefixes: []string{"http://169.254.169.254/"}},
			message: "neither public nor", refused: true,
			handler: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
			},
		},
		{
			name: "redirect without end", options: Options{Networks: loopback}, message: "more than 3 redirects",
			handler: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok/again", http.StatusFound) },
		},
		{
			name: "announce too much", options: Options{Networks: loopback}, message: "larger than 8 MiB",
			handler: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9000000000") },
		},
		{
			name: "send without end", options: Options{Networks: loopback}, message: "larger than 8 MiB",
			handler: func(w http.ResponseWriter, _ *http.Request) {
				for block := make([]byte, 1<<16); ; {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			},
		},
		{
			name: "take its time", options: Options{Networks: loopback, Timeout: 200 * time.Millisecond}, message: "it takes longer than 200ms",
			handler: func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					fmt.Fprint(w, "x")
					w.(http.Flusher).Flush()
					select {
					case <-r.Context().Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			},
		},
		{
			name: "end the connection", options: Options{Networks: loopback}, message: "the connection failed: ",
			handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		},
		{
			name: "content in an error", options: Options{Networks: loopback}, message: "the server responded with status 500",
			handler: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "hunter2", http.StatusInternalServerError) },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, server := serve(t, row.handler, row.options)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := f.Get(t.Context(), server.URL+"/ok/a?token=hunter2", Page{})
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, row.message)
			assert.NotContains(t, err.Error(), "hunter2")
			var refused *NotAllowedError
			assert.Equal(t, row.refused, assertAs(err, &refused))
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		})
	}
}

func assertAs(err error, target **NotAllowedError) bool {
	return errors.As(err, target)
}

func TestUnreachableHost(t *testing.T) {
	f, err := New(Options{Prefixes: []string{"https://nowhere.invalid/"}, Timeout: 10 * time.Second})
	require.NoError(t, err)
	_, err = f.Get(t.Context(), "https://nowhere.invalid/a?token=hunter2", Page{})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "hunter2")
}

func TestUntrustedCertificate(t *testing.T) {
	f, server := serve(t, func(http.ResponseWriter, *http.Request) {}, Options{Networks: loopback})
	other, err := New(Options{Networks: loopback, Prefixes: []string{server.URL}})
	require.NoError(t, err)
	_, err = other.Get(t.Context(), server.URL+"/ok/a", Page{})
	assert.ErrorContains(t, err, "certificate")
	_, err = f.Get(context.Background(), server.URL+"/ok/a", Page{})
	assert.NoError(t, err)
	_, _, err = net.SplitHostPort(server.Listener.Addr().String())
	assert.NoError(t, err)
}
