package source

import (
	"context"
	"errors"
	"strings"

	"holdfast.dev/holdfast/pkg/fetch"
)

// resolver reads imports by URL, and records the pages. It is used by one goroutine, for one translation. acquire and
// release must alternate. Resolve releases the slot and acquires it again.
type resolver struct {
	fetcher Fetcher
	// before contains the pages of the last translation, and read those of this one, by URL.
	before map[string]fetch.Page
	read   map[string]fetch.Page
	// failed is set after a temporary error. local is set if an import is not a URL. They determine the reason of the
	// Problem.
	failed, local bool

	// namespace is the one of the Application, whose slots the translation uses.
	namespace string
	// release releases the slot of the translation.
	release func()
}

// newResolver returns a resolver without a slot: call acquire before the translation.
func newResolver(fetcher Fetcher, m *Material) *resolver {
	return &resolver{fetcher: fetcher, before: m.Imports, read: map[string]fetch.Page{}, namespace: m.Application.Namespace}
}

// acquire waits for the slot of the translation. After an error, release has no effect, so it can always be called.
func (r *resolver) acquire(ctx context.Context) (err error) {
	r.release, err = translations.Acquire(ctx, r.namespace)
	if err != nil {
		r.release = func() {}
	}
	return err
}

// errNoFiles is the error for imports that are not URLs.
var errNoFiles = errors.New("only URLs can be imported here: use a URL, or pack the files into a CSAR")

// Resolve implements tosca.Resolver. While it waits for a server, other translations can use its slot. If the request
// fails, the page of the last translation remains recorded, so its ETag is not lost.
func (r *resolver) Resolve(ctx context.Context, location string) ([]byte, error) {
	if !strings.Contains(location, "://") {
		r.local = true
		return nil, errNoFiles
	}
	before := r.before[location]
	if before.Data != nil {
		r.read[location] = before // the server is asked again, with the known ETag
	}
	r.release()
	page, err := r.fetcher.Get(ctx, location, before)
	// The translation continues with CPU work, so it needs its slot again, also after a failed request.
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	if err != nil {
		// A URL that is not allowed remains so; every other error can be temporary.
		_, refused := errors.AsType[*fetch.NotAllowedError](err)
		r.failed = r.failed || !refused
		return nil, err
	}
	r.read[location] = page
	return page.Data, nil
}
