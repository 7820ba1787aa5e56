// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestUnavailableHost(t *testing.T) {
	w := newWorld(t)
	respond := func(verb, resource string, err error) func(string, string) error {
		return func(v, r string) error {
			if v == verb && r == resource {
				return err
			}
			return nil
		}
	}
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("no RBAC"))
	}
	for name, test := range map[string]struct {
		fail func(string, string) error
		want []string
	}{
		"namespace missing": {respond("create", "configmaps", apierrors.NewNotFound(corev1.Resource("namespaces"), Namespace)), []string{"kubectl create namespace groundskeeper-system"}},
		"get forbidden":     {respond("get", "configmaps", forbidden("configmaps")), []string{"get ConfigMap groundskeeper-system/groundskeeper-store", "apply the RBAC", "no RBAC"}},
		"create forbidden":  {respond("create", "configmaps", forbidden("configmaps")), []string{"write ConfigMap groundskeeper-system/groundskeeper-store", "apply the RBAC", "no RBAC"}},
		"list forbidden":    {respond("list", "namespaces", forbidden("namespaces")), []string{"list namespaces", "apply the RBAC", "no RBAC"}},
		"unauthorized":      {respond("get", "configmaps", apierrors.NewUnauthorized("who?")), []string{"get ConfigMap", "who?"}},
		"unreachable":       {respond("get", "configmaps", errors.New("connection refused")), []string{"does not respond", "--kubeconfig", "connection refused"}},
		"overloaded":        {respond("list", "namespaces", apierrors.NewTooManyRequests("later", 1)), []string{"does not respond", "list namespaces", "later"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.wipe(t)
			w.host.set(nil)
			w.host.setFail(test.fail)
			defer w.host.setFail(nil)
			config := w.config()
			config.Timeout = 2 * time.Second
			rejected(t, config, test.want...)
		})
	}
	t.Run("unreachable for a while", func(t *testing.T) {
		w.wipe(t)
		calls := 0
		w.host.setFail(func(string, string) error {
			if calls++; calls < 3 {
				return errors.New("connection refused")
			}
			return nil
		})
		verified(t, w.config())
	})
}

func TestSpoiledRecords(t *testing.T) {
	w := newWorld(t)
	for _, value := range []string{"", "nothing", "{}", `{"id":""}`} {
		w.restore(t, map[string]string{prefix + "/store": value})
		rejected(t, w.config(), prefix+"/store", "does not name a store")
	}
	w.wipe(t)
	for _, data := range []map[string]string{nil, {"id": "a"}, {"revision": "1"}, {"id": "a", "revision": "x"}, {"id": "a", "revision": "-1"}} {
		w.host.set(&Record{})
		w.host.configMap.Data = data
		rejected(t, w.config(), "groundskeeper-system/groundskeeper-store", "does not name a store")
	}
}

func TestUnavailableEtcd(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	if err := w.etcd.Close(); err != nil {
		t.Fatal(err)
	}
	rejected(t, config, fmt.Sprintf("etcd key %s/store", prefix))
}

func TestRecorderTriesAgain(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	r := runRecorder(t, w, first)
	var mu sync.Mutex
	calls := 0
	w.host.setFail(func(string, string) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return fmt.Errorf("connection refused")
	})
	r.Written(100)
	attempts := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return calls >= n
		}
	}
	for n := range 3 {
		r.clock.Step(10 * time.Second)
		until(t, attempts(n+1))
	}
	w.host.setFail(nil)
	r.clock.Step(10 * time.Second)
	until(t, func() bool { return w.host.recorded(t).Revision == 100 })
	until(t, func() bool { return r.logged("recorded again") == 1 })
	if n := r.logged("Cannot record"); n != 1 {
		t.Errorf("the failure is logged %d times", n)
	}
}

func TestRecorderNoticesAReplacedStore(t *testing.T) {
	for name, replace := range map[string]func(*testing.T, *world){
		"wiped":         func(t *testing.T, w *world) { w.wipe(t) },
		"another":       func(t *testing.T, w *world) { w.restore(t, map[string]string{prefix + "/store": `{"id":"b"}`}) },
		"host moved on": func(_ *testing.T, w *world) { w.host.set(&Record{"b", 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := verified(t, w.config())
			r := runRecorder(t, w, first)
			replace(t, w)
			r.clock.Step(10 * time.Second)
			if err := <-r.done; !errors.Is(err, ErrReplaced) {
				t.Errorf("got %v", err)
			}
			if dump := w.dump(t); name == "wiped" && len(dump) != 0 {
				t.Errorf("it wrote into the other store: %v", dump)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1000, 0)
	m.Observe(at, nil)
	m.Observe(at.Add(time.Minute), errors.New("connection refused"))
	if recorded, failures := testutil.ToFloat64(m.recorded), testutil.ToFloat64(m.failures); recorded != 1000 || failures != 1 {
		t.Errorf("recorded at %v, %v failures", recorded, failures)
	}
	(*Metrics)(nil).Observe(at, nil)
	second, err := NewMetrics(registry)
	if err != nil || testutil.ToFloat64(second.failures) != 1 {
		t.Errorf("the second server of the process does not continue with the metrics of the first: %v", err)
	}
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_store_record_failures_total", Help: "another"}))
	if _, err := NewMetrics(taken); err == nil {
		t.Error("a name that is taken is no error")
	}
}
