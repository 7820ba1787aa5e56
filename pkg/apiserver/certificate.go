// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
	"groundskeeper.io/groundskeeper/pkg/certificates"
)

// certificateTimeout is how long the start waits for a certificate.
const certificateTimeout = 30 * time.Second

// servingCertificate gives the library the certificate that a Keeper keeps.
type servingCertificate struct{ *certificates.Keeper }

var _ dynamiccertificates.CertKeyContentProvider = servingCertificate{}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (servingCertificate) Name() string { return "self-managed" }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (s servingCertificate) CurrentCertKeyContent() (certificate, key []byte) { return s.Current() }

// AddListener implements dynamiccertificates.Notifier.
func (s servingCertificate) AddListener(listener dynamiccertificates.Listener) {
	s.OnChange(listener.Enqueue)
}

// keepCertificate makes or finds the certificate, before the port is opened, and keeps it until the server has drained.
func (o *Options) keepCertificate(ctx context.Context) (stop func(), err error) {
	config, err := HostConfig(o.CoreAPI.CoreAPIKubeconfigPath)
	if err != nil {
		return nil, err
	}
	served, err := o.served()
	if err != nil {
		return nil, err
	}
	keeper, err := certificates.New(config, certificates.Options{
		Name: componentName + "-tls", Namespace: storeidentity.Namespace,
		Hosts:   certificates.ServiceHosts(componentName, storeidentity.Namespace),
		Targets: registrations(served),
	})
	if err != nil {
		return nil, err
	}
	ctx = logr.NewContext(ctx, klog.Background())
	preparing, cancel := context.WithTimeout(ctx, certificateTimeout)
	defer cancel()
	if err := keeper.Prepare(preparing); err != nil {
		return nil, fmt.Errorf("cannot keep a certificate (--self-managed-certificates): %w", err)
	}
	o.SecureServing.ServerCert.GeneratedCert = servingCertificate{keeper}
	return whileDraining(ctx, keeper.Run), nil
}

// registrations returns the APIServices of group versions.
func registrations(versions []schema.GroupVersion) []certificates.Target {
	targets := make([]certificates.Target, 0, len(versions))
	for _, version := range versions {
		targets = append(targets, certificates.APIService(version.Version+"."+version.Group))
	}
	return targets
}
