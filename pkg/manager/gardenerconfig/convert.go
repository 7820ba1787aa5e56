// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gardenerconfig

import (
	"fmt"
	"path/filepath"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/configfile"
)

func (f *File) connection(c *configuration) error {
	const own, newer, older = "clientConnection", "gardenClientConnection", "clientConnection"
	theirs, err := either(f, own, newer, c.GardenClientConnection, older, c.ClientConnection)
	if err != nil || theirs == nil {
		return err
	}
	name := newer
	if theirs == c.ClientConnection {
		name = older
	}
	f.Config.ClientConnection = v1alpha1.ClientConnectionConfiguration{
		Kubeconfig: theirs.Kubeconfig, QPS: set(theirs.QPS), Burst: set(theirs.Burst),
	}
	f.ignore(name+".acceptContentTypes", theirs.AcceptContentTypes)
	f.ignore(name+".contentType", theirs.ContentType)
	return nil
}

func (f *File) election(c *configuration) error {
	theirs := c.LeaderElection
	if theirs == nil {
		return nil
	}
	f.Config.LeaderElection = v1alpha1.LeaderElectionConfiguration{
		LeaderElect:       theirs.LeaderElect,
		ResourceNamespace: theirs.ResourceNamespace, ResourceName: theirs.ResourceName,
		LeaseDuration: theirs.LeaseDuration, RenewDeadline: theirs.RenewDeadline, RetryPeriod: theirs.RetryPeriod,
	}
	// Locks of other kinds have been removed from Kubernetes' libraries.
	if theirs.ResourceLock != "" && theirs.ResourceLock != "leases" {
		f.Ignored = append(f.Ignored, "leaderElection.resourceLock")
	}
	return nil
}

func (f *File) log(c *configuration) error {
	f.rename("log.level", "logLevel")
	f.rename("log.format", "logFormat")
	f.Config.Log = v1alpha1.LogConfiguration{Level: v1alpha1.LogLevel(c.LogLevel), Format: v1alpha1.LogFormat(c.LogFormat)}
	return nil
}

func (f *File) project(c *configuration) error {
	raw, ok := c.Controllers["project"]
	if !ok || string(raw) == "null" {
		return nil
	}
	theirs, err := configfile.DecodeField[project](raw, f.lines, "controllers.project")
	if err != nil {
		return err
	}
	f.Config.Controllers.Project = v1alpha1.ProjectControllerConfiguration{
		MinimumLifetimeDays: theirs.MinimumLifetimeDays, StaleGracePeriodDays: theirs.StaleGracePeriodDays,
		StaleExpirationTimeDays: theirs.StaleExpirationTimeDays, StaleSyncPeriod: theirs.StaleSyncPeriod,
		Quotas: theirs.Quotas,
	}
	if n := theirs.ConcurrentSyncs; n != nil {
		f.Config.Controllers.Project.ConcurrentSyncs = set(*n)
	}
	return nil
}

func (f *File) server(c *configuration) error {
	theirs := c.Server
	if theirs == nil {
		return nil
	}
	health, err := either(f, "server.health", "server.healthProbes", theirs.HealthProbes, "server.http", theirs.HTTP)
	if err != nil {
		return err
	}
	if health != nil {
		f.Config.Server.Health = health.convert()
	}
	f.resourceSize(theirs.ResourceAdmissionConfiguration)
	prefix := "server.webhooks"
	if theirs.HTTPS != nil {
		prefix = "server.https"
	}
	f.rename("server.webhooks.certificates.certFile", prefix+".tls.serverCertPath")
	f.rename("server.webhooks.certificates.keyFile", prefix+".tls.serverKeyPath")
	webhooks, err := either(f, "server.webhooks", "server.webhooks", theirs.Webhooks, "server.https", theirs.HTTPS)
	if err != nil {
		return err
	}
	if webhooks != nil {
		f.Config.Server.Webhooks.AddressConfiguration = webhooks.convert()
		if f.Config.Server.Webhooks.Certificates, err = webhooks.TLS.convert(); err != nil {
			return f.lines.At(prefix+".tls", fmt.Errorf("%s.tls: %w", prefix, err))
		}
	}
	f.ignore("server.metrics", theirs.Metrics)
	f.ignore("server.enableDebugHandlers", theirs.EnableDebugHandlers)
	return nil
}

func (a address) convert() v1alpha1.AddressConfiguration {
	return v1alpha1.AddressConfiguration{BindAddress: a.BindAddress, Port: set(a.Port)}
}

func (t tlsServer) convert() (v1alpha1.CertificatesConfiguration, error) {
	certificates := v1alpha1.CertificatesConfiguration{CertFile: t.ServerCertPath, KeyFile: t.ServerKeyPath}
	if t.ServerCertDir != "" {
		if t.ServerCertPath != "" || t.ServerKeyPath != "" {
			return certificates, fmt.Errorf("serverCertDir cannot be combined with serverCertPath or serverKeyPath")
		}
		certificates.CertFile, certificates.KeyFile = filepath.Join(t.ServerCertDir, "tls.crt"), filepath.Join(t.ServerCertDir, "tls.key")
	}
	if certificates.CertFile != "" || certificates.KeyFile != "" {
		certificates.Mode = v1alpha1.CertificatesFiles
	}
	return certificates, nil
}

// resourceSize converts server.resourceAdmissionConfiguration; its modes are those of Groundskeeper in lower case.
func (f *File) resourceSize(theirs *resourceAdmission) {
	if theirs == nil {
		return
	}
	const own, name = "server.webhooks.resourceSize", "server.resourceAdmissionConfiguration"
	f.rename(own+".mode", name+".operationMode")
	f.rename(own, name)
	mode := v1alpha1.ResourceSizeMode(theirs.OperationMode)
	switch theirs.OperationMode {
	case "block":
		mode = v1alpha1.ResourceSizeBlock
	case "log":
		mode = v1alpha1.ResourceSizeLog
	}
	f.Config.Server.Webhooks.ResourceSize = v1alpha1.ResourceSizeConfiguration{Mode: mode, UnrestrictedSubjects: theirs.UnrestrictedSubjects}
	for _, limit := range theirs.Limits {
		f.Config.Server.Webhooks.ResourceSize.Limits = append(f.Config.Server.Webhooks.ResourceSize.Limits, v1alpha1.ResourceLimit(limit))
	}
}
