// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// Types of what Contour serves, as its command line calls them.
const (
	listeners = "lds"
	routes    = "rds"
	clusters  = "cds"
	endpoints = "eds"
)

// dump is what Contour serves at a moment: the resources of each type by their names.
type dump map[string]map[string]any

// streams follow what a Contour serves.
type streams struct {
	mu      sync.Mutex
	latest  dump
	changed chan struct{}
}

// follow starts a client for each type. They end with the context.
func follow(ctx context.Context, t *testing.T, binary, address string) *streams {
	t.Helper()
	s := &streams{latest: dump{}, changed: make(chan struct{})}
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	for _, kind := range []string{listeners, routes, clusters, endpoints} {
		client := exec.CommandContext(ctx, binary, "cli", kind, "--contour="+address)
		out, err := client.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			decoder := json.NewDecoder(out)
			for {
				message := struct {
					Nonce     string           `json:"nonce"` // requests have none
					Resources []map[string]any `json:"resources"`
				}{}
				if err := decoder.Decode(&message); err != nil {
					break
				}
				if message.Nonce != "" {
					s.put(kind, message.Resources)
				}
			}
			if err := client.Wait(); err != nil && ctx.Err() == nil {
				t.Errorf("contour cli %s: %v", kind, err)
			}
		})
	}
	return s
}

func (s *streams) put(kind string, resources []map[string]any) {
	named := map[string]any{}
	for _, resource := range resources {
		name, _ := resource["name"].(string)
		cluster, _ := resource["cluster_name"].(string)
		named[cmp.Or(name, cluster)] = resource
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == endpoints { // of which only those come that changed
		unchanged := maps.Clone(s.latest[kind])
		maps.DeleteFunc(unchanged, func(name string, _ any) bool { return named[name] != nil })
		maps.Copy(named, unchanged)
	}
	s.latest = maps.Clone(s.latest)
	s.latest[kind] = named
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits until the served configuration is as desired. The check returns what is wrong, "" if nothing is.
func (s *streams) until(ctx context.Context, t *testing.T, what string, check func(dump) string) dump {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		latest, changed := s.latest, s.changed
		s.mu.Unlock()
		wrong := check(latest)
		if wrong == "" {
			return latest
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s: Contour does not serve that: %s", what, wrong)
		}
	}
}

// receivers returns the Services, as namespace/name, that requests reach: some route sends to them, be it copies, and they
// have an endpoint.
func (d dump) receivers() map[string]bool {
	found := map[string]bool{}
	for _, resource := range []map[string]any{d[listeners], d[routes]} {
		targets(resource, func(cluster string) {
			if d.responds(cluster) {
				found[serviceOf(cluster)] = true
			}
		})
	}
	return found
}

// serviceOf returns the Service of a cluster, from its name namespace/service/port/hash.
func serviceOf(cluster string) string {
	parts := strings.Split(cluster, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// Reports whether a cluster has an endpoint.
func (d dump) responds(cluster string) bool {
	settings, _ := d[clusters][cluster].(map[string]any)
	discovered, _ := settings["eds_cluster_config"].(map[string]any)
	name, _ := discovered["service_name"].(string)
	assignment, _ := d[endpoints][name].(map[string]any)
	localities, _ := assignment["endpoints"].([]any)
	for _, each := range localities {
		locality, _ := each.(map[string]any)
		if addresses, _ := locality["lb_endpoints"].([]any); len(addresses) > 0 {
			return true
		}
	}
	return false
}

// targets finds, wherever they stand, the clusters that something is sent to.
func targets(node any, found func(cluster string)) {
	switch node := node.(type) {
	case []any:
		for _, each := range node {
			targets(each, found)
		}
	case map[string]any:
		if cluster, ok := node["cluster"].(string); ok {
			found(cluster)
		}
		if weighted, ok := node["weighted_clusters"].(map[string]any); ok {
			shares, _ := weighted["clusters"].([]any)
			for _, each := range shares {
				share, _ := each.(map[string]any)
				name, _ := share["name"].(string)
				if weight, _ := share["weight"].(float64); weight > 0 {
					found(name)
				}
				delete(share, "name") // it has been dealt with
				targets(share, found)
				share["name"] = name
			}
			return
		}
		for _, each := range node {
			targets(each, found)
		}
	}
}

// startContour runs Contour until the test ends, and follows what it serves.
func (w *world) startContour(config string) *streams {
	w.Helper()
	binary := w.Binary("contour", "contour")
	ports := make([]int, 4)
	for i := range ports {
		ports[i] = planetest.FreePort(w)
	}
	w.Run(binary, nil, "serve", "--kubeconfig="+w.Plane.AdminKubeconfig(), "--config-path="+config, "--insecure", "--disable-leader-election",
		"--disable-feature=backendtlspolicies", "--xds-address=127.0.0.1", fmt.Sprintf("--xds-port=%d", ports[0]),
		"--http-address=127.0.0.1", fmt.Sprintf("--http-port=%d", ports[1]), "--health-address=127.0.0.1", fmt.Sprintf("--health-port=%d", ports[2]),
		"--debug-http-address=127.0.0.1", fmt.Sprintf("--debug-http-port=%d", ports[3]))
	w.awaitPort(ports[0])
	return follow(w.Context(), w.T, binary, fmt.Sprintf("127.0.0.1:%d", ports[0]))
}

// sorted returns the keys of a set.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
