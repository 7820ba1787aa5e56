// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/x509"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/certificates"
)

// etcdName is the name of the etcd of artifacts/install/high-availability, of its Service, and of its members in their
// certificates (--peer-cert-allowed-cn).
const etcdName = "groundskeeper-etcd"

// etcdCertificates are what etcd and its clients prove themselves with. The clients have no names that etcd could look
// for in DNS: it would compare them with where a client comes from.
func etcdCertificates() certificates.IssuerOptions {
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	service := etcdName + "." + systemNamespace + ".svc"
	return certificates.IssuerOptions{
		Name: etcdName + "-ca", Namespace: systemNamespace,
		Leaves: []certificates.Leaf{
			{
				Secret: etcdName + "-tls", Server: "etcd", CommonName: etcdName, Usages: []x509.ExtKeyUsage{server, client},
				Hosts: []string{"*." + service, service, "localhost", "127.0.0.1", "::1"},
			},
			{Secret: etcdName + "-client-tls", Server: "etcd-client", CommonName: "groundskeeper-apiserver", Usages: []x509.ExtKeyUsage{client}},
		},
	}
}

// keepEtcdCertificates keeps them on every replica, independent of the leader, and before the Groundskeeper API is served: that
// waits for etcd, and etcd waits for them. The returned function ends it.
func keepEtcdCertificates(ctx context.Context, logger logr.Logger, connection v1alpha1.ClientConnectionConfiguration) (stop func(), err error) {
	config, err := restConfig(connection)
	if err != nil {
		return nil, err
	}
	issuer, err := certificates.NewIssuer(config, etcdCertificates())
	if err != nil {
		return nil, err
	}
	if err := issuer.Register(metrics.Registry); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, logger))
	var group sync.WaitGroup
	group.Go(func() { issuer.Run(ctx) })
	return func() { cancel(); group.Wait() }, nil
}
