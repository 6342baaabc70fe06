package source

import (
	"context"
	"errors"
	"strings"

	"holdfast.dev/holdfast/pkg/fetch"
)

// resolver reads imports by URL, as far as the fetcher may. It remembers what it
// read, and why it could not.
type resolver struct {
	fetcher Fetcher
	before  map[string]fetch.Page
	read    map[string]fetch.Page
	// failed is set if a URL could not be read for a reason that may pass, local
	// if a file was wanted.
	failed, local bool
}

func newResolver(fetcher Fetcher, before map[string]fetch.Page) *resolver {
	return &resolver{fetcher: fetcher, before: before, read: map[string]fetch.Page{}}
}

// errNoFiles is about imports that are no URLs.
var errNoFiles = errors.New("there are no files beside it: import a URL, or pack the files into a CSAR")

// Resolve implements tosca.Resolver. While it waits for a server, another
// translation has its turn.
func (r *resolver) Resolve(ctx context.Context, location string) ([]byte, error) {
	if !strings.Contains(location, "://") {
		r.local = true
		return nil, errNoFiles
	}
	before := r.before[location]
	if before.Data != nil {
		r.read[location] = before // it is asked for again
	}
	<-turns
	page, err := r.fetcher.Get(ctx, location, before)
	turns <- struct{}{}
	var refused *fetch.NotAllowedError
	if err != nil {
		r.failed = r.failed || !errors.As(err, &refused)
		return nil, err
	}
	r.read[location] = page
	return page.Data, nil
}
