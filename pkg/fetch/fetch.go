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

// The limits of one fetch.
const (
	mostBytes      = 8 << 20
	mostRedirects  = 3
	connectTimeout = 5 * time.Second
	totalTimeout   = 20 * time.Second
	mostHeader     = 64 << 10
)

// Options say what may be fetched.
type Options struct {
	// Prefixes are those of the URLs that may be; none: no URL.
	Prefixes []string
	// Anywhere allows every https URL. It is for a person at their own machine.
	Anywhere bool
	// Networks are those that may be reached although they are not public.
	Networks []netip.Prefix
	// UserAgent is how requests introduce themselves.
	UserAgent string
	// TLS says how servers are verified; nil: by the system's certificates.
	TLS *tls.Config
	// Timeout is that of a whole fetch; 0 for 20 s.
	Timeout time.Duration
}

// Fetcher fetches.
type Fetcher struct {
	options  Options
	prefixes []*url.URL
	client   *http.Client
}

// New makes a fetcher. It fails if a prefix is none.
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
	dialer := &net.Dialer{Timeout: connectTimeout, Control: f.control}
	f.client = &http.Client{CheckRedirect: f.redirect, Transport: &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: options.TLS, TLSHandshakeTimeout: connectTimeout,
		DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: mostHeader,
	}}
	return f, nil
}

func (f *Fetcher) redirect(next *http.Request, before []*http.Request) error {
	if len(before) > mostRedirects {
		return &redirectsError{}
	}
	next.Header.Del("Referer")
	if _, err := f.check(next.URL.String()); err != nil {
		return notAllowed("it redirects to %s://%s: %v", next.URL.Scheme, next.URL.Host, err)
	}
	return nil
}

// Page is what was fetched.
type Page struct {
	Data []byte
	// Tag and Modified are what the server calls this state of it.
	Tag, Modified string
}

// Get fetches a URL. If the server says that it is still as it was when before was
// fetched, that is returned again. An error that says that the URL may not be
// fetched is a *NotAllowedError.
func (f *Fetcher) Get(ctx context.Context, address string, before Page) (Page, error) {
	u, err := f.check(address)
	if err != nil {
		return Page{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return Page{}, notAllowed("the URL cannot be read")
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
		return Page{}, plain(ctx, err, f.options.Timeout)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && before.Data != nil {
		return before, nil
	}
	if response.StatusCode != http.StatusOK {
		return Page{}, fmt.Errorf("the server answered %d", response.StatusCode)
	}
	return f.read(ctx, response)
}

func (f *Fetcher) read(ctx context.Context, response *http.Response) (Page, error) {
	if response.ContentLength > mostBytes {
		return Page{}, errors.New("it is larger than 8 MiB")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	if err == nil {
		err = ctx.Err() // a server that sees us go may end its answer as if it was complete
	}
	if err != nil {
		return Page{}, plain(ctx, err, f.options.Timeout)
	}
	if len(data) > mostBytes {
		return Page{}, errors.New("it is larger than 8 MiB")
	}
	return Page{Data: data, Tag: response.Header.Get("ETag"), Modified: response.Header.Get("Last-Modified")}, nil
}

// plain is an error without the URL, which may have a secret in its query, without
// what a server said, and without addresses and ports, which differ each time.
func plain(ctx context.Context, err error, timeout time.Duration) error {
	var refused *NotAllowedError
	var redirects *redirectsError
	var dns *net.DNSError
	var broken *net.OpError
	var wrapped *url.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &redirects):
		return redirects
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

// redirectsError says that a server sends its clients on and on.
type redirectsError struct{}

func (*redirectsError) Error() string {
	return fmt.Sprintf("there are more than %d redirects", mostRedirects)
}

// CheckDigest reports whether data has a SHA-256 digest, in hexadecimal.
func CheckDigest(data []byte, digest string) error {
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != digest {
		return fmt.Errorf("its SHA-256 digest is %s, and not %s", got, digest)
	}
	return nil
}
