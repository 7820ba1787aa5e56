// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/flagz"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/tracing"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/apiserver/applied"
	"groundskeeper.io/groundskeeper/pkg/apiserver/authorizer"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/apiserver/clientcert"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/pkg/apiserver/rivalcrd"
	"groundskeeper.io/groundskeeper/pkg/certificates"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	generatedopenapi "groundskeeper.io/groundskeeper/pkg/generated/openapi"
	"groundskeeper.io/groundskeeper/pkg/registry/etcd"
	"groundskeeper.io/groundskeeper/pkg/registry/listbudget"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// config builds what a server is made of. The revision of every write is reported to written.
func (o *Options) config(ctx context.Context, a api, written func(revision int64)) (*genericapiserver.RecommendedConfig, error) {
	config := genericapiserver.NewRecommendedConfig(a.codecs)
	if err := o.describe(config); err != nil {
		return nil, err
	}
	if err := o.ServerRun.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	// The library evaluates the feature gates of Kubernetes, not those of Groundskeeper.
	config.FeatureGate = utilfeature.DefaultFeatureGate
	config.Flagz = flagz.NamedFlagSetsReader{FlagSets: o.flags}
	config.EffectiveVersion = o.ServerRun.ComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)

	if err := o.EgressSelector.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	if err := o.applyTraces(ctx, config); err != nil {
		return nil, err
	}
	if err := o.applyStorage(a, config, written); err != nil {
		return nil, err
	}
	if err := o.applyServing(config); err != nil {
		return nil, err
	}
	if err := applyHandlers(config); err != nil {
		return nil, err
	}
	if err := o.Audit.ApplyTo(&config.Config); err != nil {
		return nil, fmt.Errorf("cannot audit with --audit-policy-file %q, --audit-log-path %q: %w", o.Audit.PolicyFile, o.Audit.LogOptions.Path,
			err)
	}
	if o.Standalone {
		config.Authentication.Authenticator = authenticator.RequestFunc(anonymous.NewAuthenticator(nil).AuthenticateRequest)
		config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
		return config, o.Features.ApplyTo(&config.Config, nil, nil)
	}
	return config, o.applyHost(ctx, a, config)
}

// describe sets what clients read about the server: version and OpenAPI.
func (o *Options) describe(config *genericapiserver.RecommendedConfig) error {
	namer, err := definitionNamer()
	if err != nil {
		return err
	}
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	for _, info := range []*struct{ title, version *string }{
		{&config.OpenAPIConfig.Info.Title, &config.OpenAPIConfig.Info.Version},
		{&config.OpenAPIV3Config.Info.Title, &config.OpenAPIV3Config.Info.Version},
	} {
		*info.title, *info.version = "Groundskeeper", version.String()
	}
	return nil
}

// applyStorage stores each kind with its own codec; RecommendedOptions would use one for all.
func (o *Options) applyStorage(a api, config *genericapiserver.RecommendedConfig, written func(int64)) error {
	storage := o.Etcd.StorageConfig
	storage.StorageObjectCountTracker = config.StorageObjectCountTracker
	encoding := serverstorage.NewDefaultResourceEncodingConfig(a.scheme)
	encoding.SetEffectiveVersion(config.EffectiveVersion)
	factory := serverstorage.NewDefaultStorageFactory(storage, o.Etcd.DefaultStorageMediaType, a.codecs, encoding,
		serverstorage.NewResourceConfig(), nil)
	if err := o.Etcd.ApplyWithStorageFactoryTo(groupedStorage{factory}, &config.Config); err != nil {
		return fmt.Errorf("cannot use etcd with --encryption-provider-config %q: %w", o.Etcd.EncryptionProviderConfigFilepath, err)
	}
	config.RESTOptionsGetter = etcd.NewGetter(config.RESTOptionsGetter, o.Etcd, claimRules(), written)
	return nil
}

// groupedStorage keeps resources of the same name but of other groups apart.
type groupedStorage struct {
	*serverstorage.DefaultStorageFactory
}

// ResourcePrefix returns the directory of a resource in etcd, below the prefix of the server.
func (groupedStorage) ResourcePrefix(r schema.GroupResource) string {
	return r.Group + "/" + r.Resource
}

// applyServing opens the port.
func (o *Options) applyServing(config *genericapiserver.RecommendedConfig) error {
	if !o.SelfManagedCertificates { // else there is one already
		if err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
			return fmt.Errorf("cannot make a certificate: %w", err)
		}
	}
	port := o.SecureServing.BindPort // the library discards it when it cannot listen
	if err := o.SecureServing.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return fmt.Errorf("cannot serve on --bind-address %s, --secure-port %d: %w", o.SecureServing.BindAddress, port, err)
	}
	if served := config.SecureServing.Cert; served != nil {
		if err := certificates.NewExpiryPEM("apiserver", served.CurrentCertKeyContent).Register(legacyregistry.Registerer()); err != nil {
			return err
		}
	}
	if o.Traces.ConfigFile != "" {
		config.LoopbackClientConfig.Wrap(tracing.WrapperFor(config.TracerProvider))
	}
	return nil
}

// applyHandlers adds handlers owned by Groundskeeper behind those of the library: requests that reach them were authorized. Half of the
// memory limit is for responses that are written as a whole, the other half for the watch cache and all other requests.
func applyHandlers(config *genericapiserver.RecommendedConfig) error {
	own, err := loopbackClient(config)
	if err != nil {
		return err
	}
	kinds, err := newScheme()
	if err != nil {
		return err
	}
	get := func(ctx context.Context, r *apirequest.RequestInfo) (runtime.Object, error) {
		switch r.Resource {
		case "projects":
			return own.GardenerV1beta1().Projects().Get(ctx, r.Name, metav1.GetOptions{})
		case "klusters":
			return own.KubernikusV1().Klusters(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		case "translations":
			return own.MidonetV1().Translations(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		case "discoverybackends":
			return own.GimbalV1().DiscoveryBackends(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		}
		return nil, fmt.Errorf("%s are not served", r.Resource)
	}
	lists := listbudget.New(debug.SetMemoryLimit(-1) / 2)
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(applied.Handler(lists.Handler(handler), c.MaxRequestBodyBytes, kinds, get), c)
	}
	return nil
}

// loopbackClient returns a client of the server itself. It sends its requests within others, whose number is limited.
func loopbackClient(config *genericapiserver.RecommendedConfig) (versioned.Interface, error) {
	loopback := rest.CopyConfig(config.LoopbackClientConfig)
	loopback.QPS = -1
	loopback.ContentType = runtime.ContentTypeProtobuf
	own, err := versioned.NewForConfig(loopback)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client of this server: %w", err)
	}
	return own, nil
}

// applyHost connects the server to the kube-apiserver: who users are, what they are allowed to do, what admission requires.
func (o *Options) applyHost(ctx context.Context, a api, config *genericapiserver.RecommendedConfig) error {
	if err := o.Authentication.ApplyTo(&config.Authentication, config.SecureServing, config.OpenAPIConfig); err != nil {
		return fmt.Errorf("cannot authenticate with --authentication-kubeconfig %q: %w", o.Authentication.RemoteKubeConfigFile, err)
	}
	bundle := func() []byte { return nil }
	if ca := config.SecureServing.ClientCA; ca != nil {
		bundle = bundleOf(ca)
	}
	clients := clientcert.New(config.Authentication.Authenticator, config.Authentication.RequestHeaderConfig, bundle, clock.RealClock{})
	config.Authentication.Authenticator = clients
	o.continueTraces(config, clients.IsAggregator)
	if err := o.Authorization.ApplyTo(&config.Authorization); err != nil {
		return fmt.Errorf("cannot authorize with --authorization-kubeconfig %q: %w", o.Authorization.RemoteKubeConfigFile, err)
	}
	if o.AuthorizeAnyNameFirst {
		config.Authorization.Authorizer = authorizer.AnyNameFirst(config.Authorization.Authorizer)
	}
	if err := o.CoreAPI.ApplyTo(config); err != nil {
		return fmt.Errorf("cannot use --kubeconfig %q: %w", o.CoreAPI.CoreAPIKubeconfigPath, err)
	}
	// Admission writes the usage of quotas within requests: the kube-apiserver's fairness is the limit, not Groundskeeper's.
	config.ClientConfig.QPS = -1
	rivals, err := rivalcrd.NewFinder(config.ClientConfig, a.served())
	if err != nil {
		return err
	}
	config.AddReadyzChecks(rivals.ReadyCheck())
	kube, err := kubernetes.NewForConfig(config.ClientConfig)
	if err != nil {
		return err
	}
	if err := a.authorizeProjects(ctx, kube, config); err != nil {
		return err
	}
	if !o.Authentication.SkipInClusterLookup {
		clientCAs, err := hostCAs(ctx, kube, o.Authentication, bundle)
		if err != nil {
			return err
		}
		config.Authentication.Authenticator = clientCAs.before(config.Authentication.Authenticator)
	}
	objects, err := dynamic.NewForConfig(config.ClientConfig)
	if err != nil {
		return err
	}
	if err := o.Features.ApplyTo(&config.Config, kube, config.SharedInformerFactory); err != nil {
		return err
	}
	initializers, err := o.ExtraAdmissionInitializers(config)
	if err != nil {
		return err
	}
	return o.Admission.ApplyTo(&config.Config, config.SharedInformerFactory, kube, objects, config.FeatureGate, config.EffectiveVersion,
		initializers...)
}

// authorizeProjects restricts Projects to their members where membership decides. Where roles do, it rejects the start if RBAC allows
// users what only such a server restricts, and requires the permission on projects/any of these users if RBAC does later.
func (a api) authorizeProjects(ctx context.Context, kube kubernetes.Interface, config *genericapiserver.RecommendedConfig) error {
	if !backup.ServesProjects(a.served()) {
		return nil
	}
	if a.membership != nil {
		config.Authorization.Authorizer = a.membership.Authorize(config.Authorization.Authorizer)
		return nil
	}
	guard, err := membership.NewGuard(ctx, config.Authorization.Authorizer, membership.BindingsOf(kube.RbacV1()), clock.RealClock{})
	if err != nil {
		return err
	}
	config.Authorization.Authorizer = guard
	return nil
}
