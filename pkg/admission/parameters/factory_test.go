// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	limits     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "limits"}
)

// cluster is a management cluster with one object of each kind of parameters, whose permissions a test takes and grants.
type cluster struct {
	*dynamicfake.FakeDynamicClient
	denial atomic.Pointer[error]
}

func newCluster() *cluster {
	limit := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Limit", "metadata": map[string]any{"name": "p"}, "longest": int64(3),
	}}
	settings := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Data: map[string]string{"longest": "3"}}
	c := &cluster{FakeDynamicClient: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(clientgoscheme.Scheme,
		map[schema.GroupVersionResource]string{limits: "LimitList"}, limit, settings)}
	c.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := c.denial.Load(); err != nil {
			return true, nil, *err
		}
		return false, nil, nil
	})
	return c
}

func (c *cluster) deny(err error) { c.denial.Store(&err) }

func (c *cluster) grant() { c.denial.Store(nil) }

// eventually polls until a condition returns no error.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = condition()
		return last == nil, nil
	}); err != nil {
		t.Fatal(last)
	}
}

// started returns an informer that runs until the test ends or stop is called.
func started(t *testing.T, f *Factory, resource schema.GroupVersionResource) (i informers.GenericInformer, stop func()) {
	t.Helper()
	i, err := f.ForResource(resource)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	stopped := false
	stop = func() {
		if !stopped {
			close(done)
			stopped = true
		}
	}
	t.Cleanup(stop)
	f.Start(done)
	return i, stop
}

// errorsOf calls everything that reads parameters, as the library does once HasSynced is true.
func errorsOf(i informers.GenericInformer) []error {
	_, get := i.Lister().Get("p")
	_, list := i.Lister().List(labels.Everything())
	_, getNamespaced := i.Lister().ByNamespace("default").Get("p")
	_, listNamespaced := i.Lister().ByNamespace("default").List(labels.Everything())
	return []error{get, list, getNamespaced, listNamespaced}
}

// TestReadinessDoesNotDependOnParameters checks that no informer for parameters is one of the shared ones, for which the server waits
// before it is ready.
func TestReadinessDoesNotDependOnParameters(t *testing.T) {
	shared := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	shared.Core().V1().Namespaces().Informer()
	f := NewFactory(shared, newCluster())
	for _, resource := range []string{"configmaps", "secrets", "namespaces", "nodes"} {
		started(t, f, corev1.SchemeGroupVersion.WithResource(resource))
	}
	shared.StartWithContext(t.Context())
	waited := shared.WaitForCacheSyncWithContext(t.Context()).Synced
	if _, ok := waited[reflect.TypeFor[*corev1.Namespace]()]; !ok || len(waited) != 1 {
		t.Errorf("readiness waits for %v, want the shared informer of namespaces alone", waited)
	}
}

// TestDenied checks that parameters that the server may not read are an error that names the permission, without a delay, and
// that a grant makes them readable without a restart.
func TestDenied(t *testing.T) {
	for name, denial := range map[string]error{
		"forbidden":    apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("no role")),
		"unauthorized": apierrors.NewUnauthorized("the token has expired"),
	} {
		for _, resource := range []schema.GroupVersionResource{configMaps, limits} {
			t.Run(name+" "+resource.Resource, func(t *testing.T) {
				c := newCluster()
				c.deny(denial)
				i, _ := started(t, NewFactory(nil, c), resource)
				eventually(t, func() error {
					if !i.Informer().HasSynced() {
						return errors.New("requests wait for a sync that does not come")
					}
					return nil
				})
				for _, err := range errorsOf(i) {
					if err == nil || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "not allowed to read "+resource.GroupResource().String()) ||
						!strings.Contains(err.Error(), "groundskeeper.io/aggregate-to-policy-parameters=true") {
						t.Errorf("got %v, want an error that names the permission and the label", err)
					}
				}
				c.grant()
				eventually(t, func() error { return readable(i, resource) })
			})
		}
	}
}

// readable returns an error until the object of a kind of parameters is read.
func readable(i informers.GenericInformer, resource schema.GroupVersionResource) error {
	if !i.Informer().HasSynced() {
		return errors.New("not synced")
	}
	if resource == limits {
		limit, err := i.Lister().Get("p")
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedInt64(limit.(*unstructured.Unstructured).Object, "longest"); got != 3 {
			return fmt.Errorf("limit = %d, want 3", got)
		}
		return nil
	}
	object, err := i.Lister().ByNamespace("default").Get("p")
	if err != nil {
		return err
	}
	settings, ok := object.(*corev1.ConfigMap)
	if !ok || settings.Data["longest"] != "3" || settings.Kind != "" {
		return fmt.Errorf("parameters = %#v, want the ConfigMap as the library's informers return it", object)
	}
	return nil
}

// TestIncompleteCache checks that a cache that has not been filled is not read as one without parameters, which a policy may
// allow, and that a failure without a response is no missing permission.
func TestIncompleteCache(t *testing.T) {
	c := newCluster()
	c.deny(apierrors.NewServiceUnavailable("away"))
	i, _ := started(t, NewFactory(nil, c), configMaps)
	eventually(t, func() error {
		if len(c.Actions()) == 0 {
			return errors.New("no request")
		}
		return nil
	})
	if i.Informer().HasSynced() {
		t.Error("HasSynced = true without a response, want false: the request waits")
	}
	for _, err := range errorsOf(i) {
		if err == nil || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "not yet synced") {
			t.Errorf("got %v, want that the parameters are not yet synced", err)
		}
	}
}

// TestRevoked checks that parameters that were read and may not be read any more are not used, and that an interruption is no reason.
func TestRevoked(t *testing.T) {
	i := newInformer(newCluster(), configMaps)
	go i.informer.Run(t.Context().Done())
	eventually(t, func() error { return readable(i, configMaps) })
	for _, step := range []struct {
		outcome error
		denied  bool
	}{
		{apierrors.NewServiceUnavailable("away"), false},
		{apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("no role")), true},
		{apierrors.NewServiceUnavailable("away"), true},
		{nil, false},
	} {
		i.observe(t.Context(), step.outcome)
		if err := i.unreadable(); step.denied != (err != nil) {
			t.Errorf("after %v: got %v, denied = %t", step.outcome, err, step.denied)
		}
	}
}

// TestNewPolicyHasNewInformer checks that the informer of a deleted policy is not reused, whose last state would never change again, and
// that its end does not stop another one.
func TestNewPolicyHasNewInformer(t *testing.T) {
	c := newCluster()
	f := NewFactory(nil, c)
	first, stop := started(t, f, configMaps)
	other, _ := started(t, f, limits)
	eventually(t, func() error { return readable(first, configMaps) })
	stop()
	eventually(t, func() error {
		if !first.Informer().IsStopped() {
			return errors.New("not stopped")
		}
		return nil
	})
	second, _ := started(t, f, configMaps)
	eventually(t, func() error { return readable(second, configMaps) })
	if other.Informer().IsStopped() || second.Informer().IsStopped() {
		t.Error("the end of one informer stopped another one")
	}
}
