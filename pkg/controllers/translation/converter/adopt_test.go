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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// recreated makes an object again with another uid; garbage collection has not come yet.
func recreated(w *world, pod *corev1.Pod) *corev1.Pod {
	w.Remove(pod)
	replacement := testPod(pod.Name, pod.Spec.NodeName)
	replacement.UID = "pod-anew"
	w.Add(replacement)
	return replacement
}

// TestRecreatedOwner checks that a recreated owner adopts the Translations of its name in place, with one live read and one request
// each.
func TestRecreatedOwner(t *testing.T) {
	pod := testPod("web-0", "a")
	w := newWorld(t, testNode("a"), pod)
	w.settle(podWeb)
	before := w.one("shop", "pod.4.web-0")
	recreated(w, pod)
	w.expectRequests(podWeb, "get web-0", "patch pod.4.web-0")
	after := w.one("shop", "pod.4.web-0")
	if after.UID != before.UID || after.Labels[midonetv1.LabelOwnerUID] != "pod-anew" || len(after.OwnerReferences) != 1 || after.OwnerReferences[0].UID != "pod-anew" {
		t.Errorf("%+v", after.ObjectMeta)
	}
	if got := counted(w.reconciler.writes, operationAdopt); got != 1 {
		t.Errorf("%v adoptions counted", got)
	}
	w.expectRequests(podWeb)
}

// TestLateCacheDoesNotAdopt checks that an outdated cache does not return a Translation to an owner that has been deleted.
func TestLateCacheDoesNotAdopt(t *testing.T) {
	for name, live := range map[string]*corev1.Pod{
		"recreated": {ObjectMeta: metav1.ObjectMeta{UID: "pod-newest"}},
		"going":     {ObjectMeta: metav1.ObjectMeta{UID: "pod-anew", DeletionTimestamp: new(metav1.Unix(1, 0))}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod("web-0", "a")
			w := newWorld(t, testNode("a"), pod)
			w.settle(podWeb)
			recreated(w, pod)
			w.live = live
			if result := w.expectRequests(podWeb, "get web-0"); result.RequeueAfter != retryPeriod {
				t.Errorf("requeued after %v", result.RequeueAfter)
			}
			if got := w.one("shop", "pod.4.web-0").OwnerReferences[0].UID; got != "pod-web-0" {
				t.Errorf("the owner is %s", got)
			}
		})
	}
}

// legacy makes the Translations of endpoints what midonet-kube-controllers left: v1 Endpoints own them.
func legacy(w *world, edit func(*midonetv1.Translation)) {
	w.t.Helper()
	for name, translation := range w.translations("shop") {
		if strings.HasPrefix(name, "endpoints-port.") {
			change(w, translation, func(t *midonetv1.Translation) {
				t.Labels = map[string]string{midonetv1.LabelOwnerUID: "endpoints-front"}
				t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Endpoints", Name: "front", UID: "endpoints-front"}}
				if edit != nil {
					edit(t)
				}
			})
		}
	}
}

// TestEndpointsAreTakenOver checks that the Service adopts the Translations of v1 Endpoints in place, and that obsolete ones are
// deleted.
func TestEndpointsAreTakenOver(t *testing.T) {
	for name, edit := range map[string]func(*midonetv1.Translation){
		"labelled": nil, "unlabelled": func(t *midonetv1.Translation) { t.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8")
			w := newWorld(t, testService("front"), slice)
			w.settle(front)
			legacy(w, edit)
			change(w, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[:1] })
			before := w.one("shop", "endpoints-port.4.front-web-10.96.0.10-10.1.0.7")
			_, requests, err := w.reconcile(front)
			want := []string{"get front", "patch endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp", "delete endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp"}
			if diff := cmp.Diff(want, requests); diff != "" || err != nil {
				t.Fatalf("%v %s", err, diff)
			}
			after := w.one("shop", "endpoints-port.4.front-web-10.96.0.10-10.1.0.7")
			if after.UID != before.UID || after.Labels[midonetv1.LabelOwnerUID] != "service-front" || after.OwnerReferences[0].Kind != "Service" {
				t.Errorf("%+v", after.ObjectMeta)
			}
			if diff := cmp.Diff(before.Resources, after.Resources); diff != "" {
				t.Error(diff)
			}
			w.expectRequests(front)
		})
	}
}

// taken makes the name of the Pod's Translation another client's.
func taken(t *testing.T) (*world, *midonetv1.Translation) {
	t.Helper()
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	theirs := made("pod.4.web-0", ownedBy("Pod", "other", "pod-other"))
	theirs.ResourceVersion, theirs.Finalizers = "", nil
	w.Add(theirs)
	return w, theirs
}

// TestNameTaken checks that a Translation of another owner is not changed, is reported once, and is retried with backoff.
func TestNameTaken(t *testing.T) {
	w, theirs := taken(t)
	first := w.expectRequests(podWeb)
	w.expectEvents("Warning " + reasonNameTaken + " another client has the names of 1 translations: delete or rename pod.4.web-0 in namespace shop")
	second := w.expectRequests(podWeb)
	w.expectEvents()
	if first.RequeueAfter != minPatience || second.RequeueAfter != 2*minPatience {
		t.Errorf("tried again after %v and %v", first.RequeueAfter, second.RequeueAfter)
	}
	if got := gauged(w.reconciler.memory.blocked, reasonNameTaken); got != 1 {
		t.Errorf("%v blocked", got)
	}
	if got := w.one("shop", "pod.4.web-0"); got.UID != theirs.UID || got.Labels[midonetv1.LabelOwnerUID] != "pod-other" {
		t.Errorf("%+v", got.ObjectMeta)
	}
	w.Remove(theirs)
	w.expectRequests(podWeb, "create pod.4.web-0")
	if got := gauged(w.reconciler.memory.blocked, reasonNameTaken); got != 0 {
		t.Errorf("%v blocked", got)
	}
	if again := w.reconciler.patience.NumRequeues(podWeb); again != 0 {
		t.Errorf("the patience is %d tries long", again)
	}
}

// TestTakenNameKeepsAnotherVersion checks that, while a name is taken, the owner's other Translations are written, and dead ones
// are deleted. Those of another version remain, because their resources may not have been taken over yet.
func TestTakenNameKeepsAnotherVersion(t *testing.T) {
	slice := testSlice("front", "1", "10.1.0.7")
	w := newWorld(t, testService("front"), slice)
	w.settle(front)
	change(w, w.one("shop", "service.4.front"), func(t *midonetv1.Translation) { t.Labels, t.OwnerReferences = nil, nil })
	change(w, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.1.0.8" })
	w.Add(formerTranslation(w))
	w.expectRequests(front, "create endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp",
		"delete endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp")
}

// formerTranslation returns one of the Service front that another version wrote, with separate resources.
func formerTranslation(w *world) *midonetv1.Translation {
	w.t.Helper()
	translation := w.one("shop", "service-port.4.shop-front-web").DeepCopy()
	translation.Name, translation.UID, translation.ResourceVersion = "service.3.front", "", ""
	translation.Resources = []midonetv1.BackendResource{port(hostB)}
	return translation
}

// TestTerminatingIsWaitedFor checks that the controller waits for a Translation that is being deleted, without requests.
func TestTerminatingIsWaitedFor(t *testing.T) {
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.settle(podWeb)
	old := w.one("shop", "pod.4.web-0")
	w.Remove(old)
	for range 3 {
		if result := w.expectRequests(podWeb); result.RequeueAfter != waitPeriod {
			t.Errorf("requeued after %v", result.RequeueAfter)
		}
	}
	w.released(old)
	w.expectRequests(podWeb, "create pod.4.web-0")
	w.expectEvents()
}

// older are the Translations of the Pod as another version of this program wrote them.
func older(w *world) {
	w.t.Helper()
	for name, translation := range w.translations("shop") {
		w.Remove(translation)
		w.released(translation)
		translation.Name = strings.Replace(name, ".4.", ".3.", 1)
		translation.UID, translation.ResourceVersion = types.UID("old-"+name), ""
		w.Add(translation)
	}
}

// TestAnotherVersion checks that, after a change of the version, new Translations are written before old ones are deleted.
func TestAnotherVersion(t *testing.T) {
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.settle(podWeb)
	older(w)
	_, requests, err := w.reconcile(podWeb)
	if diff := cmp.Diff([]string{"create pod.4.web-0", "delete pod.3.web-0"}, requests); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	w.expectRequests(podWeb)
}

// TestAnotherVersionIsRetainedUntilReplaced checks that the old version is retained while the new one cannot be written.
func TestAnotherVersionIsRetainedUntilReplaced(t *testing.T) {
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.settle(podWeb)
	going := w.one("shop", "pod.4.web-0").DeepCopy()
	older(w)
	going.UID, going.ResourceVersion = "going", ""
	w.Add(going)
	w.Remove(going)
	w.expectRequests(podWeb)
	w.released(going)
	w.expectRequests(podWeb, "create pod.4.web-0", "delete pod.3.web-0")
}

// TestTunnelEndpointMoves covers a Node whose tunnel endpoint gets another address: the resource is the same, but in another
// Translation, and the API server allows only one of them to list it.
func TestTunnelEndpointMoves(t *testing.T) {
	node := testNode("a")
	node.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "192.0.2.1"
	w := newWorld(t, node)
	w.settle(nodeA)
	old := w.one("default", "node-tunnel-endpoint.4.")
	change(w, node, func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "192.0.2.2" })
	name := func(ip string) string {
		return fmt.Sprintf("node-tunnel-endpoint.4.a-%s-51329ede-9b0f-5923-98ee-bf4ef08af54f-%s", ip, hostA)
	}
	w.expectRequests(nodeA, "delete "+name("192.0.2.1"))
	if result := w.expectRequests(nodeA); result.RequeueAfter != waitPeriod {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.released(old)
	w.expectRequests(nodeA, "create "+name("192.0.2.2"))
	w.expectEvents()
}

// TestRejected checks that a rejection is reported once, with the API server's message, and retried with backoff.
func TestRejected(t *testing.T) {
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.Fault = func(int, kubetest.Write) error { return forbidden("pod.4.web-0") }
	first := w.expectRequests(podWeb, "create pod.4.web-0")
	w.expectEvents("Warning " + reasonRefused + ` translations.midonet.org "pod.4.web-0" is forbidden: Port 1 belongs to translation other`)
	second := w.expectRequests(podWeb, "create pod.4.web-0")
	w.expectEvents()
	if first.RequeueAfter != minPatience || second.RequeueAfter != 2*minPatience {
		t.Errorf("tried again after %v and %v", first.RequeueAfter, second.RequeueAfter)
	}
	if got := counted(w.reconciler.passes, "pod", "refused"); got != 2 {
		t.Errorf("%v passes counted", got)
	}
	w.Fault = nil
	w.expectRequests(podWeb, "create pod.4.web-0")
	if got := gauged(w.reconciler.memory.blocked, reasonRefused); got != 0 {
		t.Errorf("%v blocked", got)
	}
}

// TestRetries checks that a conflict is retried soon, and that an error is left to the queue; neither causes an event.
func TestRetries(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   error
		retried bool
	}{
		"conflict":  {conflict("x"), true},
		"no server": {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testNode("a"), testPod("web-0", "a"))
			w.Fault = func(int, kubetest.Write) error { return tc.fault }
			result, _, err := w.reconcile(podWeb)
			if (err == nil) != tc.retried || (result.RequeueAfter == retryPeriod) != tc.retried {
				t.Errorf("%v %v", result, err)
			}
			w.expectEvents()
		})
	}
}

// TestLateList checks that an outdated list in the cache causes no further write.
func TestLateList(t *testing.T) {
	slice := testSlice("front", "1", "10.1.0.7", "10.1.0.8")
	w := newWorld(t, testService("front"), slice)
	snapshot := func() *midonetv1.TranslationList {
		list := &midonetv1.TranslationList{}
		for _, translation := range w.translations("shop") {
			list.Items = append(list.Items, *translation)
		}
		return list
	}
	w.behind = snapshot()
	w.settle(front)
	before := snapshot()
	change(w, w.one("shop", "service.4.front"), func(t *midonetv1.Translation) { t.Resources = nil })
	edited := snapshot()
	w.behind = nil
	w.expectRequests(front, "patch service.4.front")
	w.behind = edited
	w.expectRequests(front)
	w.behind = nil
	change(w, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[:1] })
	w.expectRequests(front, "delete endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp")
	w.behind = before
	w.expectRequests(front)
}

// TestServiceWithoutAddress checks that a Service that is no longer served loses its Translations.
func TestServiceWithoutAddress(t *testing.T) {
	service := testService("front")
	w := newWorld(t, service, testSlice("front", "1", "10.1.0.7"))
	w.settle(front)
	change(w, service, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName })
	_, requests, err := w.reconcile(front)
	if len(requests) != 3 || err != nil || slices.ContainsFunc(requests, func(r string) bool { return !strings.HasPrefix(r, "delete") }) {
		t.Errorf("%q %v", requests, err)
	}
}

// TestDescribe checks the names of owners in messages.
func TestDescribe(t *testing.T) {
	for want, owner := range map[string]convert.Owner{
		"globals": {}, "Node a": {Kind: "Node", Name: "a"}, "Pod shop/web-0": {Kind: "Pod", Namespace: "shop", Name: "web-0"},
	} {
		if got := describe(owner); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
