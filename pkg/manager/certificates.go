// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/certificates"
)

// Names of what the self-managed certificate of the webhooks is stored in and published to.
const (
	certificateSecret = Name + "-tls"
	// Those of artifacts/webhooks, and the one that is applied by users that set limits.
	webhookConfiguration      = "groundskeeper"
	resourceSizeConfiguration = "groundskeeper-resource-size"
)

// certificate is where the serving certificate of the webhooks comes from.
type certificate interface {
	GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	// run keeps it until ctx is done; loaded is called when there is one.
	run(ctx context.Context, loaded func())
}

func newCertificate(restConfig *rest.Config, config v1alpha1.CertificatesConfiguration) (certificate, error) {
	if config.Mode == v1alpha1.CertificatesFiles {
		watcher, err := certwatcher.New(config.CertFile, config.KeyFile)
		if err != nil {
			return nil, err
		}
		return files{watcher}, nil
	}
	keeper, err := certificates.New(restConfig, certificates.Options{
		Name: certificateSecret, Namespace: systemNamespace, Hosts: certificates.ServiceHosts(Name, systemNamespace),
		Targets: []certificates.Target{
			certificates.ValidatingWebhooks(webhookConfiguration), certificates.ValidatingWebhooks(resourceSizeConfiguration),
		},
	})
	if err != nil {
		return nil, err
	}
	return selfManaged{keeper}, nil
}

// files are read again when they change, and every ten seconds. A pair that does not fit, as in the moment between two
// writes, is not taken: the one before stays.
type files struct{ *certwatcher.CertWatcher }

func (f files) run(ctx context.Context, loaded func()) {
	loaded()
	if err := f.Start(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Failed to watch the files of the certificate of the webhooks")
	}
}

// selfManaged is issued, published to clients and replaced by Groundskeeper.
type selfManaged struct{ *certificates.Keeper }

func (s selfManaged) run(ctx context.Context, loaded func()) {
	s.OnChange(loaded)
	s.Run(ctx)
}

// etcdName is the name of the etcd of artifacts/install/high-availability, of its Service, and of its members in their
// certificates (--peer-cert-allowed-cn).
const etcdName = "groundskeeper-etcd"

// etcdCertificates returns the certificates of etcd and its clients. Those of clients have no DNS names, because etcd would compare them
// with the address of the client.
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
			{
				Secret: etcdName + "-client-tls", Server: "etcd-client", CommonName: "groundskeeper-apiserver",
				Usages: []x509.ExtKeyUsage{client},
			},
		},
	}
}

// keepEtcdCertificates keeps them on every replica, independent of the leader, and before the Groundskeeper API is served: that
// waits for etcd, and etcd waits for them. The returned function ends it.
func keepEtcdCertificates(
	ctx context.Context, logger logr.Logger, connection v1alpha1.ClientConnectionConfiguration,
) (stop func(), err error) {
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
