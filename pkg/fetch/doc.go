// Package fetch reads templates and archives from URLs that other people have
// written into Applications. It reads only what its operator has allowed, and
// never from inside the cluster's own network:
//
//   - a URL must begin with one of the allowed prefixes, be https (http only where
//     a prefix says so) and name no user;
//   - addresses are checked in the dialer, after resolution: loopback, private,
//     link-local and other special ones are refused, unless their network is
//     allowed;
//   - redirects, at most three, are checked like the first URL;
//   - size and time are bounded; no proxy, cookies, credentials or compression.
//
// Errors say which rule was broken and never quote what was fetched.
//
//	f, err := fetch.New(fetch.Options{Prefixes: []string{"https://example.com/templates/"}})
//	page, err := f.Get(ctx, "https://example.com/templates/shop.yaml", fetch.Page{})
//
// Source: docs/tosca.md, "URLs".
package fetch
