// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// Names of the clients of Groundskeeper's.
const (
	adminName      = "admin"
	etcdClientName = "etcd-client"
)

// Plane is a running control plane.
type Plane struct {
	// The processes. Those owned by Groundskeeper are as many as the options requested.
	Etcd, KubeAPIServer, KubeControllerManager *Process
	// Node and Scheduler are nil when the options did not request a node.
	Node, Scheduler      *Process
	APIServers, Managers []*Process
	// EtcdMembers are those of the Groundskeeper API servers' own etcd.
	EtcdMembers []*Process
	// MidoNet is the fake of MidoNet, nil when the options did not request it.
	MidoNet *Process
	// OVN is OVN with its nodes, nil when the options did not request it.
	OVN *Process

	options     Options
	dir         string
	state       *state
	ports       map[string]int
	credentials *credentials
	admin       keyPair
	etcdTLS     *tls.Config
	prober      *http.Client

	// followers report of the readiness of the Groundskeeper API servers until unfollow is called; nil when there is none.
	followers sync.WaitGroup
	unfollow  context.CancelFunc
}

// Start makes everything that the options request run and returns when it is ready: what runs already, in that directory and in
// that form, remains unchanged. The caller stops the plane (Plane.Stop).
func Start(ctx context.Context, options Options) (*Plane, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	p := &Plane{options: options, dir: options.Dir}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if options.Detached { // others are recreated, and have nothing to lose
		if err := p.checkSettings(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.start(ctx); err != nil {
		if !options.Detached {
			if stopErr := p.Stop(context.WithoutCancel(ctx)); stopErr != nil {
				return nil, fmt.Errorf("%w; after it: %w", err, stopErr)
			}
		}
		return nil, err
	}
	return p, nil
}

// prepare makes the directory, the ports and the credentials.
func (p *Plane) prepare() error {
	var err error
	if p.state, err = loadState(p.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if p.state.Ports == nil { // before anything else, the state marks the directory as Groundskeeper's
		if err := p.state.setPorts(map[string]int{}); err != nil {
			return err
		}
	}
	for _, dir := range []string{logDir(p.dir), filepath.Join(p.dir, "kubeconfigs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if p.options.Node {
		if err := p.assignNetwork(); err != nil {
			return err
		}
	}
	if p.ports, err = assignPorts(p.portNames(), p.state.Ports, p.owns); err != nil {
		return err
	}
	if err := p.state.setPorts(p.ports); err != nil {
		return err
	}
	if p.credentials, err = loadCredentials(pkiDir(p.dir)); err != nil {
		return err
	}
	c := p.credentials
	if _, err = c.etcd.ensure(c.dir, etcdClientName, subject{name: etcdClientName}); err != nil {
		return err
	}
	if p.admin, err = c.cluster.ensure(c.dir, adminName, subject{name: adminName, groups: []string{"system:masters"}}); err != nil {
		return err
	}
	if p.etcdTLS, err = clientTLS(c.dir, map[string]string{"etcd-ca": etcdClientName}); err != nil {
		return err
	}
	if p.prober, err = newProber(c.dir, p.options.SelfManagedCertificates); err != nil {
		return err
	}
	return writeKubeconfig(p.AdminKubeconfig(), p.server(), adminName, c.cluster.pem, p.admin)
}

// start brings the processes up in the order in which they need each other, servers before their clients.
func (p *Plane) start(ctx context.Context) (err error) {
	if err := p.stopForeign(ctx); err != nil {
		return err
	}
	if p.options.Node { // kube-apiserver listens on its link
		if p.Node, err = p.run(ctx, p.nodeCommand); err != nil {
			return err
		}
	}
	if p.Etcd, err = p.run(ctx, p.etcdCommand); err != nil {
		return err
	}
	if p.KubeAPIServer, err = p.run(ctx, p.kubeAPIServerCommand); err != nil {
		return err
	}
	if p.options.APIServers > 0 {
		if err := p.prepareCluster(ctx); err != nil {
			return err
		}
		if err := p.startMembers(ctx); err != nil {
			return err
		}
		if p.APIServers, err = p.runAll(ctx, p.options.APIServers, p.apiserverCommand); err != nil {
			return err
		}
		if err := p.register(ctx); err != nil {
			return err
		}
	}
	// Started before Groundskeeper's managers only: its garbage collector discovers new kinds only every half minute.
	if p.KubeControllerManager, err = p.run(ctx, p.controllerManagerCommand); err != nil {
		return err
	}
	if p.options.Node {
		if p.Scheduler, err = p.run(ctx, p.schedulerCommand); err != nil {
			return err
		}
	}
	if p.options.MidoNet {
		if p.MidoNet, err = p.run(ctx, p.midonetCommand); err != nil {
			return err
		}
	}
	if p.options.OVN {
		if p.OVN, err = p.run(ctx, p.ovnCommand); err != nil {
			return err
		}
	}
	if p.Managers, err = p.runAll(ctx, p.options.Managers, p.managerCommand); err != nil {
		return err
	}
	if p.options.Webhooks {
		if err := p.registerWebhooks(ctx); err != nil {
			return err
		}
	}
	if p.options.Node {
		return p.waitNode(ctx)
	}
	return nil
}

// stopForeign stops and discards processes that an earlier plane of the directory had and this one has not.
func (p *Plane) stopForeign(ctx context.Context) error {
	wanted := p.portNames()
	foreign := func(r record) bool { return !slices.Contains(wanted, r.Name) }
	if err := p.state.stop(ctx, p.dir, p.options.Progress, foreign); err != nil {
		return err
	}
	return p.state.remove(foreign)
}

// Stop ends all processes, the last started first. The data stays.
func (p *Plane) Stop(ctx context.Context) error {
	if p.unfollow != nil {
		p.unfollow()
		p.followers.Wait()
	}
	return p.state.stop(ctx, p.dir, p.options.Progress, func(record) bool { return true })
}

func (p *Plane) binary(name string) string { return filepath.Join(p.options.BinDir, name) }

func (p *Plane) server() string { return "https://" + p.kubeAPIServerAddress() }

func (p *Plane) kubeAPIServerAddress() string {
	return net.JoinHostPort(p.options.Address, strconv.Itoa(p.ports[kubeAPIServerName]))
}
