package web

import "net/netip"

// special lists the networks that are not the public internet and that netip does not know by a method.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),   // shared address space of providers
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarking
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
}

// global is the part of IPv6 that is handed out; within it some networks are special.
var (
	global   = netip.MustParsePrefix("2000::/3")
	special6 = []netip.Prefix{
		netip.MustParsePrefix("2001::/23"),     // protocol assignments, Teredo, benchmarking, ORCHID
		netip.MustParsePrefix("2001:db8::/32"), // documentation
		netip.MustParsePrefix("3fff::/20"),     // documentation
		netip.MustParsePrefix("5f00::/16"),     // segment routing
	}
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
	nat64loc = netip.MustParsePrefix("64:ff9b:1::/48")
	sixto4   = netip.MustParsePrefix("2002::/16")
	compat   = netip.MustParsePrefix("::/96")
)

// Unwrap returns the IPv4 address inside an IPv6 one (mapped, compatible, NAT64, 6to4), or the address itself.
func Unwrap(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is4() {
		return a
	}
	b := a.As16()
	switch {
	case nat64.Contains(a), compat.Contains(a) && a != netip.IPv6Loopback() && a != netip.IPv6Unspecified():
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixto4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// Public reports whether an address belongs to the public internet, whatever it is wrapped in.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = Unwrap(a)
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() {
		return false
	}
	if a.Is4() {
		return !within(special, a)
	}
	return global.Contains(a) && !nat64loc.Contains(a) && !within(special6, a)
}

func within(nets []netip.Prefix, a netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(a) {
			return true
		}
	}
	return false
}
