package fetch

import (
	"net/netip"
	"slices"
	"syscall"
)

// specialNetworks are the networks that lead to this host, to its cluster or to no host, in addition to
// those with a predicate in net/netip.
var specialNetworks = prefixes(
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // carrier-grade NAT, and many clusters
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, and broadcast
	"64:ff9b::/96",    // NAT64: an IPv4 address inside
	"64:ff9b:1::/48",  // NAT64, local
	"100::/64",        // discard
	"::/96",           // IPv4-compatible: an IPv4 address inside
	"2001::/23",       // protocol assignments, Teredo
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4: an IPv4 address inside
	"fec0::/10",       // site-local
)

// prefixes parses networks. It panics on invalid ones, which only a changed table can have.
func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// control rejects connections to addresses that are not allowed. The dialer calls it for each address after
// name resolution, so that a later change of the DNS record has no effect.
func (f *Fetcher) control(_, address string, _ syscall.RawConn) error {
	ip, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return notAllowed("the address is invalid")
	case f.reachable(ip.Addr()):
		return nil
	}
	return notAllowed("the host has an address that is neither public nor in an --allow-url-network")
}

// reachable reports whether connections to an address are allowed. An allowed network overrides all other rules. An
// IPv4 address in IPv6 form counts as IPv4.
func (f *Fetcher) reachable(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	hasAddress := func(network netip.Prefix) bool { return network.Contains(ip) }
	if slices.ContainsFunc(f.options.Networks, hasAddress) {
		return true
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(specialNetworks, hasAddress)
}
