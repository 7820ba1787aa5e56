// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// newOVNWorld returns a world whose backend has NetworkPolicies.
func newOVNWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := newWorld(t, objects...)
	w.config = ovnConfig()
	w.restart()
	return w
}

func testNamespace(name string, set map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("namespace-" + name), Labels: set}}
}

// runningPod has an address, a label and a port with a name.
func runningPod(namespace, name, app string) *corev1.Pod {
	pod := testPod(name, "a")
	pod.Namespace, pod.UID, pod.Labels = namespace, types.UID("pod-"+namespace+name), map[string]string{"app": app}
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.1.0.%d", 10+len(namespace)+7*len(name))
	pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}
	return pod
}

// testPolicy lets Pods with a label in the namespaces of a team connect to a named port.
func testPolicy() *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "np", UID: "policy"}}
	policy.Spec.PodSelector.MatchLabels = map[string]string{"app": "web"}
	policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{
		From: []networkingv1.NetworkPolicyPeer{
			{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}},
			{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}},
		},
		Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromString("http"))}},
	}}
	return policy
}

// portGroups returns those of the port in the Translation of a Pod.
func (w *world) portGroups(namespace, pod string) []string {
	w.t.Helper()
	var body struct {
		Groups []string `json:"port_groups"`
	}
	if err := json.Unmarshal([]byte(w.one(namespace, "pod.4."+pod).Resources[0].Body), &body); err != nil {
		w.t.Fatal(err)
	}
	return body.Groups
}

var (
	policyNP = unit{kind: convert.KindNetworkPolicy, namespace: "shop", name: "np"}
	podWeb0  = unit{kind: convert.KindPod, namespace: "shop", name: "web-0"}
)

// TestPodsFollowPolicies checks that a Pod is isolated immediately, and joins the groups of a policy while they exist: a policy
// that cannot be written must not leave Pods without network.
func TestPodsFollowPolicies(t *testing.T) {
	policy := testPolicy()
	w := newOVNWorld(t, testNode("a"), testNamespace("shop", nil), testNamespace("other", map[string]string{"team": "a"}), runningPod("shop", "web-0", "web"), runningPod("other", "client", "client"))
	client := unit{kind: convert.KindPod, namespace: "other", name: "client"}
	expect := func(when string, web, other int) {
		t.Helper()
		w.settle(podWeb0)
		w.settle(client)
		if got := []int{len(w.portGroups("shop", "web-0")), len(w.portGroups("other", "client"))}; !slices.Equal(got, []int{web, other}) {
			t.Errorf("%s the ports are in %v groups, want %d and %d", when, got, web, other)
		}
	}
	expect("without a policy", 2, 2)
	w.Add(policy)
	expect("before it is translated", 3, 2)
	w.settle(policyNP)
	if got := w.names("shop"); !slices.Contains(got, "networkpolicy.4.np") || len(got) != 4 {
		t.Errorf("translations = %v, want the policy's with a group of peers and one of a port, and the Pod's", got)
	}
	expect("with a policy", 5, 3)
	if got := w.settle(policyNP); len(got) != 0 {
		t.Errorf("requests = %v, want none", got)
	}
	w.Remove(w.one("shop", "networkpolicy.4.np"))
	expect("while its Translation is being deleted", 4, 3)
	w.released(w.one("shop", "networkpolicy.4.np"))
	w.Remove(policy)
	expect("after its deletion", 2, 2)
	if w.settle(policyNP); len(w.reconciler.memory.policies) != 0 {
		t.Error("the deleted policy is remembered")
	}
}

// TestForeignTranslationOfPolicy checks that another client's Translation with the name of one of a policy does not add Pods to
// groups.
func TestForeignTranslationOfPolicy(t *testing.T) {
	w := newOVNWorld(t, testNode("a"), testNamespace("shop", nil), runningPod("shop", "web-0", "web"), testPolicy())
	w.Add(&midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "networkpolicy.4.np"}})
	w.settle(podWeb0)
	if got := w.portGroups("shop", "web-0"); len(got) != 3 {
		t.Errorf("the port is in %d groups, want those of all Pods, of the namespace and of the isolated ones", len(got))
	}
}

func TestNamespaceHasAGroup(t *testing.T) {
	w := newOVNWorld(t, testNamespace("shop", nil))
	u := unit{kind: convert.KindNamespace, name: "shop"}
	w.expectRequests(u, "create namespace.4.shop")
	w.expectRequests(u)
	if got := w.names("default"); !slices.Equal(got, []string{"namespace.4.shop"}) {
		t.Errorf("translations = %v", got)
	}
}

func TestMappingOfPolicies(t *testing.T) {
	unlabelled := testNamespace("shop", nil)
	w := newOVNWorld(t, unlabelled, testNamespace("other", map[string]string{"team": "a"}), runningPod("shop", "web-0", "web"), runningPod("shop", "idle", "x"), runningPod("other", "client", "client"), testPolicy())
	to := mapper{cache: w.Server, memory: w.reconciler.memory}
	client0 := unit{kind: convert.KindPod, namespace: "other", name: "client"}
	idle := unit{kind: convert.KindPod, namespace: "shop", name: "idle"}
	owned := made("networkpolicy.4.np", ownedBy("NetworkPolicy", "np", "policy"), func(t *midonetv1.Translation) {
		t.Namespace, t.OwnerReferences[0].APIVersion = "shop", "networking.k8s.io/v1"
	})
	for name, tc := range map[string]struct {
		of     func(context.Context, client.Object) []unit
		object client.Object
		want   []unit
	}{
		"policy":                    {ofPolicy, testPolicy(), []unit{policyNP}},
		"namespace":                 {ofNamespace, unlabelled, []unit{{kind: convert.KindNamespace, name: "shop"}}},
		"pods of a policy":          {to.podsOfPolicy, testPolicy(), []unit{client0, podWeb0}},
		"pods of its Translation":   {to.podsOfGroup, owned, []unit{client0, podWeb0}},
		"of another Translation":    {to.podsOfGroup, made("x.4.y", ownedBy("Pod", "web-0", "x")), nil},
		"owner of a Translation":    {ofTranslation, owned, []unit{policyNP}},
		"pods of a namespace":       {to.podsOfNamespace, unlabelled, []unit{idle, podWeb0}},
		"policies of a namespace":   {to.policiesOfNamespace, unlabelled, []unit{policyNP}},
		"policies of a pod":         {to.policiesOfPod, runningPod("shop", "web-0", "web"), []unit{policyNP}},
		"policies of another pod":   {to.policiesOfPod, runningPod("shop", "idle", "x"), nil},
		"policies of a peer":        {to.policiesOfPod, runningPod("other", "client", "client"), nil},
		"policies without the port": {to.policiesOfPod, testPod("web-0", "a"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.of(t.Context(), tc.object)
			slices.SortFunc(got, func(a, b unit) int { return strings.Compare(a.String(), b.String()) })
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(unit{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPolicyPredicates checks that objects of the first list are reconciled without a mapping.
func TestPolicyPredicates(t *testing.T) {
	before, after := testNamespace("shop", nil), testNamespace("shop", map[string]string{"team": "a"})
	annotated := testNamespace("shop", nil)
	annotated.Annotations = map[string]string{"a": "b"}
	p := later(labelsChanged())
	if p.Create(event.CreateEvent{Object: before, IsInInitialList: true}) || !p.Create(event.CreateEvent{Object: before}) || !p.Delete(event.DeleteEvent{Object: before}) {
		t.Error("namespaces that come and go")
	}
	if p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: annotated}) || !p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("labels of namespaces")
	}
	p = onlyUpdates(labelsChanged())
	if p.Create(event.CreateEvent{Object: before}) || p.Delete(event.DeleteEvent{Object: before}) || !p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("updates alone")
	}
	recreated := testNamespace("shop", nil)
	recreated.UID = "other"
	if p := appearsOrDisappears(); p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) || !p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: recreated}) {
		t.Error("a namespace that was recreated")
	}
}

// TestCacheKeepsWhatPoliciesSelect checks that the cached fields of Pods suffice for policies, and that without policies neither
// labels nor ports are cached.
func TestCacheKeepsWhatPoliciesSelect(t *testing.T) {
	whole := runningPod("shop", "web-0", "web")
	whole.Spec.Containers[0].Image = "x"
	whole.Spec.Containers = append(whole.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: 1}}})
	kept, err := reduceSelected(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(runningPod("shop", "web-0", "web"), kept); diff != "" {
		t.Error(diff)
	}
	if pod := reduced(t, whole); len(pod.Labels) > 0 || len(pod.Spec.Containers) > 0 {
		t.Errorf("without policies the cache keeps %+v", pod)
	}
}

// TestLoggingOfNamespace checks that the annotation of a namespace has its policies logged from the next moment, and that one that is not
// valid is reported.
func TestLoggingOfNamespace(t *testing.T) {
	namespace := testNamespace("shop", nil)
	w := newOVNWorld(t, namespace, testPolicy())
	logs := func(annotation string) bool {
		t.Helper()
		w.Change(namespace, func() { namespace.Annotations = map[string]string{midonetv1.AnnotationACLLogging: annotation} })
		w.settle(policyNP)
		w.settle(unit{kind: convert.KindNamespace, name: "shop"})
		return strings.Contains(fmt.Sprint(w.one("shop", "networkpolicy.4.np").Resources), `"severity":"alert"`)
	}
	for _, step := range []struct {
		annotation     string
		logs, reported bool
	}{{"", false, false}, {`{"deny":"alert"}`, true, false}, {`{"deny":"loud"}`, false, true}, {`{"deny":"alert"}`, true, false}} {
		if got := logs(step.annotation); got != step.logs {
			t.Errorf("annotation %q logs = %v, want %v", step.annotation, got, step.logs)
		}
		if events := fmt.Sprint(w.events()); strings.Contains(events, "InvalidACLLogging") != step.reported {
			t.Errorf("annotation %q: events = %q, want InvalidACLLogging: %v", step.annotation, events, step.reported)
		}
	}
	before, after := namespace.DeepCopy(), namespace.DeepCopy()
	after.Annotations = nil
	if units := (mapper{cache: w.Client()}).policiesIn(t.Context(), after); !slices.Equal(units, []unit{policyNP}) {
		t.Errorf("units = %v, want %v", units, policyNP)
	}
	if changed := loggingChanged(); !changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) || changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: before}) {
		t.Error("an update is admitted without a change of the annotation, or not with one")
	}
}
