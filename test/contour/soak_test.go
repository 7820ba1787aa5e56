// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// defaultRounds is how many rounds there are without SOAK. A round takes seconds, so that maxRounds bounds those of make soak.
const (
	defaultRounds = 4
	maxRounds     = 200
)

// soaked is a route whose backend is in maintenance at times, with a twin that does not: users change both in the same way, so that in the end
// Contour has to serve the same of both.
type soaked struct {
	namespace, twin string
	backend         *gimbalv1.DiscoveryBackend
	// manifest returns the route with references.
	manifest func(references string) string
	// references are what users want at present.
	references string
	// without reports that the Service of the alternative does not exist.
	without bool
	// maintained reports that the backend is in maintenance.
	maintained bool
}

// variants are references that users want: with and without weights, equal ones, renamed ones, more of them, some that cannot receive.
func variants() []string {
	return []string{
		"{name: us-web, port: 80}, {name: eu-web, port: 80}",
		"{name: us-web, port: 80, weight: 1}, {name: eu-web, port: 80, weight: 1}",
		"{name: us-web, port: 80, weight: 70}, {name: eu-web, port: 80, weight: 30}",
		"{name: eu-web, port: 80, weight: 30}, {name: us-web, port: 80, weight: 70}",
		"{name: us-api, port: 80, weight: 2}, {name: eu-web, port: 80, weight: 3}",
		"{name: us-web, port: 80, weight: 10}, {name: us-api, port: 80, weight: 20}, {name: eu-web, port: 80, weight: 30}",
		"{name: eu-api, port: 80, weight: 5}, {name: eu-web, port: 80, weight: 5}",
		"{name: us-web, port: 80, weight: 5}, {name: eu-udp, port: 80, weight: 5}",
		"{name: us-web, port: 80, weight: 5}, {name: eu-udp, port: 80, weight: 5}, {name: eu-web, port: 80, weight: 5}",
	}
}

// TestSoakRandomOrder does what users, GitOps tools and failures do to routes in maintenance, in a random order.
func TestSoakRandomOrder(t *testing.T) {
	rounds, seed := min(soaktest.Rounds(t, defaultRounds), maxRounds), uint64(os.Getpid())
	t.Logf("%d rounds, seed %d", rounds, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.newBackend("eu") // a controller manager that starts deletes the copies of a backend that does not exist
	var all []*soaked
	for i, manifest := range []func(string) string{
		func(references string) string { return proxy + host + "routes: [{services: [" + references + "]}]" },
		func(references string) string {
			return onGateway("HTTPRoute", "v1", "http", "{backendRefs: ["+references+"]}")
		},
	} {
		s := &soaked{namespace: fmt.Sprintf("soaked%d", i), twin: fmt.Sprintf("twin%d", i), manifest: manifest, references: variants()[0]}
		s.backend = w.newBackend(fmt.Sprintf("us%d", i))
		for j, namespace := range []string{s.namespace, s.twin} {
			us := s.backend.Name
			if j > 0 {
				us = w.newBackend("twin" + us).Name
			}
			w.Kubectl("", "create", "namespace", namespace)
			for k, service := range []string{"us-web", "us-api"} {
				w.publish(namespace, us, service, 100*i+10*j+k)
			}
			for k, service := range []string{"eu-web", "eu-api"} {
				w.publish(namespace, "eu", service, 100*i+10*j+k+5)
			}
			w.Kubectl(udpService, "apply", "-n", namespace, "-f", "-")
			w.applyRoute(namespace, s.manifest(s.references))
		}
		all = append(all, s)
	}
	w.equal("at first", all)
	for range rounds {
		for _, s := range all {
			w.disturb(random, s)
		}
		for _, s := range all {
			w.sendsNothing(s)
		}
	}
	for _, s := range all {
		w.declare(gimbalv1.ClusterEnabled, s.backend)
		if s.without {
			w.alternative(s, true)
		}
	}
	w.equal("in the end", all)
}

func (w *world) newBackend(name string) *gimbalv1.DiscoveryBackend {
	w.Helper()
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: name}}
	backend.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}
	if err := w.Client.Create(w.Context(), backend); err != nil {
		w.Fatal(err)
	}
	return backend
}

// applyRoute is a user, or a GitOps tool.
func (w *world) applyRoute(namespace, manifest string) {
	w.Helper()
	w.Kubectl(strings.ReplaceAll(manifest, "HOST", namespace+".example.org"), "apply", "--server-side", "--force-conflicts", "-n", namespace, "-f", "-")
}

// disturb does one of the things that happen.
func (w *world) disturb(random *rand.Rand, s *soaked) {
	w.Helper()
	switch action := random.IntN(6); action {
	case 0, 1: // maintenance begins or ends
		s.maintained = !s.maintained
		status := gimbalv1.ClusterEnabled
		if s.maintained {
			status = gimbalv1.ClusterMaintenance
		}
		w.Logf("%s: %s", s.namespace, status)
		w.declare(status, s.backend)
	case 2, 3: // a user changes the route, or a GitOps tool applies it again
		if action == 2 {
			s.references = variants()[random.IntN(len(variants()))]
		}
		w.Logf("%s: apply %s", s.namespace, s.references)
		for _, namespace := range []string{s.namespace, s.twin} {
			w.applyRoute(namespace, s.manifest(s.references))
		}
	case 4: // the Service of the alternative is deleted, or comes back
		s.without = !s.without
		w.Logf("%s: the alternative exists: %t", s.namespace, !s.without)
		w.alternative(s, !s.without)
	default:
		w.Logf("the controller manager is killed")
		if err := errors.Join(w.Plane.Managers[0].Kill(w.Context()), w.Plane.Managers[0].Start(w.Context())); err != nil {
			w.Fatal(err)
		}
	}
}

// alternative creates or deletes Service eu-web, with its endpoints.
func (w *world) alternative(s *soaked, exists bool) {
	w.Helper()
	for i, namespace := range []string{s.namespace, s.twin} {
		if exists {
			w.publish(namespace, "eu", "eu-web", 700+i)
			continue
		}
		w.Kubectl("", "delete", "service,endpointslice", "eu-web", "-n", namespace)
	}
}

// sendsNothing waits until a backend in maintenance reports that it is drained, and checks that Contour sends it nothing then.
func (w *world) sendsNothing(s *soaked) {
	w.Helper()
	if !s.maintained {
		return
	}
	w.drained([]*gimbalv1.DiscoveryBackend{s.backend}, metav1.ConditionTrue)
	w.contour.until(w.Context(), w.T, s.namespace+" is drained", func(current dump) string {
		for _, service := range sorted(current.receivers()) {
			if name, ok := strings.CutPrefix(service, s.namespace+"/"); ok && strings.HasPrefix(name, "us-") {
				return name + " receives"
			}
		}
		return ""
	})
}

// equal waits until Contour serves the same of all routes and their twins.
func (w *world) equal(what string, all []*soaked) {
	w.Helper()
	w.contour.until(w.Context(), w.T, what, func(current dump) string {
		for _, s := range all {
			if diff := gocmp.Diff(current.shares(s.twin), current.shares(s.namespace)); diff != "" {
				return s.namespace + ": " + diff
			}
		}
		return ""
	})
}

// shares returns the Services of a namespace that something is sent to, with their weights, as "name weight", sorted.
func (d dump) shares(namespace string) []string {
	var found []string
	note := func(cluster string, weight float64) {
		if name, ok := strings.CutPrefix(serviceOf(cluster), namespace+"/"); ok {
			found = append(found, fmt.Sprintf("%s %v, endpoints: %t", name, weight, d.responds(cluster)))
		}
	}
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, each := range node {
				walk(each)
			}
		case map[string]any:
			if cluster, ok := node["cluster"].(string); ok {
				note(cluster, 1)
			}
			if name, ok := node["name"].(string); ok && node["weight"] != nil {
				weight, _ := node["weight"].(float64)
				note(name, weight)
			}
			for _, each := range node {
				walk(each)
			}
		}
	}
	for _, resource := range d[routes] {
		walk(resource)
	}
	slices.Sort(found)
	return found
}
