// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/client-go/rest"
)

// Config returns the configuration of an administrator's client (group system:masters).
func (p *Plane) Config() *rest.Config {
	return clientConfig(p.server(), p.credentials.cluster.pem, p.admin)
}

// AdminKubeconfig returns the path of the administrator's kubeconfig.
func (p *Plane) AdminKubeconfig() string { return filepath.Join(p.dir, "admin.kubeconfig") }

// ConfigFor returns the configuration of a client with a certificate for that user in those groups.
func (p *Plane) ConfigFor(name string, groups ...string) (*rest.Config, error) {
	pair, err := p.credentials.cluster.issue(subject{name: name, groups: groups})
	if err != nil {
		return nil, err
	}
	return clientConfig(p.server(), p.credentials.cluster.pem, pair), nil
}

// KubeconfigFor writes a kubeconfig with a certificate for that user in those groups to the path.
func (p *Plane) KubeconfigFor(path, name string, groups ...string) error {
	pair, err := p.credentials.cluster.issue(subject{name: name, groups: groups})
	if err != nil {
		return err
	}
	return writeKubeconfig(path, p.server(), name, p.credentials.cluster.pem, pair)
}

// DirectConfig returns the configuration of an administrator's client that reaches Groundskeeper's i-th API server without the
// aggregator.
func (p *Plane) DirectConfig(i int) *rest.Config {
	return clientConfig("https://"+p.APIServers[i].Address(), p.credentials.cluster.pem, p.admin)
}

// CA returns the certificate of the CA of all clients and servers, in PEM.
func (p *Plane) CA() []byte { return slices.Clone(p.credentials.cluster.pem) }

// EtcdEndpoint returns the URL of the plane's etcd.
func (p *Plane) EtcdEndpoint() string {
	scheme := "https"
	if p.options.PlainEtcd {
		scheme = "http"
	}
	return scheme + "://" + address(p.ports[etcdName])
}

// EtcdTLS returns the TLS configuration of a client of the plane's etcd.
func (p *Plane) EtcdTLS() *tls.Config { return p.etcdTLS.Clone() }

// Processes returns the handles of all processes, in the order of their start.
func (p *Plane) Processes() []*Process {
	servers := append([]*Process{p.Node, p.Etcd, p.KubeAPIServer}, p.EtcdMembers...)
	servers = append(servers, p.APIServers...)
	servers = append(servers, p.KubeControllerManager, p.Scheduler, p.MidoNet, p.OVN)
	servers = append(servers, p.Managers...)
	return slices.DeleteFunc(servers, func(process *Process) bool { return process == nil })
}

// Address returns the address that kube-apiserver listens on. With a node it is the host's on its link, and another
// plane that is given it (Options.Address) is reached by the pods, too.
func (p *Plane) Address() string { return p.options.Address }

// Dir returns the directory of the plane.
func (p *Plane) Dir() string { return p.dir }

// Kubectl returns the path of kubectl.
func (p *Plane) Kubectl() string { return p.binary("kubectl") }

// kubeconfig returns the path of the kubeconfig of one of the plane's own processes.
func (p *Plane) kubeconfig(name string, u user) (string, error) {
	c := p.credentials
	pair, err := c.cluster.ensure(c.dir, name+"-client", subject{name: u.name, groups: u.groups})
	if err != nil {
		return "", fmt.Errorf("client certificate of %s: %w", name, err)
	}
	path := filepath.Join(p.dir, "kubeconfigs", name+".kubeconfig")
	return path, writeKubeconfig(path, p.server(), u.name, c.cluster.pem, pair)
}
