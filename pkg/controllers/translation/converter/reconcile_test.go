// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// TestOwners checks that the Translations of each kind of owner are created with one request each, as package convert specifies,
// and that a second reconciliation sends none.
func TestOwners(t *testing.T) {
	node, pod, service := testNode("a"), testPod("web-0", "a"), testService("front")
	node.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "192.0.2.1"
	slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8")
	config := convert.Config{Tenant: "midonetkube", TunnelZoneName: "DefaultTunnelZone", ServiceTypes: []corev1.ServiceType{corev1.ServiceTypeClusterIP}}
	for name, tc := range map[string]struct {
		unit      unit
		namespace string
		want      []midonetv1.Translation
		requests  []string
	}{
		"globals": {unit{}, "kube-system", convert.Globals(config).Translations,
			[]string{"create midonet-global.4.chain", "create midonet-global.4.cluster-router", "create midonet-global.4.tunnel-zone"}},
		"node": {nodeA, "default", convert.Node(node, config).Translations,
			[]string{"create node-tunnel-endpoint.4.a-192.0.2.1-51329ede-9b0f-5923-98ee-bf4ef08af54f-" + hostA, "create node.4.a"}},
		"pod": {podWeb, "shop", convert.Pod(pod, node, config).Translations, []string{"create pod.4.web-0"}},
		"service": {front, "shop",
			convert.Join(convert.Service(service, config), convert.Endpoints(service, []*discoveryv1.EndpointSlice{slice}, config)).Translations,
			[]string{"create endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp", "create endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp",
				"create service-port.4.shop-front-web-10.96.0.10-6-80", "create service.4.front"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, node, pod, service, slice)
			w.expectRequests(tc.unit, tc.requests...)
			stored := w.translations(tc.namespace)
			if len(stored) != len(tc.want) {
				t.Errorf("%d translations, want %d", len(stored), len(tc.want))
			}
			for _, want := range tc.want {
				got := stored[want.Name]
				if got == nil {
					t.Errorf("%s is missing", want.Name)
					continue
				}
				if diff := cmp.Diff(want.Resources, got.Resources); diff != "" {
					t.Error(diff)
				}
				meta := metav1.ObjectMeta{Name: got.Name, Namespace: got.Namespace, Labels: got.Labels, OwnerReferences: got.OwnerReferences, Finalizers: got.Finalizers}
				if diff := cmp.Diff(want.ObjectMeta, meta); diff != "" {
					t.Error(diff)
				}
			}
			w.expectRequests(tc.unit)
			if tc.unit == front { // with two endpoints
				w.expectEvents("Warning " + convert.ReasonManyEndpointsNotSupported)
			}
			w.expectEvents()
			if got := counted(w.reconciler.passes, labelOf(tc.unit), "done"); got != 2 {
				t.Errorf("%v passes counted", got)
			}
		})
	}
}

// TestNothingToDo checks that owners that need no Translations, or have been deleted, get none.
func TestNothingToDo(t *testing.T) {
	ended, host := testPod("ended", "a"), testPod("host", "a")
	ended.Status.Phase, host.Spec.HostNetwork = corev1.PodFailed, true
	headless := testService("headless")
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	w := newWorld(t, testNode("a"), ended, host, headless)
	for _, u := range []unit{
		unitOf(convert.KindPod, ended), unitOf(convert.KindPod, host), unitOf(convert.KindService, headless),
		unitOf(convert.KindPod, testPod("gone", "a")), {kind: convert.KindNode, name: "gone"},
	} {
		w.expectRequests(u)
	}
	w.expectEvents()
}

// TestManualEdit checks that a manual edit of a Translation is reverted with one request, and that fields of others remain.
func TestManualEdit(t *testing.T) {
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.settle(podWeb)
	want := w.one("shop", "pod.4.web-0")
	for name, edit := range map[string]func(*midonetv1.Translation){
		"resources":  func(t *midonetv1.Translation) { t.Resources = t.Resources[:1] },
		"body":       func(t *midonetv1.Translation) { t.Resources[0].Body = "{}" },
		"label":      func(t *midonetv1.Translation) { delete(t.Labels, midonetv1.LabelOwnerUID) },
		"owner":      func(t *midonetv1.Translation) { t.OwnerReferences = nil },
		"finalizer":  func(t *midonetv1.Translation) { t.Finalizers = nil },
		"everything": func(t *midonetv1.Translation) { t.Resources, t.OwnerReferences, t.Finalizers = nil, nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			change(w, w.one("shop", "pod.4.web-0"), func(t *midonetv1.Translation) {
				edit(t)
				t.Annotations = map[string]string{"somebody": name}
				t.Status.ObservedGeneration = 3
			})
			w.expectRequests(podWeb, "patch pod.4.web-0")
			got := w.one("shop", "pod.4.web-0")
			if diff := cmp.Diff(want.Resources, got.Resources); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want.OwnerReferences, got.OwnerReferences); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(want.Finalizers, got.Finalizers) || got.Labels[midonetv1.LabelOwnerUID] != "pod-web-0" || got.Annotations["somebody"] != name {
				t.Errorf("%+v", got.ObjectMeta)
			}
			w.expectRequests(podWeb)
		})
	}
}

// TestStale checks that obsolete Translations are deleted, with one request each, and no others.
func TestStale(t *testing.T) {
	slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8")
	w := newWorld(t, testService("front"), slice)
	w.settle(front)
	other := made("endpoints-port.4.other", ownedBy("Service", "back", "uid-of-back"))
	own := made("my-own", ownedBy("Service", "front", "service-front"))
	elsewhere := made("endpoints-port.4.elsewhere", ownedBy("Service", "front", "service-front"))
	elsewhere.Namespace = "default"
	for _, translation := range []*midonetv1.Translation{other, own, elsewhere} {
		translation.ResourceVersion = ""
		w.Add(translation)
	}
	change(w, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[:1] })
	w.expectRequests(front, "delete endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp")
	w.expectRequests(front)
	want := []string{"endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp", "-endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp",
		"endpoints-port.4.other", "my-own", "service-port.4.shop-front-web-10.96.0.10-6-80", "service.4.front"}
	if diff := cmp.Diff(want, w.names("shop")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"endpoints-port.4.elsewhere"}, w.names("default")); diff != "" {
		t.Error(diff)
	}
}

// TestNoSlices checks that a Service without EndpointSlices has no endpoints.
func TestNoSlices(t *testing.T) {
	slice := testSlice("front", "1", "10.1.0.7")
	w := newWorld(t, testService("front"), slice)
	w.settle(front)
	w.Remove(slice)
	w.expectRequests(front, "delete endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp")
}

// TestMovedEndpoint checks that an endpoint that moves between slices causes no write.
func TestMovedEndpoint(t *testing.T) {
	w := newWorld(t, testService("front"), testSlice("front", "1", "10.1.0.7"))
	w.settle(front)
	w.Add(testSlice("front", "2", "10.1.0.7"))
	w.expectRequests(front)
	w.Remove(testSlice("front", "1"))
	w.expectRequests(front)
}

// TestWritesBeforeDeletes checks that all desired Translations are written before stale ones are deleted.
func TestWritesBeforeDeletes(t *testing.T) {
	slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8", "10.1.0.9")
	w := newWorld(t, testService("front"), slice)
	w.settle(front)
	change(w, w.one("shop", "service.4.front"), func(t *midonetv1.Translation) { t.Resources = nil })
	change(w, slice, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = testSlice("front", "1", "10.1.1.1", "10.1.1.2", "10.1.1.3").Endpoints
	})
	_, requests, err := w.reconcile(front)
	if err != nil || len(requests) != 7 {
		t.Fatalf("%q %v", requests, err)
	}
	for i, request := range requests {
		if strings.HasPrefix(request, "delete") != (i >= 4) {
			t.Errorf("request %d is %s", i, request)
		}
	}
}

// TestFailedWriteKeepsAnotherVersion checks that, while a desired Translation could not be written, none of another version is
// deleted, whatever the failure: their resources may not have been taken over yet. Dead ones are deleted, unless the API server
// fails.
func TestFailedWriteKeepsAnotherVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   error
		deletes int
	}{
		"server deleted": {errors.New("connection refused"), 0},
		"refused":        {forbidden("x"), 2},
		"changed":        {conflict("x"), 2},
		"exists":         {apierrors.NewAlreadyExists(midonetv1.Resource("translations"), "x"), 2},
		"invalid":        {apierrors.NewInvalid(midonetv1.SchemeGroupVersion.WithKind("Translation").GroupKind(), "x", nil), 2},
	} {
		t.Run(name, func(t *testing.T) {
			slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8")
			w := newWorld(t, testService("front"), slice)
			w.settle(front)
			before := len(w.names("shop"))
			w.Add(formerTranslation(w))
			change(w, slice, func(s *discoveryv1.EndpointSlice) {
				s.Endpoints = testSlice("front", "1", "10.1.1.1", "10.1.1.2").Endpoints
			})
			w.reset()
			w.Fault = func(_ int, write kubetest.Write) error {
				if write.Verb == "create" && strings.Contains(write.Name, "10.1.1.2") {
					return tc.fault
				}
				return nil
			}
			result, requests, err := w.reconcile(front)
			deletes := slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return !strings.HasPrefix(r, "delete") })
			if len(deletes) != tc.deletes || slices.Contains(deletes, "delete service.3.front") || err == nil && result.RequeueAfter == 0 {
				t.Errorf("requests %q, result %v, error %v", requests, result, err)
			}
			w.reset()
			w.settle(front)
			got := slices.DeleteFunc(w.names("shop"), func(n string) bool { return strings.HasPrefix(n, "-") })
			if len(got) != before || !slices.ContainsFunc(got, func(n string) bool { return strings.Contains(n, "10.1.1.2") }) {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestEveryWriteFailsOnce checks that the final state is the same, whichever write of a lifecycle fails once.
func TestEveryWriteFailsOnce(t *testing.T) {
	for name, fault := range map[string]error{"refused": forbidden("x"), "conflict": conflict("x"), "lost": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			for number := 0; ; number++ {
				slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8")
				w := newWorld(t, testService("front"), slice)
				count, failed := 0, ""
				settle := func() {
					for range 10 {
						before := count
						w.Fault = func(_ int, write kubetest.Write) error {
							if count++; count-1 == number {
								failed = write.String()
								return fault
							}
							return nil
						}
						if _, _, err := w.reconcile(front); err == nil && before == count {
							return
						}
					}
					t.Fatalf("it does not settle after %q", failed)
				}
				settle()
				change(w, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.1.0.9" })
				change(w, w.one("shop", "service.4.front"), func(t *midonetv1.Translation) { t.Resources = nil })
				settle()
				want := []string{"-endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp", "endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp",
					"endpoints-port.4.front-web-10.96.0.10-10.1.0.9-8080-tcp", "service-port.4.shop-front-web-10.96.0.10-6-80", "service.4.front"}
				got := w.names("shop")
				slices.SortFunc(got, func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-")) })
				if diff := cmp.Diff(want, got); diff != "" || w.one("shop", "service.4.front").Resources == nil {
					t.Errorf("after %q failed: %s", failed, diff)
				}
				if failed == "" {
					if number < 7 {
						t.Errorf("only %d writes were there to fail", number)
					}
					return
				}
			}
		})
	}
}

// TestUnavailableServerEndsReconcile checks that a Service with many endpoints does not repeat requests to an unavailable API
// server for each of them.
func TestUnavailableServerEndsReconcile(t *testing.T) {
	var addresses []string
	for i := range 100 {
		addresses = append(addresses, fmt.Sprintf("10.2.0.%d", i+1))
	}
	w := newWorld(t, testService("front"), testSlice("front", "1", addresses...))
	w.Fault = func(int, kubetest.Write) error { return errors.New("connection refused") }
	if _, requests, err := w.reconcile(front); err == nil || len(requests) > maxParallelWrites {
		t.Errorf("%d requests, error %v", len(requests), err)
	}
}

// TestGlobalIsRestored checks that a global that a user deletes is recreated after its deletion.
func TestGlobalIsRestored(t *testing.T) {
	w := newWorld(t)
	w.settle(unit{})
	router := w.one("kube-system", "midonet-global.4.cluster-router")
	w.Remove(router)
	result := w.expectRequests(unit{})
	if result.RequeueAfter != waitPeriod {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.released(router)
	w.expectRequests(unit{}, "create midonet-global.4.cluster-router")
	restored := w.one("kube-system", "midonet-global.4.cluster-router")
	if restored.UID == router.UID || len(restored.OwnerReferences) > 0 {
		t.Errorf("%+v", restored.ObjectMeta)
	}
}

// TestUnreadableCache checks that a failed read is not considered absence, and causes no write.
func TestUnreadableCache(t *testing.T) {
	slice := testSlice("front", "1", "10.1.0.7")
	for what, u := range map[string]unit{
		"get *v1.Node": nodeA, "get *v1.Pod": podWeb, "get *v1.Service": front, "get *v1.Translation": front,
		"list *v1.EndpointSliceList": front, "list Translations": front,
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, testNode("a"), testPod("web-0", "a"), testService("front"), slice.DeepCopy())
			w.settle(front)
			change(w, slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil })
			failure := errors.New("no kind is registered")
			w.unread = func(read string) error {
				if read == what {
					return failure
				}
				return nil
			}
			if _, requests, err := w.reconcile(u); !errors.Is(err, failure) || len(requests) > 0 {
				t.Errorf("requests %q, error %v", requests, err)
			}
			if got := counted(w.reconciler.passes, labelOf(u), "failed"); got != 1 {
				t.Errorf("%v failures counted", got)
			}
		})
	}
	w := newWorld(t, testPod("web-0", "a"))
	w.unread = func(read string) error {
		if read == "get *v1.Node" {
			return errors.New("no")
		}
		return nil
	}
	if _, _, err := w.reconcile(podWeb); err == nil {
		t.Error("a node that cannot be read is one that is missing")
	}
}

// TestUnreadableServer checks that the final check against the API server must succeed.
func TestUnreadableServer(t *testing.T) {
	failure := errors.New("connection refused")
	pod := testPod("web-0", "a")
	w := newWorld(t, testNode("a"), pod)
	w.settle(podWeb)
	recreated(w, pod)
	w.liveErr = failure
	if _, requests, err := w.reconcile(podWeb); !errors.Is(err, failure) || len(requests) != 1 {
		t.Errorf("requests %q, error %v", requests, err)
	}
	w, _ = losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.liveErr = failure
	if _, requests, err := w.reconcile(nodeA); !errors.Is(err, failure) || len(requests) != 1 {
		t.Errorf("requests %q, error %v", requests, err)
	}
}

// TestNotFound checks that a Translation that was deleted before a write is considered deleted, and that a server that does not
// serve Translations is an error.
func TestNotFound(t *testing.T) {
	unserved := apierrors.NewGenericServerResponse(404, "patch", midonetv1.Resource("translations"), "x", "404 page not found", 0, true)
	for name, tc := range map[string]struct {
		fault   error
		retried bool
	}{
		"gone":       {apierrors.NewNotFound(midonetv1.Resource("translations"), "x"), true},
		"not served": {unserved, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testNode("a"), testPod("web-0", "a"))
			w.settle(podWeb)
			change(w, w.one("shop", "pod.4.web-0"), func(t *midonetv1.Translation) { t.Resources = nil })
			w.Fault = func(int, kubetest.Write) error { return tc.fault }
			result, _, err := w.reconcile(podWeb)
			if (err == nil) != tc.retried || (result.RequeueAfter == retryPeriod) != tc.retried {
				t.Errorf("%v %v", result, err)
			}
		})
	}
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.Fault = func(int, kubetest.Write) error { return unserved }
	if _, _, err := w.reconcile(podWeb); err == nil {
		t.Error("a create that fails so is tried again immediately")
	}
}
