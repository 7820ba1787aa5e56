// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package objectstate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// listTimeout limits the wait for the sync of a cache. Without its objects, a kind temporarily has no metrics.
const listTimeout = time.Second

// Kind is a kind whose objects have metrics.
type Kind struct {
	// Name is the value of the label kind.
	Name string
	// List returns all objects of the kind in a cache, which are not changed. It fails if nothing caches them.
	List func(context.Context) ([]any, error)
}

// Register adds the metrics of the objects of some kinds to a registry, of each kind those of at most so many objects. It replaces
// earlier metrics, whose cache belongs to a stopped manager.
func Register(registry prometheus.Registerer, limit int, kinds ...Kind) error {
	c := newCollector(limit, kinds)
	if err := telemetry.Replace(registry, c); err != nil {
		return fmt.Errorf("register metrics of objects: %w", err)
	}
	return nil
}

// collector computes the metrics of objects in each scrape.
type collector struct {
	limit int
	kinds []Kind

	ready, stalled, phase, progress, leftovers, drained, omitted *prometheus.Desc
}

func newCollector(limit int, kinds []Kind) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("groundskeeper_object"+name, help, append([]string{"kind"}, labels...), nil)
	}
	return &collector{
		limit: limit, kinds: kinds,
		ready: desc("_ready", "Whether an object is Ready: 1, or 0 if it is not, or not known to be.", "namespace", "name"),
		stalled: desc("_stalled",
			"1 for an object that does not become Ready before a user acts, with the reason. There is no sample for others.", "namespace", "name",
			"reason"),
		phase: desc("_phase",
			"1 for the phase of a Project or Kluster, and the clusterStatus of a DiscoveryBackend.", "namespace", "name", "phase"),
		progress: desc("_last_progress_timestamp_seconds", "When an object last got closer to its desired state, or a condition changed, "+
			"in seconds since 1970.", "namespace", "name"),
		leftovers: desc("_leftovers", "Objects that Deorbit still has to delete, of a Kluster that is being deleted.", "namespace", "name"),
		drained: desc("_drained",
			"Whether maintenance has moved all traffic away, of a DiscoveryBackend in maintenance: 1 or 0.", "namespace", "name"),
		omitted: desc("s_omitted", "Objects that have no metrics, because the limit is reached. Objects that are not Ready come first."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.ready, c.stalled, c.phase, c.progress, c.leftovers, c.drained, c.omitted} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	for _, kind := range c.kinds {
		objects, err := kind.List(ctx)
		if err != nil {
			continue
		}
		states, omitted := limited(objects, c.limit)
		metrics <- prometheus.MustNewConstMetric(c.omitted, prometheus.GaugeValue, float64(omitted), kind.Name)
		for i := range states {
			c.send(metrics, kind.Name, &states[i])
		}
	}
}

func (c *collector) send(metrics chan<- prometheus.Metric, kind string, s *state) {
	gauge := func(desc *prometheus.Desc, value float64, more ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{kind, s.namespace, s.name}, more...)...)
	}
	gauge(c.ready, number(s.ready))
	if s.stalled {
		gauge(c.stalled, 1, s.reason)
	}
	if s.phase != "" {
		gauge(c.phase, 1, s.phase)
	}
	gauge(c.progress, float64(s.progress.Unix()))
	if s.leftovers >= 0 {
		gauge(c.leftovers, float64(s.leftovers))
	}
	if s.drained != nil {
		gauge(c.drained, number(*s.drained))
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// limited returns the states of as many objects as the limit permits, and how many there are no states of. Objects that a user has to
// repair come first, then those that are not ready, so that the metrics have what alerts are about; names decide between equals,
// so that series do not alternate.
func limited(objects []any, limit int) (states []state, omitted int) {
	states = make([]state, 0, len(objects))
	for _, object := range objects {
		if s, ok := stateOf(object); ok {
			states = append(states, s)
		}
	}
	if len(states) <= limit {
		return states, 0
	}
	slices.SortFunc(states, func(a, b state) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return states[:limit], len(states) - limit
}

func rank(s *state) int {
	switch {
	case s.stalled:
		return 0
	case !s.ready:
		return 1
	default:
		return 2
	}
}

// informers are those of a cache. An informer of a kind that no controller watches is an error.
type informers interface {
	GetInformer(ctx context.Context, object client.Object, options ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error)
}

// stored is an informer with a store, as all of this process are.
type stored interface{ GetStore() cache.Store }

func examples() map[string]client.Object {
	return map[string]client.Object{
		"Project": &gardenerv1beta1.Project{}, "Kluster": &kubernikusv1.Kluster{},
		"DiscoveryBackend": &gimbalv1.DiscoveryBackend{}, "Translation": &midonetv1.Translation{},
	}
}

// Cached returns kinds whose objects are those in a cache. They are read where the cache stores them: a list of the cache would copy
// all, and hold all Translations unpacked.
func Cached(from informers, names []string) ([]Kind, error) {
	var kinds []Kind
	for _, name := range names {
		example, ok := examples()[name]
		if !ok {
			return nil, fmt.Errorf("there are no metrics of kind %s", name)
		}
		kinds = append(kinds, Kind{Name: name, List: func(ctx context.Context) ([]any, error) {
			informer, err := from.GetInformer(ctx, example)
			if err != nil {
				return nil, err
			}
			with, ok := informer.(stored)
			if !ok {
				return nil, fmt.Errorf("the informer of %s has no store", name)
			}
			return with.GetStore().List(), nil
		}})
	}
	return kinds, nil
}
