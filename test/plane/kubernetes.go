// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names of the processes of the control plane itself.
const (
	etcdName              = "etcd"
	etcdPeerName          = etcdName + peerSuffix // a port only
	kubeAPIServerName     = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
)

// etcdCommand returns the etcd of kube-apiserver. TLS in front of it keeps other users of the machine out.
func (p *Plane) etcdCommand() (command, error) {
	if _, err := p.credentials.etcd.ensure(p.credentials.dir, etcdName, subject{name: etcdName, server: true}); err != nil {
		return command{}, err
	}
	client := p.EtcdEndpoint()
	peer := "https://" + address(p.ports[etcdPeerName])
	ca, cert, key := p.credentials.certificate("etcd-ca"), p.credentials.certificate(etcdName), p.credentials.key(etcdName)
	args := []string{
		"--data-dir=" + filepath.Join(p.dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + ca, "--peer-cert-file=" + cert, "--peer-key-file=" + key,
		"--log-level=warn",
	}
	if !p.options.PlainEtcd {
		args = append(args, "--client-cert-auth", "--trusted-ca-file="+ca, "--cert-file="+cert, "--key-file="+key)
	}
	if p.options.UnsafeNoFsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return command{
		name:    etcdName,
		binary:  p.binary("etcd"),
		args:    args,
		env:     p.kubernetesEnv(),
		inputs:  []string{ca, cert, key},
		address: address(p.ports[etcdName]),
		health:  client + "/readyz",
	}, nil
}

// etcdClientFlags returns the flags with which an API server reaches etcd.
func (p *Plane) etcdClientFlags() []string {
	flags := []string{"--etcd-servers=" + p.EtcdEndpoint()}
	if p.options.PlainEtcd {
		return flags
	}
	return append(flags, p.etcdClientFiles()...)
}

// etcdClientFiles returns the flags with which a client of an etcd of the plane proves who it is.
func (p *Plane) etcdClientFiles() []string {
	c := p.credentials
	return []string{"--etcd-cafile=" + c.certificate("etcd-ca"), "--etcd-certfile=" + c.certificate(etcdClientName), "--etcd-keyfile=" + c.key(etcdClientName)}
}

func (p *Plane) kubeAPIServerCommand() (command, error) {
	c := p.credentials
	serving := subject{name: kubeAPIServerName, server: true, hosts: []string{"kubernetes.default.svc"}, addresses: p.servingAddresses()}
	if _, err := c.cluster.ensure(c.dir, kubeAPIServerName, serving); err != nil {
		return command{}, err
	}
	const frontProxy = "front-proxy-client"
	if _, err := c.frontProxy.ensure(c.dir, frontProxy, subject{name: frontProxy}); err != nil {
		return command{}, err
	}
	args := append(listenFlags(p.kubeAPIServerAddress()), p.etcdClientFlags()...)
	args = append(args,
		"--advertise-address="+p.options.Address,
		"--service-cluster-ip-range="+serviceNetwork,
		"--tls-cert-file="+c.certificate(kubeAPIServerName), "--tls-private-key-file="+c.key(kubeAPIServerName),
		"--client-ca-file="+c.certificate("ca"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.serviceAccountKey, "--service-account-signing-key-file="+c.serviceAccountKey,
		// The aggregator: who it is to the Groundskeeper API servers, and that it resolves the Service to its external name
		// ("localhost") instead of to endpoints, which cannot be on loopback; or to these (Options.Spread).
		"--proxy-client-cert-file="+c.certificate(frontProxy), "--proxy-client-key-file="+c.key(frontProxy),
		"--requestheader-client-ca-file="+c.certificate("front-proxy-ca"), "--requestheader-allowed-names="+frontProxy,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-uid-headers=X-Remote-Uid",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--enable-aggregator-routing="+strconv.FormatBool(p.options.Spread),
	)
	inputs := append(c.pair(kubeAPIServerName), c.pair(frontProxy)...)
	inputs = append(inputs, c.pair(etcdClientName)...)
	if p.options.Node {
		flags, pair, err := p.kubeletClientFlags()
		if err != nil {
			return command{}, err
		}
		args, inputs = append(args, flags...), append(inputs, pair...)
	} else {
		flags, files, err := p.authorizationFlags()
		if err != nil {
			return command{}, err
		}
		args, inputs = append(append(args, flags...), "--endpoint-reconciler-type=none"), append(inputs, files...)
	}
	inputs = append(inputs, c.certificate("ca"), c.certificate("front-proxy-ca"), c.certificate("etcd-ca"), c.serviceAccountKey)
	return command{
		name:    kubeAPIServerName,
		binary:  p.binary(kubeAPIServerName),
		args:    append(args, p.options.KubeAPIServerFlags...),
		env:     p.kubernetesEnv(),
		inputs:  inputs,
		address: p.kubeAPIServerAddress(),
		health:  p.server() + "/readyz",
	}, nil
}

// controllers are those of kube-controller-manager that work on what Groundskeeper makes: without them namespaces stay Terminating,
// owners' deletions leave their dependents and aggregated roles stay empty.
var controllers = []string{
	"namespace-controller",
	"garbage-collector-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"resourcequota-controller",
	"clusterrole-aggregation-controller",
}

func (p *Plane) controllerManagerCommand() (command, error) {
	c := p.credentials
	if _, err := c.cluster.ensure(c.dir, controllerManagerName, subject{name: controllerManagerName, server: true}); err != nil {
		return command{}, err
	}
	kubeconfig, err := p.kubeconfig(controllerManagerName, user{name: "system:kube-controller-manager"})
	if err != nil {
		return command{}, err
	}
	names := slices.Concat(controllers, p.options.KubeControllers)
	if p.options.Node {
		names = append(names, nodeControllers...)
	}
	if p.options.OVN {
		names = append(names, ovnControllers...)
	}
	args := append(listenFlags(address(p.ports[controllerManagerName])),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--tls-cert-file="+c.certificate(controllerManagerName), "--tls-private-key-file="+c.key(controllerManagerName),
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.serviceAccountKey,
		"--controllers="+strings.Join(names, ","),
		// The defaults (20 and 30) would make the time of a test or a benchmark theirs.
		"--kube-api-qps=500", "--kube-api-burst=1000",
	)
	if p.options.Node {
		args = append(args, "--root-ca-file="+c.certificate("ca")) // pods get it
	}
	return command{
		name:    controllerManagerName,
		binary:  p.binary(controllerManagerName),
		args:    append(args, p.options.KubeControllerManagerFlags...),
		env:     p.kubernetesEnv(),
		inputs:  append(c.pair(controllerManagerName), kubeconfig, c.serviceAccountKey, c.certificate("ca")),
		address: address(p.ports[controllerManagerName]),
		health:  "https://" + address(p.ports[controllerManagerName]) + "/healthz",
	}, nil
}

// kubernetesEnv returns the variables of etcd and of the processes of Kubernetes.
func (p *Plane) kubernetesEnv() []string {
	if p.options.GOGC == 0 {
		return nil
	}
	return []string{"GOGC=" + strconv.Itoa(p.options.GOGC)}
}

// groundskeeperEnv returns the variables of Groundskeeper's processes.
func (p *Plane) groundskeeperEnv() []string {
	var env []string
	if !p.options.ShippedGOGC {
		env = p.kubernetesEnv()
	}
	if p.options.FIPS {
		env = append(env, "GODEBUG=fips140=only")
	}
	return env
}

func listenFlags(address string) []string {
	host, number, _ := strings.Cut(address, ":")
	return []string{"--bind-address=" + host, "--secure-port=" + number}
}
