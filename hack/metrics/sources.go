// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/etcdspace"
	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
	"groundskeeper.io/groundskeeper/pkg/certificates"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/operator"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit"
	klusterlifecycle "groundskeeper.io/groundskeeper/pkg/controllers/kluster/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/workload"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
	"groundskeeper.io/groundskeeper/pkg/controllers/objectstate"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/stale"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/annotate"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/converter"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/requests"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Names of the binaries, as the page has them.
const (
	apiServer  = "groundskeeper-apiserver"
	manager    = "groundskeeper-controller-manager"
	discoverer = "groundskeeper-discoverer"
	cleaner    = "groundskeeper-local-volume-node-cleanup"
)

// source is a section of the page: metrics that belong together.
type source struct {
	title string
	// binaries serve them; controllers count them, none where it is the process as a whole.
	binaries, controllers []string
	// page is the page in docs with more details.
	page string
	// packages make the metrics, below pkg.
	packages []string
	register []func(prometheus.Registerer) error
}

// sources returns all metrics of Groundskeeper.
func sources() []source {
	return []source{
		{"Store", []string{apiServer}, nil, "apiserver.md", []string{"apiserver/storeidentity", "apiserver/etcdspace"},
			funcs(ignoring(storeidentity.NewMetrics), ignoring(etcdspace.New))},
		{"Certificates", []string{apiServer, manager}, nil, "certificates.md", []string{"certificates"}, funcs(registerCertificate)},
		{"Webhooks", []string{manager}, []string{"webhooks"}, "webhooks.md", []string{"admission/webhooks"}, funcs(ignoring(webhooks.NewMetrics))},
		{"Projects", []string{manager}, []string{lifecycle.ControllerName}, "projects.md",
			[]string{"controllers/project/lifecycle", "controllers/project/census"}, funcs(of(lifecycle.RegisterMetrics))},
		{"Stale Projects", []string{manager}, []string{stale.ControllerName}, "stale-projects.md",
			[]string{"controllers/project/stale", "controllers/project/census"}, funcs(of(stale.RegisterMetrics))},
		{"DiscoveryBackends", []string{manager}, []string{operator.ControllerName}, "discovery.md",
			[]string{"controllers/discoverybackend/operator"}, funcs(of(operator.RegisterMetrics))},
		{"Maintenance of backends", []string{manager}, []string{maintenance.ControllerName}, "backend-maintenance.md",
			[]string{"controllers/discoverybackend/maintenance"}, funcs(ignoring(maintenance.NewMeters))},
		{"Translations", []string{manager}, []string{converter.ControllerName, annotate.ControllerName, push.ControllerName}, "translations.md",
			[]string{"controllers/translation/converter", "controllers/translation/annotate", "controllers/translation/push", "controllers/translation/push/requests"},
			funcs(ignoring(converter.NewMeters), ignoring(annotate.NewMeters), push.RegisterMetrics, ignoring(requests.Register))},
		{"Klusters and Route GC", []string{manager}, []string{klusterlifecycle.ControllerName, workload.ControllerName, routegc.ControllerName}, "klusters.md",
			[]string{"controllers/kluster/lifecycle", "controllers/kluster/workload", "controllers/kluster/routegc"},
			funcs(ignoring(klusterlifecycle.NewMeters), ignoring(workload.NewMeters), ignoring(routegc.NewMeters))},
		{"Deorbit", []string{manager}, []string{deorbit.ControllerName}, "deorbit.md", []string{"controllers/kluster/deorbit"}, funcs(ignoring(deorbit.NewMeters))},
		{"OpenStack", []string{manager}, []string{klusterlifecycle.ControllerName, deorbit.ControllerName, routegc.ControllerName}, "klusters.md",
			[]string{"openstack"}, funcs(ignoring(openstack.NewTelemetry))},
		{"Single objects, if server.objectMetrics is configured", []string{manager}, nil, "monitoring.md", []string{"controllers/objectstate"}, funcs(registerObjects)},
		{"Local volumes", []string{manager, cleaner}, []string{cleanup.ControllerName, cleanup.DeleterName}, "local-volumes.md",
			[]string{"controllers/localvolume"}, funcs(ignoring(localvolume.NewMetrics))},
		{"Discoverer", []string{discoverer}, nil, "discovery.md", []string{"discoverer/telemetry"}, funcs(registerDiscoverer)},
	}
}

func funcs(all ...func(prometheus.Registerer) error) []func(prometheus.Registerer) error { return all }

// ignoring drops what a function returns beside its error.
func ignoring[T any](create func(prometheus.Registerer) (T, error)) func(prometheus.Registerer) error {
	return func(r prometheus.Registerer) error {
		_, err := create(r)
		return err
	}
}

// of gives a function a cache with one object of each kind that metrics are derived from.
func of(register func(prometheus.Registerer, client.Reader) error) func(prometheus.Registerer) error {
	return func(r prometheus.Registerer) error { return register(r, oneOfEach{}) }
}

// oneOfEach is a cache with one object of each kind.
type oneOfEach struct{ client.Reader }

// List implements client.Reader.
func (oneOfEach) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *gardenerv1beta1.ProjectList:
		list.Items = []gardenerv1beta1.Project{{Status: gardenerv1beta1.ProjectStatus{StaleAutoDeleteTimestamp: new(metav1.Now())}}}
	case *gimbalv1.DiscoveryBackendList:
		list.Items = []gimbalv1.DiscoveryBackend{{Status: gimbalv1.DiscoveryBackendStatus{Conditions: []metav1.Condition{{Type: gimbalv1.ConditionAvailable}}}}}
	default:
		return errors.New("no such objects")
	}
	return nil
}

// registerDiscoverer registers the metrics of a discoverer that has seen one service.
func registerDiscoverer(r prometheus.Registerer) error {
	meters := telemetry.New("backend", "kubernetes", "v1", func() int { return 0 })
	service := types.NamespacedName{Namespace: "namespace", Name: "name"}
	meters.ServiceEvent(service, time.Unix(1, 0))
	meters.EndpointsEvent(service, time.Unix(1, 0))
	meters.Set(service, telemetry.Row{})
	meters.ServiceError(service, "type")
	meters.EndpointsError(service, "type")
	meters.Error("type")
	meters.Latency("/path", time.Second)
	return r.Register(meters)
}

// registerObjects registers the metrics of a Kluster that is being deleted, and of a backend in maintenance that needs a user.
func registerObjects(r prometheus.Registerer) error {
	kluster, backend := &kubernikusv1.Kluster{}, &gimbalv1.DiscoveryBackend{}
	kluster.Name, kluster.DeletionTimestamp, kluster.Status.Deorbit = "kluster", new(metav1.Now()), &kubernikusv1.DeorbitStatus{}
	backend.Generation, backend.Status.ObservedGeneration, backend.Cluster.ClusterStatus = 1, 1, gimbalv1.ClusterMaintenance
	for _, kind := range []string{gimbalv1.ConditionCredentialsValid, gimbalv1.ConditionAvailable, gimbalv1.ConditionDiscovered, gimbalv1.ConditionDrained} {
		backend.Status.Conditions = append(backend.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: "StillReceiving", ObservedGeneration: 1,
		})
	}
	return objectstate.Register(r, 2, objectstate.Kind{Name: "kind", List: func(context.Context) ([]any, error) {
		return []any{kluster, backend}, nil
	}})
}

// registerCertificate registers the metric of a certificate that is made for it.
func registerCertificate(r prometheus.Registerer) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return err
	}
	return certificates.NewExpiryPEM("apiserver", func() ([]byte, []byte) { return certificate, key }).Register(r)
}
