// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

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
		Targets: []certificates.Target{certificates.ValidatingWebhooks(webhookConfiguration), certificates.ValidatingWebhooks(resourceSizeConfiguration)},
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
