// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remotecleanup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// visit is a cluster that is managed.
type visit struct {
	*localvolumetest.APIServer
	t        *testing.T
	registry *prometheus.Registry
	cluster  Cluster
	running  chan struct{}
	brakes   chan string
	cancel   context.CancelFunc
	ended    chan error
}

func newVisit(t *testing.T, name string) *visit {
	t.Helper()
	v := &visit{t: t, APIServer: localvolumetest.NewAPIServer(t), registry: prometheus.NewRegistry(), running: make(chan struct{}, 10), brakes: make(chan string, 10), ended: make(chan error, 1)}
	settings := configv1alpha1.LocalVolumeConfiguration{StorageClassNames: []string{"local"}, PVCDeletionDelay: &metav1.Duration{Duration: time.Second}}
	configv1alpha1.SetDefaults_LocalVolumeConfiguration(&settings)
	metrics, err := localvolume.NewMetrics(v.registry)
	if err != nil {
		t.Fatal(err)
	}
	config := remote.Limited(v.Config(), remote.Options{})
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	v.cluster = Cluster{
		Name: name, Config: config, HTTPClient: &http.Client{Transport: transport}, Settings: settings, Metrics: metrics, Clock: clock.RealClock{},
		Running: func() { v.running <- struct{}{} }, Braked: func(reason string) { v.brakes <- reason }, Elsewhere: func(string) {},
	}
	return v
}

// begin runs the cleanup until end.
func (v *visit) begin() {
	ctx, cancel := context.WithCancel(v.t.Context())
	v.cancel = cancel
	go func() { v.ended <- Run(ctx, v.cluster) }()
}

func (v *visit) end() {
	v.t.Helper()
	v.cancel()
	if err := <-v.ended; err != nil {
		v.t.Errorf("it ended with %v", err)
	}
}

func (v *visit) bound(name, class, node string) {
	v.Put("persistentvolumeclaims", fmt.Sprintf("{metadata: {namespace: shop, name: %s, uid: claim-%[1]s}, spec: {volumeName: %[1]s}}", name))
	v.Put("persistentvolumes", fmt.Sprintf(`{metadata: {name: %s}, spec: {storageClassName: %s, local: {path: /mnt}, persistentVolumeReclaimPolicy: Delete,
		claimRef: {namespace: shop, name: %[1]s, uid: claim-%[1]s},
		nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%[3]s]}]}]}}},
		status: {phase: Bound}}`, name, class, node))
}

func (v *visit) node(name string) {
	v.Put("nodes", fmt.Sprintf("{metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s}}}", name))
}

func (v *visit) eventually(what string, condition func() bool) {
	v.t.Helper()
	err := wait.PollUntilContextTimeout(v.t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		v.t.Fatalf("%s: %v; requests %v", what, err, v.Requests())
	}
}

// gauges returns those of the cluster.
func (v *visit) gauges() int {
	v.t.Helper()
	n, err := testutil.GatherAndCount(v.registry, "groundskeeper_local_volume_missing_nodes", "groundskeeper_local_volume_not_node_bound", "groundskeeper_local_volume_brake_engaged")
	if err != nil {
		v.t.Fatal(err)
	}
	return n
}

// TestRun checks that both controllers run in the remote cluster with its own nodes, and leave nothing behind when they stop.
func TestRun(t *testing.T) {
	v := newVisit(t, "garden-shop/web")
	for _, node := range []string{"a", "b"} {
		v.node(node)
	}
	v.Put("namespaces", "{metadata: {name: shop}}")
	v.bound("lost", "local", "a")
	v.bound("living", "local", "b")
	v.bound("foreign", "other", "a")
	v.begin()
	<-v.running
	v.eventually("the gauges are there", func() bool { return v.gauges() == 3 })
	v.Remove("nodes", "a", false)
	v.eventually("the claim is deleted", func() bool { return !v.Has("persistentvolumeclaims", "shop/lost") })
	// Kubernetes' part.
	v.Put("persistentvolumes", `{metadata: {name: lost}, spec: {storageClassName: local, local: {path: /mnt}, persistentVolumeReclaimPolicy: Delete,
		claimRef: {namespace: shop, name: lost, uid: claim-lost},
		nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}]}}},
		status: {phase: Released}}`)
	v.eventually("the volume is deleted", func() bool { return !v.Has("persistentvolumes", "lost") })
	for _, name := range []string{"living", "foreign"} {
		if !v.Has("persistentvolumeclaims", "shop/"+name) || !v.Has("persistentvolumes", name) {
			t.Errorf("%s has been deleted", name)
		}
	}
	v.end()
	if n := v.gauges(); n != 0 {
		t.Errorf("%d gauges are left", n)
	}
	requests := v.Requests()
	for _, want := range []string{"create configmaps ", "create events "} {
		if !slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, want) }) {
			t.Errorf("no request %q", want)
		}
	}
}

// TestBrake checks that each cluster has its own brake, which is reported.
func TestBrake(t *testing.T) {
	v, other := newVisit(t, "braked"), newVisit(t, "other")
	for _, w := range []*visit{v, other} {
		w.Put("namespaces", "{metadata: {name: shop}}")
		for i := range 4 {
			w.node(fmt.Sprint("n", i))
			w.bound(fmt.Sprint("v", i), "local", fmt.Sprint("n", i))
		}
	}
	v.begin()
	other.begin()
	<-v.running
	<-other.running
	for i := range 3 {
		v.Remove("nodes", fmt.Sprint("n", i), false)
	}
	other.Remove("nodes", "n0", false)
	if reason := <-v.brakes; !strings.Contains(reason, "3 of 4 nodes") {
		t.Errorf("the brake reports %q", reason)
	}
	other.eventually("the claim is deleted", func() bool { return !other.Has("persistentvolumeclaims", "shop/v0") })
	v.node("n0")
	if reason := <-v.brakes; reason != "" {
		t.Errorf("the brake reports %q", reason)
	}
	v.eventually("the claims go", func() bool {
		return !v.Has("persistentvolumeclaims", "shop/v1") && !v.Has("persistentvolumeclaims", "shop/v2")
	})
	if !v.Has("persistentvolumeclaims", "shop/v0") {
		t.Error("the claim of a node that is back has been deleted")
	}
	v.end()
	other.end()
}

// TestPermissions checks the effects of missing permissions: some prevent the start, others disable a part.
func TestPermissions(t *testing.T) {
	for _, right := range []string{"list nodes", "watch persistentvolumes", "delete persistentvolumeclaims"} {
		v := newVisit(t, "garden-shop/web")
		v.Deny(right, true)
		v.begin()
		err := <-v.ended
		if lacks, ok := errors.AsType[*ForbiddenError](err); !ok || len(lacks.Missing) != 1 || lacks.Missing[0] != right {
			t.Errorf("without %s: %v", right, err)
		}
		if v.gauges() != 0 {
			t.Error("gauges are left")
		}
		v.cancel()
	}
	v := newVisit(t, "garden-shop/web")
	v.Deny("create configmaps", true)
	v.Deny("list namespaces", true)
	v.begin()
	<-v.running
	v.end()
	if requests := v.Requests(); slices.Contains(requests, "list namespaces ") {
		t.Errorf("requests %v", requests)
	}
}

// TestUnreachable checks that an unresponsive cluster is an error and leaves nothing behind.
func TestUnreachable(t *testing.T) {
	v := newVisit(t, "garden-shop/web")
	v.Break(http.StatusServiceUnavailable)
	v.begin()
	defer func() { v.cancel() }()
	if err := <-v.ended; err == nil || v.gauges() != 0 {
		t.Errorf("%v, %d gauges", err, v.gauges())
	}
}

// TestNoLeak checks that nothing continues to run after many starts.
func TestNoLeak(t *testing.T) {
	v := newVisit(t, "garden-shop/web")
	v.node("a")
	v.bound("a", "local", "a")
	before := runtime.NumGoroutine()
	for i := range 20 {
		v.begin()
		if i%2 == 0 { // others end before they know anything
			<-v.running
		}
		v.end()
	}
	v.cluster.HTTPClient.CloseIdleConnections()
	v.CloseClientConnections()
	stacks := func() string {
		text := make([]byte, 1<<20)
		return string(text[:runtime.Stack(text, true)])
	}
	last := ""
	defer func() {
		if t.Failed() {
			t.Log(last)
		}
	}()
	v.eventually("all goroutines end", func() bool {
		last = stacks()
		return runtime.NumGoroutine() <= before
	})
	if n := v.gauges(); n != 0 {
		t.Errorf("%d gauges are left", n)
	}
}
