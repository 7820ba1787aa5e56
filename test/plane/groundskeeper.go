// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
)

// Names of Groundskeeper's processes; they are those of the binaries, of the ServiceAccounts and of the Service too.
const (
	apiserverName = "groundskeeper-apiserver"
	managerName   = "groundskeeper-controller-manager"
)

// numbered returns the name of the i-th process of one kind: the first has the plain name.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(i)
}

// webhookPort returns the name of the port on which Groundskeeper's i-th controller manager serves webhooks.
func webhookPort(i int) string { return numbered(managerName, i) + webhookSuffix }

const webhookSuffix = "-webhooks"

// apiserverCommand is Groundskeeper's i-th API server. The first is the one that the APIServices lead to, unless requests are
// spread.
func (p *Plane) apiserverCommand(i int) (command, error) {
	c, name := p.credentials, numbered(apiserverName, i)
	serving := subject{name: apiserverName, server: true, hosts: []string{apiserverName + "." + systemNamespace + ".svc"}}
	if p.options.Spread {
		serving.addresses = []net.IP{net.ParseIP(p.options.spreadAddress)}
	}
	if _, err := c.cluster.ensure(c.dir, apiserverName, serving); err != nil {
		return command{}, err
	}
	kubeconfig, err := p.kubeconfig(apiserverName, serviceAccount(apiserverName))
	if err != nil {
		return command{}, err
	}
	args := append(listenFlags(p.apiserverAddress(i)),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
	)
	inputs := []string{kubeconfig}
	if p.options.SelfManagedCertificates {
		args = append(args, "--self-managed-certificates")
	} else {
		args = append(args, "--tls-cert-file="+c.certificate(apiserverName), "--tls-private-key-file="+c.key(apiserverName))
		inputs = append(inputs, c.pair(apiserverName)...)
	}
	if p.options.SharedEtcd || p.options.EtcdMembers > 0 {
		args = append(args, p.storeFlags()...)
		inputs = append(append(inputs, c.pair(etcdClientName)...), c.certificate("etcd-ca"))
	} else {
		args = append(args, "--embedded-etcd-dir="+p.EmbeddedEtcdDir(i))
		if p.options.UnsafeNoFsync {
			args = append(args, "--embedded-etcd-unsafe-no-fsync")
		}
	}
	return command{
		name:    name,
		binary:  p.binary(apiserverName),
		args:    append(args, p.options.APIServerFlags...),
		env:     p.groundskeeperEnv(),
		inputs:  inputs,
		address: p.apiserverAddress(i),
		health:  "https://" + p.apiserverAddress(i) + "/readyz",
	}, nil
}

// EmbeddedEtcdDir returns the directory in which Groundskeeper's i-th API server keeps its objects when it has a dedicated etcd.
func (p *Plane) EmbeddedEtcdDir(i int) string {
	return filepath.Join(p.dir, numbered("groundskeeper-etcd", i))
}

// managerCommand is Groundskeeper's i-th controller manager.
func (p *Plane) managerCommand(i int) (command, error) {
	name := numbered(managerName, i)
	kubeconfig, err := p.kubeconfig(managerName, serviceAccount(managerName))
	if err != nil {
		return command{}, err
	}
	args := []string{"--kubeconfig=" + kubeconfig, "--health-address=" + address(p.ports[name]), "--webhook-address=" + address(p.ports[webhookPort(i)])}
	inputs := []string{kubeconfig}
	config, err := p.managerConfig()
	if err != nil {
		return command{}, fmt.Errorf("configuration of %s: %w", name, err)
	}
	if config != "" {
		args, inputs = append(args, "--config="+config), append(inputs, config)
	}
	return command{
		name:    name,
		binary:  p.binary(managerName),
		args:    append(args, p.options.ManagerFlags...),
		env:     p.groundskeeperEnv(),
		inputs:  inputs,
		address: address(p.ports[name]),
		health:  "http://" + address(p.ports[name]) + "/readyz",
	}, nil
}
