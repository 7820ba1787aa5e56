// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the aggregated API server: options, configuration and start.
package apiserver

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	baseversion "k8s.io/component-base/version"

	"groundskeeper.io/groundskeeper/pkg/admission"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/deletionconfirmation"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

const (
	// componentName names the server in feature gates, logs and metrics.
	componentName = "groundskeeper-apiserver"
	// EtcdPrefix is the default of --etcd-prefix: apart from the kube-apiserver's /registry, so that both can use one etcd.
	EtcdPrefix = "/registry-groundskeeper"
	// deleteCollectionWorkers make the deletion of a namespace with many objects quick.
	deleteCollectionWorkers = 16
	// watchTerminationGracePeriod is how long watches may last while the server drains. Without it, a stop would wait
	// for the last watcher, a minute.
	watchTerminationGracePeriod = 5 * time.Second
)

// The values of --project-authorization.
const (
	// AuthorizeByRoles leaves the decision to RBAC: the controller manager writes roles and bindings for each Project.
	AuthorizeByRoles = "roles"
	// AuthorizeByMembership restricts what RBAC allows to the members of each Project (package membership).
	AuthorizeByMembership = "membership"
)

// Options are the values of the flags.
type Options struct {
	*genericoptions.RecommendedOptions
	// ServerRun are the options of the HTTP server and the feature gates.
	ServerRun *genericoptions.ServerRunOptions
	// APIEnablement specifies which group versions are served.
	APIEnablement *genericoptions.APIEnablementOptions
	// LogFormat is the format of log lines (InstallLog).
	LogFormat logging.Format
	// EmbeddedEtcdDir is the directory of an etcd inside this process, for those who run none. It is used when no --etcd-servers
	// are given.
	EmbeddedEtcdDir string
	// EmbeddedEtcdUnsafeNoFsync makes the embedded etcd quick and forgetful, for tests.
	EmbeddedEtcdUnsafeNoFsync bool
	// AcceptStore acknowledges that the store recorded in the cluster is lost: the value that the rejection prints.
	AcceptStore string
	// AuthorizeAnyNameFirst checks the permission on all objects before the permission on one.
	AuthorizeAnyNameFirst bool
	// SelfManagedCertificates makes the serving certificate, keeps it in a Secret that all replicas share, publishes its CA to the
	// APIServices, and replaces it before it ends.
	SelfManagedCertificates bool
	// DiscoveryAdminNamespaces are the namespaces whose DiscoveryBackends publish in every namespace.
	DiscoveryAdminNamespaces []string
	// DiscoveryDeletionConfirmation is which DiscoveryBackends need a confirmation to be deleted while routes refer to them.
	DiscoveryDeletionConfirmation string
	// ProjectQuotaLabels are the keys of labels of Projects that select their quota: to change them needs a dedicated verb.
	ProjectQuotaLabels []string
	// ProjectAuthorization is how members get their permissions on Projects: AuthorizeByRoles or AuthorizeByMembership.
	ProjectAuthorization string
	// Standalone runs without a kube-apiserver: every client is allowed to do everything. For trying out, on loopback only.
	Standalone bool

	// flags are what AddFlags bound.
	flags cliflag.NamedFlagSets
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	o := &Options{
		RecommendedOptions:    genericoptions.NewRecommendedOptions(EtcdPrefix, nil),
		ServerRun:             genericoptions.NewServerRunOptionsForComponent(componentName, componentGlobals()),
		APIEnablement:         genericoptions.NewAPIEnablementOptions(),
		AuthorizeAnyNameFirst: true,
		ProjectAuthorization:  AuthorizeByRoles,
		LogFormat:             logging.Lines(),

		DiscoveryAdminNamespaces:      []string{"gimbal-discovery"},
		DiscoveryDeletionConfirmation: string(deletionconfirmation.BackendsInAdminNamespaces),
	}
	o.Etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	o.Etcd.DeleteCollectionWorkers = deleteCollectionWorkers
	o.ServerRun.ShutdownWatchTerminationGracePeriod = watchTerminationGracePeriod
	o.SecureServing.BindPort, o.SecureServing.Required = 8443, true
	o.SecureServing.ServerCert.CertDirectory = "" // without given certificate files, one is kept in memory
	o.Admission.RecommendedPluginOrder = admission.Order()
	admission.Register(o.Admission.Plugins)
	o.ExtraAdmissionInitializers = o.admissionInitializers
	return o
}

// admissionInitializers give admission a client of the server itself, and the values of flags.
func (o *Options) admissionInitializers(config *genericapiserver.RecommendedConfig) ([]apiadmission.PluginInitializer, error) {
	own, err := loopbackClient(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config.ClientConfig)
	if err != nil {
		return nil, err
	}
	return []apiadmission.PluginInitializer{admission.Initializer(own, admission.Settings{
		DiscoveryAdmins:   o.DiscoveryAdminNamespaces,
		ConfirmedBackends: deletionconfirmation.Backends(o.DiscoveryDeletionConfirmation),
		QuotaLabels:       o.ProjectQuotaLabels,
		Informers:         config.SharedInformerFactory,
		Objects:           objects,
	})}, nil
}

// componentGlobals registers two components: "kube", whose feature gates the library evaluates and which therefore has Kubernetes'
// version, and that of Groundskeeper. With Groundskeeper's version as the library's, every gate of Kubernetes would be off.
func componentGlobals() basecompatibility.ComponentGlobalsRegistry {
	registry := compatibility.DefaultComponentGlobalsRegistry
	kube := basecompatibility.NewEffectiveVersionFromString(baseversion.DefaultKubeBinaryVersion, "1.34", "1.34")
	_, _ = registry.ComponentGlobalsOrRegister(basecompatibility.DefaultKubeComponent, kube, utilfeature.DefaultMutableFeatureGate)
	own := basecompatibility.NewEffectiveVersionFromString("0.1", "", "")
	_, _ = registry.ComponentGlobalsOrRegister(componentName, own, featuregate.NewVersionedFeatureGate(version.MustParse("0.1")))
	return registry
}

// Watches are not compressed unless a flag enables it. The library would compress each event separately, which hardly reduces
// small objects, and the kube-apiserver would have to decompress it.
func init() {
	utilruntime.Must(utilfeature.DefaultMutableFeatureGate.OverrideDefault(features.WatchListCompression, false))
}

// Complete derives what other options decide.
func (o *Options) Complete() {
	if o.Standalone {
		o.Authentication, o.Authorization, o.CoreAPI = nil, nil, nil
		o.Features.EnablePriorityAndFairness = false
		return
	}
	if kubeconfig := o.CoreAPI.CoreAPIKubeconfigPath; kubeconfig != "" {
		o.Authentication.RemoteKubeConfigFile = cmp.Or(o.Authentication.RemoteKubeConfigFile, kubeconfig)
		o.Authorization.RemoteKubeConfigFile = cmp.Or(o.Authorization.RemoteKubeConfigFile, kubeconfig)
	}
}

// Validate reports every mistake in the options.
func (o *Options) Validate() error {
	var errs []error
	embedded := o.embedsEtcd()
	switch {
	case len(o.Etcd.StorageConfig.Transport.ServerList) > 0 && o.EmbeddedEtcdDir != "":
		errs = append(errs, errors.New("--etcd-servers and --embedded-etcd-dir exclude each other: give one of them"))
	case len(o.Etcd.StorageConfig.Transport.ServerList) == 0 && !embedded:
		errs = append(errs, errors.New("there is no etcd: give --etcd-servers, or --embedded-etcd-dir for a server that has its own"))
	}
	if len(o.Etcd.EtcdServersOverrides) > 0 {
		errs = append(errs, errors.New("--etcd-servers-overrides is not supported: the identity of the store mentions one etcd, pass it as "+
			"--etcd-servers"))
	}
	if scopes := deletionconfirmation.BackendScopes(); !slices.Contains(scopes,
		deletionconfirmation.Backends(o.DiscoveryDeletionConfirmation)) {
		errs = append(errs, fmt.Errorf("--discovery-deletion-confirmation must be one of %q, not %q", scopes, o.DiscoveryDeletionConfirmation))
	}
	if modes := []string{AuthorizeByRoles, AuthorizeByMembership}; !slices.Contains(modes, o.ProjectAuthorization) {
		errs = append(errs, fmt.Errorf("--project-authorization must be one of %q, not %q", modes, o.ProjectAuthorization))
	}
	if o.Standalone && o.ProjectAuthorization == AuthorizeByMembership {
		errs = append(errs, errors.New("--standalone lets everybody do everything: it excludes --project-authorization=membership"))
	}
	if o.Standalone && !o.listensOnLoopback() {
		errs = append(errs, fmt.Errorf("--standalone lets everybody do everything: --bind-address must be a loopback address, not %s",
			o.SecureServing.BindAddress))
	}
	if !o.Standalone {
		if _, err := HostConfig(o.CoreAPI.CoreAPIKubeconfigPath); err != nil {
			errs = append(errs, err)
		}
	}
	if pair := o.SecureServing.ServerCert.CertKey; pair.CertFile != "" || pair.KeyFile != "" {
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-cert-file %q and --tls-private-key-file %q: %w", pair.CertFile, pair.KeyFile, err))
		}
	}
	if o.SelfManagedCertificates {
		errs = append(errs, o.validateSelfManaged()...)
	}
	if _, err := o.served(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, o.validateLibrary()...)
	errs = append(errs, o.ServerRun.Validate()...)
	return utilerrors.NewAggregate(errs)
}

// validateSelfManaged reports options that a server that issues its own certificate cannot have.
func (o *Options) validateSelfManaged() []error {
	var errs []error
	if pair := o.SecureServing.ServerCert.CertKey; pair.CertFile != "" || pair.KeyFile != "" {
		errs = append(errs, errors.New("--self-managed-certificates and --tls-cert-file, --tls-private-key-file exclude each other: give one "+
			"of them"))
	}
	if o.Standalone {
		errs = append(errs, errors.New("--self-managed-certificates stores them in the kube-apiserver: it cannot be used with --standalone"))
	}
	return errs
}

// validateLibrary returns the library's own validation, without its complaint about etcd servers, which Groundskeeper reports
// itself.
func (o *Options) validateLibrary() []error {
	library := *o.RecommendedOptions
	etcd := *o.Etcd
	if len(etcd.StorageConfig.Transport.ServerList) == 0 {
		etcd.StorageConfig.Transport.ServerList = []string{"embedded"}
	}
	library.Etcd = &etcd
	return library.Validate()
}

func (o *Options) embedsEtcd() bool {
	return len(o.Etcd.StorageConfig.Transport.ServerList) == 0 && o.EmbeddedEtcdDir != ""
}

func (o *Options) listensOnLoopback() bool {
	if o.SecureServing.Listener != nil {
		if address, ok := o.SecureServing.Listener.Addr().(*net.TCPAddr); ok {
			return address.IP.IsLoopback()
		}
	}
	return o.SecureServing.BindAddress.IsLoopback()
}
