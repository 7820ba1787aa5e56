// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// Bounds of what a Deorbit costs, and the memory limit of the controller manager in the manifests.
const (
	mostWrites   = 20
	mostRequests = 30
	// mostLists is how often a Deorbit lists all Klusters at most, if it shares no list with another one: in the checks of OpenStack only.
	mostLists = 6
	// beside is how many Klusters stay.
	beside      = 3000
	memoryLimit = 1 << 30
)

// TestManyDeorbits checks what many Deorbits at once cost, each of a cluster with a volume and a Service, in 10 projects of one cloud, beside
// 3000 Klusters that stay: all end clean, with a bounded number of writes, of lists of all Klusters and of requests to the cloud, within the
// memory limit that the manifests set.
// SOAK=500 go test -run TestManyDeorbits -v ./pkg/controllers/kluster/deorbit prints the figures of docs/sizing.md. Memory and CPU time
// include those of the cloud and of the API servers of the clusters.
func TestManyDeorbits(t *testing.T) {
	clusters := soaktest.Rounds(t, 20)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	m := newMany(t, clusters)
	m.memory() // what there is before
	began := cpu(t)
	for range 400 {
		if len(m.going) == 0 {
			break
		}
		m.round(t)
	}
	if got := testutil.ToFloat64(m.r.meters.finished.WithLabelValues(string(endsClean))); int(got) != clusters {
		t.Fatalf("%v of %d Deorbits ended clean, %d did not end", got, clusters, len(m.going))
	}
	writes, requests := float64(m.store.Count())/float64(clusters), float64(m.requests)/float64(clusters)
	t.Logf("%d Deorbits beside %d Klusters: %.1f writes, %.1f requests to OpenStack each, %d lists of all Klusters, %s of CPU time, %d MiB at most, "+
		"%d MiB of that before they began", clusters, len(m.selecting.beside), writes, requests, m.selecting.whole.Load(), cpu(t)-began, m.most>>20, m.before>>20)
	if writes > mostWrites || requests > mostRequests || m.most > memoryLimit {
		t.Errorf("%.1f writes, %.1f requests each, %d MiB; want at most %d, %d and %d MiB",
			writes, requests, m.most>>20, mostWrites, mostRequests, memoryLimit>>20)
	}
	if lists := m.selecting.whole.Load(); int(lists) > mostLists*clusters {
		t.Errorf("all Klusters were listed %d times for %d Deorbits, want at most %d times each", lists, clusters, mostLists)
	}
}

// cpu returns the CPU time of the process.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Round(time.Second / 10)
}

// many are clusters that are deleted at once.
type many struct {
	*life
	clusters  []*life
	going     []*kubernikusv1.Kluster
	requests  int
	selecting *selecting
	// before and most are the memory of the process.
	before, most uint64
}

func newMany(t *testing.T, clusters int) *many {
	t.Helper()
	const projects = 10
	cloud := fake.New(fake.Options{Delay: -1})
	t.Cleanup(cloud.Close)
	m := &many{life: &life{killer: &killer{}, cloud: cloud}}
	var objects []client.Object
	for i := range clusters {
		name, project := fmt.Sprintf("cluster-%d", i), fmt.Sprintf("project-%d", i%projects)
		cloud.AddUser(project, "password", project)
		l := &life{killer: m.killer, cloud: cloud, cluster: newAPIServer(t, m.handler), project: project, name: name, tag: name, ccm: true, csi: true,
			made: map[string]string{}, kept: map[string]bool{}, guarded: map[string]bool{}, parts: map[string]balanced{}}
		l.cluster.items["/api/v1/namespaces//kube-system"]["metadata"].(item)["uid"] = "uid-of-" + name
		l.claim("data", "Delete")
		l.service("web", "IP", false)
		k := deleted(name, leadsTo("uid-of-"+name), func(k *kubernikusv1.Kluster) {
			k.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &l.name, CSIClusterID: &l.tag}
			k.Spec.CustomCNI = true
		})
		objects = append(objects, k, klustertest.Secret(name+"-secret", cloud.AuthURL(), project, "password", project,
			map[string][]byte{"kubeconfig": l.cluster.kubeconfig(t)}))
		m.clusters, m.going = append(m.clusters, l), append(m.going, k)
	}
	m.flow = newFlow(t, objects...)
	m.recorder = events.NewFakeRecorder(100 * clusters)
	m.restart(t)
	m.selecting = &selecting{Reader: m.r.live, klusters: slices.Clone(m.going)}
	for i := range beside {
		name := fmt.Sprintf("beside-%d", i)
		text, err := klustertest.Kluster(name, leadsTo("uid-of-"+name)).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		m.selecting.beside = append(m.selecting.beside, text)
	}
	m.r.live = m.selecting
	return m
}

// selecting reads Klusters by the identity of their cluster, as an API server does that has an index: the store converts all objects for each
// list. In a list of all it decodes those that stay, as the client of an API server does.
type selecting struct {
	client.Reader
	klusters []*kubernikusv1.Kluster
	beside   [][]byte
	// whole counts the lists of all.
	whole atomic.Int64
}

// List implements client.Reader.
func (s *selecting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var of client.ListOptions
	of.ApplyOptions(options)
	found, ok := list.(*kubernikusv1.KlusterList)
	if !ok {
		return s.Reader.List(ctx, list, options...)
	}
	found.ResourceVersion = "1"
	if of.FieldSelector == nil {
		s.whole.Add(1)
		found.Items = make([]kubernikusv1.Kluster, len(s.beside))
		for i, text := range s.beside {
			if err := found.Items[i].Unmarshal(text); err != nil {
				return err
			}
		}
	}
	for _, k := range s.klusters {
		if of.FieldSelector != nil && !of.FieldSelector.Matches(fields.Set{kubernikusv1.KlusterClusterField: k.Status.Identity.ClusterID}) {
			continue
		}
		current := &kubernikusv1.Kluster{}
		if err := s.Get(ctx, client.ObjectKeyFromObject(k), current); client.IgnoreNotFound(err) != nil {
			return err
		} else if err == nil {
			found.Items = append(found.Items, *current)
		}
	}
	return nil
}

// round lets the Deorbits do what is due, then the clusters and the cloud.
func (m *many) round(t *testing.T) {
	t.Helper()
	for _, k := range m.going {
		m.reconcile(k)
	}
	for m.running() {
		request, _ := m.queue.Get()
		m.queue.Done(request)
		if _, err := m.r.Reconcile(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
	m.memory()
	m.reported()
	for _, r := range m.cloud.Requests() {
		if !strings.HasPrefix(r.Path, "/identity") {
			m.requests++
		}
	}
	for _, l := range m.clusters {
		l.controllers()
	}
	m.cloud.Settle()
	m.clock.SetTime(m.clock.Now().Add(20 * time.Second))
	m.going = slices.DeleteFunc(m.going, func(k *kubernikusv1.Kluster) bool { return !m.store.Find(k) })
}

func (m *many) running() bool {
	return m.queue.Len() > 0 || slices.ContainsFunc(m.going, func(k *kubernikusv1.Kluster) bool {
		key := client.ObjectKeyFromObject(k)
		return m.r.clusters.Running(key) || m.r.clouds.Running(key)
	})
}

// memory reads what GOMEMLIMIT applies to.
func (m *many) memory() {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	used := samples[0].Value.Uint64() - samples[1].Value.Uint64()
	if m.before == 0 {
		m.before = used
	}
	m.most = max(m.most, used)
}
