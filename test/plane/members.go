// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"path/filepath"
	"strings"
)

// memberName is the name of the members of the etcd that is the Groundskeeper API servers' own.
const memberName = "groundskeeper-etcd"

// peerSuffix ends the name of the port on which a member of an etcd talks to the others.
const peerSuffix = "-peer"

// memberCommand returns the i-th member of the Groundskeeper API servers' own etcd.
func (p *Plane) memberCommand(i int) (command, error) {
	c := p.credentials
	if _, err := c.etcd.ensure(c.dir, memberName, subject{name: memberName, server: true}); err != nil {
		return command{}, err
	}
	name := numbered(memberName, i)
	client, peer := "https://"+address(p.ports[name]), "https://"+address(p.ports[name+peerSuffix])
	ca, cert, key := c.certificate("etcd-ca"), c.certificate(memberName), c.key(memberName)
	args := []string{
		"--name=" + name,
		"--data-dir=" + filepath.Join(p.dir, "members", name),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + p.initialCluster(),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + ca, "--peer-cert-file=" + cert, "--peer-key-file=" + key,
		"--client-cert-auth", "--trusted-ca-file=" + ca, "--cert-file=" + cert, "--key-file=" + key,
		"--log-level=warn",
	}
	if p.options.UnsafeNoFsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return command{
		name:    name,
		binary:  p.binary(etcdName),
		args:    args,
		inputs:  []string{ca, cert, key},
		address: address(p.ports[name]),
		health:  client + "/readyz",
	}, nil
}

// initialCluster names every member and where the others reach it.
func (p *Plane) initialCluster() string {
	var members []string
	for i := range p.options.EtcdMembers {
		name := numbered(memberName, i)
		members = append(members, name+"=https://"+address(p.ports[name+peerSuffix]))
	}
	return strings.Join(members, ",")
}

// startMembers starts all members before it waits for any: one alone is never ready.
func (p *Plane) startMembers(ctx context.Context) error {
	var begun []*beginning
	for i := range p.options.EtcdMembers {
		b, err := p.begin(ctx, func() (command, error) { return p.memberCommand(i) })
		if err != nil {
			return err
		}
		begun = append(begun, b)
	}
	for _, b := range begun {
		if err := p.await(ctx, b); err != nil {
			return err
		}
		p.EtcdMembers = append(p.EtcdMembers, b.process)
	}
	return nil
}

// MemberEndpoints returns the URLs of the members of the Groundskeeper API servers' own etcd. Plane.EtcdTLS is for them, too.
func (p *Plane) MemberEndpoints() []string {
	var endpoints []string
	for i := range p.options.EtcdMembers {
		endpoints = append(endpoints, "https://"+address(p.ports[numbered(memberName, i)]))
	}
	return endpoints
}

// storeFlags returns the flags with which the Groundskeeper API servers reach their etcd.
func (p *Plane) storeFlags() []string {
	if p.options.EtcdMembers == 0 {
		return p.etcdClientFlags()
	}
	return append(p.etcdClientFiles(), "--etcd-servers="+strings.Join(p.MemberEndpoints(), ","))
}
