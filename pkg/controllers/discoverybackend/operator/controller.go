// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package operator runs a discoverer for each DiscoveryBackend: a Deployment with what it is allowed to do, restarted when its
// credentials change, and removed again with everything that it copied here.
//
// A reconcile reads from caches and writes only what differs, by server-side apply: a new backend takes ten requests and its events, one
// that is as it should be takes none. What a discoverer consists of is in parts.go and deployment.go, which Secrets it can use in
// credentials.go, and what happens to the copies of a deleted backend in release.go.
//
// Without an image it runs nothing and reads no Secret. It reports so in the status of backends, and releases those that are deleted.
package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "discovery-operator"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "discovery-operator"

	// workers is how many backends are reconciled at the same time.
	workers = 4
)

// reconciler brings the discoverers of backends to the state that the backends request.
type reconciler struct {
	// cache has what is watched. Without an image that is nothing, and it reads from the API server.
	cache client.Reader
	// live reads from the API server. It has the last word before something is taken over or destroyed.
	live client.Reader
	// client writes.
	client client.Client
	// allowed is what the Secrets of backends may have.
	allowed configv1alpha1.CredentialsConfiguration
	// image is what discoverers run, "" when none are run.
	image      string
	admins     []string
	clock      clock.PassiveClock
	recorder   events.EventRecorder
	references references
	memory     *memory
	meters     *meters
}

// references takes references to the Services of a backend out of routes.
type references interface {
	Remove(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (release.Result, error)
}

// AddToManager adds the controller to a manager, whose scheme has to know DiscoveryBackends and Kubernetes' own kinds. It returns
// the cache with the DiscoveryBackends, nil without an image. An error means that the controller was added twice, or that the API
// server does not respond.
func AddToManager(
	mgr manager.Manager, config configv1alpha1.DiscoveryConfiguration, allowed configv1alpha1.CredentialsConfiguration,
	clock clock.PassiveClock,
) (cache.Cache, error) {
	meters, err := newMeters(metrics.Registry)
	if err != nil {
		return nil, err
	}
	routes, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client of routes of controller %s: %w", ControllerName, err)
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the discovery client of controller %s: %w", ControllerName, err)
	}
	r := &reconciler{
		cache: mgr.GetAPIReader(), live: mgr.GetAPIReader(), client: mgr.GetClient(),
		allowed: allowed, image: config.Image, admins: config.AdminNamespaces,
		clock: clock, recorder: mgr.GetEventRecorder(fieldOwner), memory: newMemory(), meters: meters,
		references: &release.References{
			Live: mgr.GetAPIReader(), Routes: routes, Find: resourcewatch.NewFinder(served), AdminNamespaces: config.AdminNamespaces,
			Record: config.KeepRemovedReferences.Duration > 0, Clock: clock,
		},
	}
	watches := builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
		})
	if r.image == "" {
		return nil, r.watchBackends(mgr, watches)
	}
	parts, err := newCache(mgr)
	if err != nil {
		return nil, err
	}
	return parts, r.watch(mgr, watches, parts)
}

// watch adds the controller with the cache of all that a discoverer consists of.
func (r *reconciler) watch(mgr manager.Manager, watches *builder.Builder, parts cache.Cache) error {
	if err := mgr.Add(parts); err != nil {
		return fmt.Errorf("add the cache of controller %s: %w", ControllerName, err)
	}
	r.cache = parts
	if err := registerConditions(metrics.Registry, parts); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.sweep)); err != nil {
		return fmt.Errorf("add the sweep for orphans to controller %s: %w", ControllerName, err)
	}
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &gimbalv1.DiscoveryBackend{}, handler.OnlyControllerOwner())
	return watches.
		WatchesRawSource(source.Kind[client.Object](parts, &gimbalv1.DiscoveryBackend{}, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind[client.Object](parts, secretMetadata(), handler.EnqueueRequestsFromMapFunc(r.ofSecret))).
		// Reconcile changes of the objects that this controller wrote.
		WatchesRawSource(source.Kind[client.Object](parts, &appsv1.Deployment{}, owner)).
		WatchesRawSource(source.Kind[client.Object](parts, &corev1.ServiceAccount{}, owner)).
		WatchesRawSource(source.Kind[client.Object](parts, &rbacv1.RoleBinding{}, owner)).
		WatchesRawSource(source.Kind[client.Object](parts, &rbacv1.ClusterRoleBinding{}, handler.EnqueueRequestsFromMapFunc(r.ofClusterBinding))).
		Complete(instrument.Reconciler(ControllerName, r))
}

// ofSecret finds the backends that refer to a Secret.
func (r *reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.find(ctx, func(backend *gimbalv1.DiscoveryBackend) bool {
		return backend.Cluster.SecretName() == secret.GetName()
	}, client.InNamespace(secret.GetNamespace()))
}

// ofClusterBinding finds the backend that a ClusterRoleBinding was made for, by its label.
func (r *reconciler) ofClusterBinding(ctx context.Context, binding client.Object) []reconcile.Request {
	name := binding.GetLabels()[labelInstance]
	return r.find(ctx, func(backend *gimbalv1.DiscoveryBackend) bool { return backend.Name == name })
}

func (r *reconciler) find(ctx context.Context, is func(*gimbalv1.DiscoveryBackend) bool, options ...client.ListOption) []reconcile.Request {
	backends := &gimbalv1.DiscoveryBackendList{}
	// Objects of a cache are read only here, so that they need not be copied.
	if err := r.cache.List(ctx, backends, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range backends.Items {
		if backend := &backends.Items[i]; is(backend) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(backend)})
		}
	}
	return requests
}

// watchBackends adds the controller without an image. It waits for DiscoveryBackends to be served, and watches nothing else.
func (r *reconciler) watchBackends(mgr manager.Manager, watches *builder.Builder) error {
	find, from, err := resourcewatch.Connect(mgr)
	if err != nil {
		return err
	}
	set := resourcewatch.NewSet(find, from, r.clock, resourcewatch.DiscoveryPeriod, backendKind())
	if err := mgr.Add(set); err != nil {
		return fmt.Errorf("add the watch of controller %s: %w", ControllerName, err)
	}
	return watches.WatchesRawSource(source.Func(follow(set))).Complete(instrument.Reconciler(ControllerName, r))
}

// backendKind is DiscoveryBackends, of which only metadata is kept: a reconcile reads the backend itself.
func backendKind() resourcewatch.Kind {
	return resourcewatch.Kind{GroupResource: gimbalv1.Resource("discoverybackends"), Versions: []string{gimbalv1.SchemeGroupVersion.Version}}
}

// follow makes a request of each event of a backend.
func follow(set *resourcewatch.Set) func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		set.Subscribe(func(e resourcewatch.Event) {
			backend := e.Object()
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: backend.Namespace, Name: backend.Name}})
		}, backendKind().GroupResource)
		return nil
	}
}

// newCache returns a cache in addition to that of the manager, which has only the bindings of Projects. This one has managed fields, which
// show whether the fields that Groundskeeper wrote were changed, and only the metadata of Secrets.
func newCache(mgr manager.Manager) (cache.Cache, error) {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{labelName: discovererName})}
	parts, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:         own,
			&corev1.ServiceAccount{}:     own,
			&rbacv1.RoleBinding{}:        own,
			&rbacv1.ClusterRoleBinding{}: own,
			secretMetadata():             {Transform: nameAndVersion},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of controller %s: %w", ControllerName, err)
	}
	return everywhere{parts}, nil
}

// everywhere is a cache that runs on every replica. One with options by object does not say whether it needs a leader, and a manager
// starts such a one on the leader only: a standby would wait for it indefinitely and never be ready, so that no rollout would complete.
type everywhere struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

func secretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

// nameAndVersion drops all else of an object's metadata: Secrets are many, and Groundskeeper's are few.
func nameAndVersion(object any) (any, error) {
	full, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: full.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
	}}, nil
}
