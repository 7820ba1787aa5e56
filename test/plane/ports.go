// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Ports are taken from below the range from which systems take the ports of outgoing connections, so that
// a remembered port is seldom taken when its process is started again.
const (
	firstPort = 20000
	lastPort  = 29999
)

// loopback is the address that every process of a plane listens on.
const loopback = "127.0.0.1"

// FreePort returns a port of loopback that no client listens on, and that no plane and no other caller on this machine is given as
// long as this process lives.
func FreePort() (int, error) { return pickPort(nil) }

// pickPort returns a port that is free, not among the taken ones, and reserved for this process.
func pickPort(taken map[int]bool) (int, error) {
	dir := filepath.Join(os.TempDir(), "groundskeeper-ports-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if taken[port] || !portFree(port) {
			continue
		}
		reserved, err := reserve(dir, port)
		if err != nil {
			return 0, err
		}
		if reserved {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d on %s", firstPort, lastPort, loopback)
}

// reserve locks the file of a port until this process ends, and reports whether no other client had. Between the choice of a port
// and the start of the process that listens there, another plane, here or in another process, would find it free.
func reserve(dir string, port int) (bool, error) {
	file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close() //nolint:errcheck // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return false, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	reservations.Store(port, file)
	return true, nil
}

// reservations keep the locked files open: an *os.File that no client refers to is closed by the garbage collector.
var reservations sync.Map

// portFree reports whether a process could listen on the port. The aggregator reaches Groundskeeper's API server as "localhost",
// which may mean ::1 first: a port that another process has there is not free.
func portFree(port int) bool {
	for _, host := range []string{loopback, "::1"} {
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		switch {
		case err == nil:
			listener.Close() //nolint:errcheck // it was opened only to see that it can be
		case errors.Is(err, syscall.EADDRINUSE) || host == loopback:
			return false
		}
	}
	return true
}

// assignPorts gives each name a port: the remembered one while its process runs or the port is free, else
// another one.
func assignPorts(names []string, remembered map[string]int, running func(name string) bool) (map[string]int, error) {
	ports, taken := make(map[string]int, len(names)), map[int]bool{}
	for _, name := range names {
		if port := remembered[name]; port != 0 && !taken[port] && (running(name) || portFree(port)) {
			ports[name], taken[port] = port, true
		}
	}
	for _, name := range names {
		if ports[name] != 0 {
			continue
		}
		port, err := pickPort(taken)
		if err != nil {
			return nil, fmt.Errorf("cannot find a port for %s: %w", name, err)
		}
		ports[name], taken[port] = port, true
	}
	return ports, nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// portNames returns the names of all ports of the plane: those of processes, except for etcd's second one and webhooks.
func (p *Plane) portNames() []string {
	names := []string{etcdName, etcdPeerName, kubeAPIServerName, controllerManagerName}
	for i := range p.options.EtcdMembers {
		names = append(names, numbered(memberName, i), numbered(memberName, i)+peerSuffix)
	}
	for i := range p.options.APIServers {
		names = append(names, numbered(apiserverName, i))
	}
	for i := range p.options.Managers {
		names = append(names, numbered(managerName, i), webhookPort(i))
	}
	if p.options.MidoNet {
		names = append(names, midonetName)
	}
	if p.options.OVN {
		names = append(names, ovnName)
	}
	if p.options.Node {
		names = append(names, nodeProcessName, schedulerName)
	}
	return names
}

// owns reports whether the process that the port was given to still runs.
func (p *Plane) owns(port string) bool {
	port = strings.TrimSuffix(strings.TrimSuffix(port, webhookSuffix), peerSuffix) // it has the process of its owner
	return p.state.running(port)
}
