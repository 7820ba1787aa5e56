// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const ofNoBackend = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: other}
spec: {routes: [{services: [{name: plain, port: 80}]}]}
`

// viewer returns a Viewer of the world, which knows what it can know.
func (w *world) viewer() *Viewer {
	w.Helper()
	v := NewViewer(w.find, resourcewatch.Source{Metadata: w.metadata, Dynamic: w.dynamic}, clock.RealClock{}, []string{adminNamespace})
	ctx, cancel := context.WithCancel(w.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = v.Start(ctx) })
	w.Cleanup(func() { cancel(); group.Wait() })
	settled, cancelWait := context.WithTimeout(ctx, time.Second)
	defer cancelWait()
	v.Settled(settled)
	return v
}

func (w *world) traffic(v *Viewer, assume *Assumption) string {
	w.Helper()
	traffic, err := v.Traffic(w.Context(), assume)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, route := range traffic.Routes {
		for _, rule := range route.Rules {
			for _, p := range rule.Parts {
				all = append(all, fmt.Sprintf("%s %s: %s %.0f/%.0f/%.0f", route.Kind, route.Name, p.Service.Name, 100*p.Now, 100*p.Wanted, 100*p.Next))
			}
		}
	}
	for _, err := range traffic.Unknown {
		all = append(all, err.Error())
	}
	return strings.Join(all, ", ")
}

// TestViewer checks that it shows the traffic of the routes of backends, and predicts exactly what a drain writes.
func TestViewer(t *testing.T) {
	inWorld(t, func(w *world) {
		v := w.viewer()
		if got, want := w.traffic(v, nil), "HTTPProxy web: us-web 70/70/70, HTTPProxy web: eu-web 30/30/30"; got != want {
			t.Errorf("traffic = %s, want %s", got, want)
		}
		drained := &Assumption{"us", gimbalv1.ClusterMaintenance}
		if got, want := w.traffic(v, drained), "HTTPProxy web: us-web 70/70/0, HTTPProxy web: eu-web 30/30/100"; got != want {
			t.Errorf("traffic without the backend = %s, want %s", got, want)
		}
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		if got, want := w.traffic(v, nil), "HTTPProxy web: us-web 0/70/0, HTTPProxy web: eu-web 100/30/100"; got != want {
			t.Errorf("traffic after the drain = %s, want %s", got, want)
		}
		if got, want := w.traffic(v, &Assumption{"us", gimbalv1.ClusterEnabled}), "HTTPProxy web: us-web 0/70/70, HTTPProxy web: eu-web 100/30/30"; got != want {
			t.Errorf("traffic with the backend again = %s, want %s", got, want)
		}
		if got, want := w.traffic(v, &Assumption{"xx", gimbalv1.ClusterEnabled}), "DiscoveryBackend xx: there is no such backend"; got != want {
			t.Errorf("traffic = %s, want %s", got, want)
		}
	}, shared, ofNoBackend)
}

// TestViewerReportsWhatIsUnknown checks that a kind that cannot be read is reported, and that the others are shown.
func TestViewerReportsWhatIsUnknown(t *testing.T) {
	forbidden := func(resource schema.GroupResource) error { return apierrors.NewForbidden(resource, "", nil) }
	inWorld(t, func(w *world) {
		w.mu.Lock()
		routes := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
		w.unserved[routes] = forbidden(routes)
		w.mu.Unlock()
		v := w.viewer()
		if got := w.traffic(v, nil); !strings.Contains(got, "us-web 70/70/70") || !strings.Contains(got, "httproutes") {
			t.Errorf("traffic = %s, want that of the HTTPProxy and why HTTPRoutes are unknown", got)
		}
	}, shared)
}
