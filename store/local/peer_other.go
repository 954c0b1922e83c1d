//go:build !linux

package local

import "net"

// checkPeer leaves it to the modes of the socket and its folder, which let only the same user in.
func checkPeer(*net.UnixConn) error { return nil }
