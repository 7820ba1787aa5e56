// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/cert"

	"groundskeeper.io/groundskeeper/pkg/apiserver/hostprobe"
	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
	"groundskeeper.io/groundskeeper/pkg/policyparams"
	"groundskeeper.io/groundskeeper/pkg/statusz"
)

// statusPath is Groundskeeper's page; the library has its own, /statusz, with versions and paths.
const statusPath = "/statusz/groundskeeper"

// policiesTimeout bounds how long the page waits for the kube-apiserver.
const policiesTimeout = 5 * time.Second

// status is the content of the page. It has no names of objects and no credentials.
type status struct {
	statusz.Component
	Kubernetes  kubernetesStatus  `json:"kubernetes"`
	Store       storeStatus       `json:"store"`
	Certificate certificateStatus `json:"certificate"`
	Admission   admissionStatus   `json:"admission"`
	// DisabledFeatures are other features that are disabled, and why.
	DisabledFeatures []disabledStatus `json:"disabledFeatures"`
}

// kubernetesStatus has the versions that determine the feature gates.
type kubernetesStatus struct {
	BinaryVersion    string `json:"binaryVersion"`
	EmulationVersion string `json:"emulationVersion"`
}

type storeStatus struct {
	// ID and Revision are the identity that the cluster recorded. They are empty without a management cluster.
	ID       string `json:"id,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Etcd are the servers, or the directory of the one in this process.
	Etcd       string `json:"etcd"`
	Embedded   bool   `json:"embedded"`
	Prefix     string `json:"prefix"`
	Encryption string `json:"encryption"`
}

type certificateStatus struct {
	// Source is self-managed, the path of a file, or generated at startup.
	Source   string   `json:"source"`
	Names    []string `json:"names,omitempty"`
	NotAfter string   `json:"notAfter,omitempty"`
}

type admissionStatus struct {
	Enabled  []string         `json:"enabled"`
	Disabled []disabledStatus `json:"disabled"`
	// Policies are those that reject every request, because this server is not allowed to read their parameters.
	Policies []policyparams.Problem `json:"policies,omitempty"`
}

type disabledStatus struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// diagnosis has the data of the page, which is collected while the server starts.
type diagnosis struct {
	started  time.Time
	now      func() time.Time
	options  *Options
	disabled []hostprobe.Disabled
	// recorder has the identity of the store. It is nil without a management cluster.
	recorder *storeidentity.Recorder
	// host is the kube-apiserver of the management cluster, or nil.
	host kubernetes.Interface
}

// serve adds the page to a server.
func (d *diagnosis) serve(server *genericapiserver.GenericAPIServer) {
	server.Handler.NonGoRestfulMux.Handle(statusPath, statusz.Handler(func() any { return d.page(server) }))
}

func (d *diagnosis) page(server *genericapiserver.GenericAPIServer) any {
	page := status{Component: statusz.NewComponent(componentName, d.started, d.now()), Store: d.store(), DisabledFeatures: []disabledStatus{}}
	page.Kubernetes = kubernetesStatus{BinaryVersion: server.EffectiveVersion.BinaryVersion().String(),
		EmulationVersion: server.EffectiveVersion.EmulationVersion().String()}
	if cert := server.SecureServingInfo.Cert; cert != nil {
		page.Certificate.Names, page.Certificate.NotAfter = describe(cert.CurrentCertKeyContent())
	}
	o := d.options
	switch {
	case o.SelfManagedCertificates:
		page.Certificate.Source = "self-managed"
	case o.SecureServing.ServerCert.CertKey.CertFile != "":
		page.Certificate.Source = o.SecureServing.ServerCert.CertKey.CertFile
	default:
		page.Certificate.Source = "generated at startup"
	}
	page.Admission = d.admission()
	page.Admission.Policies = d.policies()
	for _, feature := range d.disabled {
		if feature.Name == hostprobe.PriorityAndFairness {
			page.DisabledFeatures = append(page.DisabledFeatures, disabledStatus{feature.Name, feature.Reason})
		}
	}
	return page
}

func (d *diagnosis) store() storeStatus {
	o := d.options
	s := storeStatus{
		Etcd: strings.Join(o.Etcd.StorageConfig.Transport.ServerList, ","), Embedded: o.EmbeddedEtcdDir != "",
		Prefix: o.Etcd.StorageConfig.Prefix, Encryption: cmp.Or(o.Etcd.EncryptionProviderConfigFilepath, "none"),
	}
	if s.Embedded {
		s.Etcd = o.EmbeddedEtcdDir
	}
	if d.recorder != nil {
		known := d.recorder.Known()
		s.ID, s.Revision = known.ID, known.Revision
	}
	return s
}

// admission reports which plugins are enabled, and why the others are not.
func (d *diagnosis) admission() admissionStatus {
	page := admissionStatus{Enabled: []string{}, Disabled: []disabledStatus{}}
	o := d.options
	for _, name := range o.Admission.RecommendedPluginOrder {
		reason := ""
		switch i := slices.IndexFunc(d.disabled, func(f hostprobe.Disabled) bool { return f.Name == name }); {
		case i >= 0:
			reason = d.disabled[i].Reason
		case o.Standalone:
			reason = "--standalone"
		case slices.Contains(o.Admission.DisablePlugins, name) && !slices.Contains(o.Admission.EnablePlugins, name):
			reason = "--disable-admission-plugins"
		}
		if reason != "" {
			page.Disabled = append(page.Disabled, disabledStatus{name, reason})
			continue
		}
		page.Enabled = append(page.Enabled, name)
	}
	return page
}

// policies returns the policies whose parameters this server cannot read, or a problem that explains why this is unknown.
func (d *diagnosis) policies() []policyparams.Problem {
	if d.host == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), policiesTimeout)
	defer cancel()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d.host.Discovery()))
	problems, err := policyparams.Find(ctx, d.host, mapper, policyparams.Self(d.host))
	if err != nil {
		return []policyparams.Problem{{Policy: "unknown", Reason: err.Error()}}
	}
	return problems
}

// describe returns the names in a certificate and its expiry.
func describe(certificate, _ []byte) (names []string, notAfter string) {
	parsed, err := cert.ParseCertsPEM(certificate)
	if err != nil {
		return nil, ""
	}
	return parsed[0].DNSNames, parsed[0].NotAfter.UTC().Format(time.RFC3339)
}
