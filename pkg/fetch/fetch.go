package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Limits of one fetch.
const (
	maxBytes       = 8 << 20
	maxRedirects   = 3
	connectTimeout = 5 * time.Second
	totalTimeout   = 20 * time.Second
	maxHeaderBytes = 64 << 10
)

// Options configures a Fetcher.
type Options struct {
	// Prefixes are the allowed URL prefixes. Without prefixes, no URL is allowed.
	Prefixes []string
	// Anywhere allows every https URL. It is meant for users on their own machines.
	Anywhere bool
	// Networks are special networks that are allowed.
	Networks []netip.Prefix
	// UserAgent is the User-Agent header.
	UserAgent string
	// TLS configures how servers are verified. It defaults to the system's certificates.
	TLS *tls.Config
	// Timeout limits an entire fetch. It defaults to 20 s.
	Timeout time.Duration
}

// Fetcher fetches URLs that are allowed. It keeps no connections, cookies or pages, and can be used concurrently.
type Fetcher struct {
	options  Options
	prefixes []*url.URL
	// client checks addresses and redirects: see control and redirect.
	client *http.Client
}

// New returns a Fetcher. It returns an error if a prefix is invalid.
func New(options Options) (*Fetcher, error) {
	f := &Fetcher{options: options}
	if f.options.Timeout <= 0 {
		f.options.Timeout = totalTimeout
	}
	for _, text := range options.Prefixes {
		prefix, err := readPrefix(text)
		if err != nil {
			return nil, err
		}
		f.prefixes = append(f.prefixes, prefix)
	}
	// The check is in the dialer, because the address is only known there, for redirects as well.
	dialer := &net.Dialer{Timeout: connectTimeout, Control: f.control}
	f.client = &http.Client{CheckRedirect: f.redirect, Transport: &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: options.TLS, TLSHandshakeTimeout: connectTimeout,
		DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}}
	return f, nil
}

// redirect checks the target of a redirect like the first URL. It removes the Referer, which can contain a secret.
// The error does not contain the path and the query of the target.
func (f *Fetcher) redirect(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return errRedirects
	}
	next.Header.Del("Referer")
	if _, err := f.check(next.URL.String()); err != nil {
		return notAllowed("it redirects to %s://%s: %v", next.URL.Scheme, next.URL.Host, err)
	}
	return nil
}

// Page is a fetched document.
type Page struct {
	// Data is the body; nil only in a Page that was not fetched.
	Data []byte
	// Tag and Modified are the ETag and Last-Modified headers.
	Tag, Modified string
}

// Get fetches a URL. It returns before if the server responds that the page is unchanged since then. If the
// URL is not allowed, the error is a *NotAllowedError.
func (f *Fetcher) Get(ctx context.Context, address string, before Page) (Page, error) {
	u, err := f.check(address)
	if err != nil {
		return Page{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return Page{}, notAllowed("the URL is invalid")
	}
	request.Header.Set("User-Agent", f.options.UserAgent)
	request.Header.Set("Accept-Encoding", "identity")
	if before.Data != nil && before.Tag != "" {
		request.Header.Set("If-None-Match", before.Tag)
	} else if before.Data != nil && before.Modified != "" {
		request.Header.Set("If-Modified-Since", before.Modified)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return Page{}, sanitize(ctx, err, f.options.Timeout)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && before.Data != nil {
		return before, nil
	}
	if response.StatusCode != http.StatusOK {
		return Page{}, fmt.Errorf("the server responded with status %d", response.StatusCode)
	}
	return f.read(ctx, response)
}

// read reads the body, up to the size limit. Content-Length is checked first, to reject a large body without reading
// it.
func (f *Fetcher) read(ctx context.Context, response *http.Response) (Page, error) {
	if response.ContentLength > maxBytes {
		return Page{}, errors.New("it is larger than 8 MiB")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	if err == nil {
		err = ctx.Err() // a server that notices the cancellation may end its response as if it were complete
	}
	if err != nil {
		return Page{}, sanitize(ctx, err, f.options.Timeout)
	}
	if len(data) > maxBytes {
		return Page{}, errors.New("it is larger than 8 MiB")
	}
	return Page{Data: data, Tag: response.Header.Get("ETag"), Modified: response.Header.Get("Last-Modified")}, nil
}

// sanitize returns an error without the URL, whose query can contain a secret, without content from the
// server, and without addresses and ports, which change with every attempt.
func sanitize(ctx context.Context, err error, timeout time.Duration) error {
	var refused *NotAllowedError
	var dns *net.DNSError
	var broken *net.OpError
	var wrapped *url.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, errRedirects):
		return errRedirects
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it takes longer than %v", timeout)
	case errors.As(err, &dns):
		return errors.New("the host is not found")
	case errors.As(err, &broken):
		err = broken.Err
	case errors.As(err, &wrapped):
		err = wrapped.Err
	}
	return fmt.Errorf("the connection failed: %w", err)
}

var errRedirects = fmt.Errorf("there are more than %d redirects", maxRedirects)

// CheckDigest returns an error unless data has the given SHA-256 digest in lower-case hexadecimal.
func CheckDigest(data []byte, digest string) error {
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != digest {
		return fmt.Errorf("its SHA-256 digest is %s, and not %s", got, digest)
	}
	return nil
}
