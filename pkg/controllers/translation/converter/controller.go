// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package converter reconciles the Translations of Nodes, Pods, Services and the cluster with the result of package convert, and those of
// NetworkPolicies if the backend has them (policies.go).
//
// A reconcile processes one owner. It reads from caches, decides with pure functions (claim.go, decide.go) and writes only differences: a
// new Translation requires one request, an unchanged one none. Desired Translations are written before stale ones are deleted, so that the
// pusher can move backend resources from one Translation to another. The garbage collector of Kubernetes deletes the Translations of
// deleted owners.
package converter

import (
	"context"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "translation-convert"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "translation-convert-controller"

	// workers is how many passes there are at the same time.
	workers = 8
	// Problems that a user has to resolve are retried with longer intervals.
	minPatience = 5 * time.Second
	maxPatience = 5 * time.Minute
)

// emitter converts objects to the Translations of one backend. It skips and reports unsupported features.
type emitter interface {
	// Globals returns what there is once per cluster.
	Globals() convert.Result
	// Node returns what a Node becomes.
	Node(node *corev1.Node, occupied map[netip.Addr]string) convert.Result
	// Pod returns what a Pod becomes on a Node, which is nil when it is not known.
	Pod(pod *corev1.Pod, node *corev1.Node, scope convert.Scope) convert.Result
	// Service returns what a Service becomes with the endpoints of all its slices.
	// What is occupied is not served.
	Service(service *corev1.Service, slices []*discoveryv1.EndpointSlice, occupied convert.Occupied) convert.Result
}

// reconciler brings the Translations of owners to the state that the owners request.
type reconciler struct {
	// client reads from the caches and writes to the API server.
	client client.Client
	// live reads from the API server. It has the last word before a Translation changes its owner, and before a Node
	// loses its network.
	live client.Reader
	// owned finds Translations in the cache by a key of translationsByOwner, in all namespaces.
	owned   func(key string) ([]*midonetv1.Translation, error)
	emitter emitter
	// isolator is the emitter, if its backend has NetworkPolicies; else nil.
	isolator isolator
	// ranges: ServiceCIDRs are served, and the backend compares addresses with them.
	ranges      bool
	gracePeriod time.Duration
	clock       clock.PassiveClock
	recorder    events.EventRecorder
	memory      *memory
	// enqueue requests another pass over an owner.
	enqueue func(unit)
	// patience spaces the tries of what a user has to repair.
	patience workqueue.TypedRateLimiter[unit]
	passes   *prometheus.CounterVec
	writes   *prometheus.CounterVec
}

// AddToManager adds the controller to a manager, whose scheme has to know Translations and Kubernetes' own kinds. The manager's
// cache has to be built with CacheOptions. An error means that the controller was added twice, or that the API server does not
// respond or does not serve Translations.
func AddToManager(mgr manager.Manager, config configv1alpha1.TranslationConfiguration, clock clock.PassiveClock) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	// The context would end a wait for the cache, but before the start of the manager there is none.
	r := newReconciler(config, clock, meters)
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer(), r.isolator != nil); err != nil {
		return err
	}
	owned, err := indexTranslations(context.Background(), mgr.GetCache())
	if err != nil {
		return err
	}
	r.owned = owned
	r.client, r.live, r.recorder = mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(fieldOwner)
	to := mapper{cache: mgr.GetCache(), memory: r.memory}
	watches := builder.TypedControllerManagedBy[unit](mgr).
		Named(ControllerName).
		WithOptions(controller.TypedOptions[unit]{
			MaxConcurrentReconciles: workers,
			RateLimiter:             kit.RateLimiter[unit](),
		}).
		WithLogConstructor(func(u *unit) logr.Logger {
			logger := mgr.GetLogger().WithValues("controller", ControllerName)
			if u == nil {
				return logger
			}
			return logger.WithValues("owner", u.String())
		}).
		WatchesRawSource(source.TypedFunc[unit](r.useQueue)).
		Watches(&corev1.Node{}, enqueue(ofNode), builder.WithPredicates(changed(), r.atStart(ofNode))).
		Watches(&corev1.Node{}, enqueue(to.podsOf), builder.WithPredicates(switchChanged())).
		Watches(&corev1.Pod{}, enqueue(ofPod), builder.WithPredicates(changed())).
		Watches(&corev1.Service{}, enqueue(ofService), builder.WithPredicates(changed(), r.atStart(ofService))).
		Watches(&discoveryv1.EndpointSlice{}, enqueue(ofSlice), builder.WithPredicates(changed())).
		// Reconcile changes of Translations, to revert manual edits and to continue when an awaited deletion is complete.
		Watches(&midonetv1.Translation{}, enqueue(ofTranslation), builder.WithPredicates(translationChanged()))
	if r.isolator != nil {
		watches = to.watchAddresses(to.watchPolicies(watches))
		if r.ranges, err = servesRanges(mgr.GetRESTMapper()); err != nil {
			return err
		}
		if r.ranges {
			watches = to.watchRanges(watches)
		} else {
			mgr.GetLogger().Info("External addresses are not compared with the range of cluster IPs: Kubernetes before 1.33 serves no ServiceCIDRs",
				"controller", ControllerName)
		}
	}
	return watches.Complete(instrument.Reconciler(ControllerName, r))
}

// enqueue requests a reconciliation of what a function finds.
func enqueue(find func(context.Context, client.Object) []unit) handler.TypedEventHandler[client.Object, unit] {
	return handler.TypedEnqueueRequestsFromMapFunc[client.Object, unit](find)
}

func emitterOf(config configv1alpha1.TranslationConfiguration) emitter {
	common := convert.Config{Tenant: config.Tenant, TunnelZoneName: config.TunnelZoneName, ServiceTypes: config.ServiceTypes,
		PodMACAddresses: config.OVN.PodMACAddresses, NodeAddressTypes: config.OVN.NodeAddressTypes,
		AffinityByHash: config.OVN.AffinityByHash, TenantInNames: config.OVN.TenantInNames}
	if config.Configured() == configv1alpha1.BackendOVN {
		return convert.OVN{Config: common}
	}
	return convert.MidoNet{Config: common}
}

// newReconciler makes a reconciler without its connections.
func newReconciler(config configv1alpha1.TranslationConfiguration, clock clock.PassiveClock, meters *meters) *reconciler {
	emitter := emitterOf(config)
	isolator, _ := emitter.(isolator)
	return &reconciler{
		emitter:     emitter,
		isolator:    isolator,
		gracePeriod: config.NodeGracePeriod.Duration,
		clock:       clock,
		memory:      newMemory(meters),
		patience:    workqueue.NewTypedItemExponentialFailureRateLimiter[unit](minPatience, maxPatience),
		enqueue:     func(unit) {},
		passes:      meters.passes,
		writes:      meters.writes,
	}
}
