// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"groundskeeper.io/groundskeeper/pkg/apiserver/hostprobe"
	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
	"groundskeeper.io/groundskeeper/pkg/policyparams"
	"groundskeeper.io/groundskeeper/pkg/statusz"
)

// statusPath is Groundskeeper's page; the library has its own, /statusz, with versions and paths.
const statusPath = "/statusz/groundskeeper"

// policiesTimeout bounds how long the page waits for the kube-apiserver.
const policiesTimeout = 5 * time.Second

// status is that page. It has no names of objects and no credentials.
type status struct {
	statusz.Component
	Kubernetes  kubernetesStatus  `json:"kubernetes"`
	Store       storeStatus       `json:"store"`
	Certificate certificateStatus `json:"certificate"`
	Admission   admissionStatus   `json:"admission"`
	// Off are other parts that are off, and why.
	Off []disabledStatus `json:"off"`
}

// kubernetesStatus are the versions that feature gates go by.
type kubernetesStatus struct {
	BinaryVersion    string `json:"binaryVersion"`
	EmulationVersion string `json:"emulationVersion"`
}

type storeStatus struct {
	// ID and Revision are what the cluster knows the store by, without a host they are empty.
	ID       string `json:"id,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Etcd are the servers, or the directory of the one in this process.
	Etcd       string `json:"etcd"`
	Embedded   bool   `json:"embedded"`
	Prefix     string `json:"prefix"`
	Encryption string `json:"encryption"`
}

type certificateStatus struct {
	// From reports who provides it: self-managed, files or made at the start.
	From  string   `json:"from"`
	Names []string `json:"names,omitempty"`
	Ends  string   `json:"ends,omitempty"`
}

type admissionStatus struct {
	On  []string         `json:"on"`
	Off []disabledStatus `json:"off"`
	// Policies are those that reject every request, as this server is not allowed to read their parameters.
	Policies []policyparams.Problem `json:"policies,omitempty"`
}

type disabledStatus struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// diagnosis is what the page reports of, gathered while the server starts.
type diagnosis struct {
	started  time.Time
	now      func() time.Time
	options  *Options
	disabled []hostprobe.Disabled
	// recorder knows the store, nil without a host.
	recorder *storeidentity.Recorder
	// host is the kube-apiserver, nil without one.
	host kubernetes.Interface
}

// serve adds the page to a server.
func (d *diagnosis) serve(server *genericapiserver.GenericAPIServer) {
	server.Handler.NonGoRestfulMux.Handle(statusPath, statusz.Handler(func() any { return d.page(server) }))
}

func (d *diagnosis) page(server *genericapiserver.GenericAPIServer) any {
	page := status{Component: statusz.NewComponent(componentName, d.started, d.now()), Store: d.store(), Off: []disabledStatus{}}
	page.Kubernetes = kubernetesStatus{BinaryVersion: server.EffectiveVersion.BinaryVersion().String(), EmulationVersion: server.EffectiveVersion.EmulationVersion().String()}
	if cert := server.SecureServingInfo.Cert; cert != nil {
		page.Certificate.Names, page.Certificate.Ends = describe(cert.CurrentCertKeyContent())
	}
	o := d.options
	switch {
	case o.SelfManagedCertificates:
		page.Certificate.From = "self-managed"
	case o.SecureServing.ServerCert.CertKey.CertFile != "":
		page.Certificate.From = o.SecureServing.ServerCert.CertKey.CertFile
	default:
		page.Certificate.From = "made at the start"
	}
	page.Admission = d.admission()
	page.Admission.Policies = d.policies()
	for _, feature := range d.disabled {
		if feature.Name == hostprobe.PriorityAndFairness {
			page.Off = append(page.Off, disabledStatus{feature.Name, feature.Reason})
		}
	}
	return page
}

func (d *diagnosis) store() storeStatus {
	o := d.options
	s := storeStatus{
		Etcd: strings.Join(o.Etcd.StorageConfig.Transport.ServerList, ","), Embedded: o.EmbeddedEtcdDir != "", Prefix: o.Etcd.StorageConfig.Prefix,
		Encryption: o.Etcd.EncryptionProviderConfigFilepath,
	}
	if s.Embedded {
		s.Etcd = o.EmbeddedEtcdDir
	}
	if s.Encryption == "" {
		s.Encryption = "none"
	}
	if d.recorder != nil {
		known := d.recorder.Known()
		s.ID, s.Revision = known.ID, known.Revision
	}
	return s
}

// admission reports which plugins are on, and why one is not.
func (d *diagnosis) admission() admissionStatus {
	page := admissionStatus{On: []string{}, Off: []disabledStatus{}}
	o := d.options
	for _, name := range o.Admission.RecommendedPluginOrder {
		why := ""
		switch i := slices.IndexFunc(d.disabled, func(f hostprobe.Disabled) bool { return f.Name == name }); {
		case i >= 0:
			why = d.disabled[i].Reason
		case o.Standalone:
			why = "--standalone"
		case slices.Contains(o.Admission.DisablePlugins, name) && !slices.Contains(o.Admission.EnablePlugins, name):
			why = "--disable-admission-plugins"
		}
		if why != "" {
			page.Off = append(page.Off, disabledStatus{name, why})
			continue
		}
		page.On = append(page.On, name)
	}
	return page
}

// policies returns the policies whose parameters this server cannot read. When that cannot be found out, it reports so.
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

// describe reports the names in a certificate and its expiry.
func describe(certificate, _ []byte) (names []string, ends string) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return nil, ""
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, ""
	}
	return parsed.DNSNames, parsed.NotAfter.UTC().Format(time.RFC3339)
}
