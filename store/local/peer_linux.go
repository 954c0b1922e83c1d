package local

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// checkPeer refuses a process of another user at the other end.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if own := os.Getuid(); int(peer.Uid) != own {
		return fmt.Errorf("the process at the other end of the socket belongs to user %d, not %d", peer.Uid, own)
	}
	return nil
}
