// Package netguard fetches without reaching inside: its dialler connects to public addresses only, whatever a name, a
// redirect or a proxy setting would lead to. The judgement of a URL's text is for consent; this is what holds.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"paragents/core/policy/web"
)

// ErrInside is returned, wrapped, for an address or name that does not belong to the public internet.
var ErrInside = errors.New("the address is not public")

// dialTime bounds one attempt to connect.
const dialTime = 10 * time.Second

// Dialer connects to public addresses. The zero value is ready to use; a Dialer is safe for concurrent use.
type Dialer struct {
	// Except are networks that may be reached although they are not public: those that the operator names by
	// WebFetch(net:…).
	Except []netip.Prefix
	// Lookup resolves a name; nil means the system's resolver. It is asked once a connection.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Connect connects to an address that has passed; nil means TCP. Tests replace it.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// DialContext connects over TCP. The name is resolved once, it is refused if any of its addresses is not public, and the
// addresses that were looked at are the ones that are connected to, in order.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, fmt.Errorf("dial %s: network %s is refused", address, network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	addrs, err := d.addresses(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	for _, a := range addrs {
		if !d.may(a) {
			return nil, fmt.Errorf("dial %s: %s: %w", address, a, ErrInside)
		}
	}
	connect := d.Connect
	if connect == nil {
		connect = d.tcp
	}
	var last error
	for _, a := range addrs {
		conn, err := connect(ctx, netip.AddrPortFrom(a, uint16(number)))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, fmt.Errorf("dial %s: %w", address, last)
}

// addresses resolves a host as the web means it: the text of an address is one in whatever form it is written.
func (d *Dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	name, addr, err := web.Host(host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInside, err)
	}
	if addr.IsValid() {
		return []netip.Addr{addr}, nil
	}
	lookup := d.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	addrs, err := lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("the name %s has no address", name)
	}
	return addrs, nil
}

func (d *Dialer) may(a netip.Addr) bool {
	inner := web.Unwrap(a)
	for _, p := range d.Except {
		if p.Contains(inner) {
			return true
		}
	}
	return web.Public(a)
}

// tcp connects, and looks at the address once more when the socket is about to use it.
func (d *Dialer) tcp(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout: dialTime,
		Control: func(network, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if (network != "tcp4" && network != "tcp6") || !d.may(at.Addr()) {
				return fmt.Errorf("%s: %w", address, ErrInside)
			}
			return nil
		},
	}
	return dialer.DialContext(ctx, "tcp", to.String())
}
