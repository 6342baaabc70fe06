// Package fetch reads templates and archives from URLs in Applications, which any user can write. It
// fetches only URLs that the operator has allowed, and nothing from the cluster's own network:
//
//   - a URL must start with an allowed prefix, use https (http only if the prefix does) and contain no
//     user;
//   - addresses are checked in the dialer, after resolution: loopback, private, link-local and other
//     special addresses are rejected, unless their network is allowed;
//   - redirects, at most three, are checked like the first URL;
//   - size and time are limited; proxies, cookies, credentials and compression are not used.
//
// Errors name the violated rule and never quote the fetched content.
//
//	f, err := fetch.New(fetch.Options{Prefixes: []string{"https://example.com/templates/"}})
//	page, err := f.Get(ctx, "https://example.com/templates/shop.yaml", fetch.Page{})
//
// Source: docs/tosca.md, "URLs".
package fetch
