// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
)

// frozen is what a frozen cluster rejects, and what it does not.
func frozen(t *testing.T, o *orbit, namespace, words string) {
	t.Helper()
	ctx := t.Context()
	rejects := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	rejects("a claim", o.c.Create(ctx, pending(namespace, "late", "fast")))
	rejects("another driver's claim", o.c.Create(ctx, pending(namespace, "late", "foreign")))
	rejects("a load balancer", o.c.Create(ctx, balancer(namespace, "late")))
	rejects("a snapshot", o.c.Create(ctx, custom("VolumeSnapshot", namespace, "late", map[string]any{"spec": map[string]any{}})))
	rejects("an Ingress", o.c.Create(ctx, octaviaIngress(namespace, "late", "openstack")))
	// A cloud provider is still able to clean up.
	web := balancer(namespace, "web")
	if err := o.c.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	o.patch(web, `{"metadata":{"annotations":{"a":"`+words[:1]+`"}}}`)
	o.patch(web, `{"metadata":{"finalizers":null}}`)
	o.patch(web, `{"spec":{"type":"ClusterIP"}}`)
	rejects("a change into a load balancer", o.c.Patch(ctx, web, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"type":"LoadBalancer"}}`))))
	inside := balancer(namespace, "inside-"+words[:3], func(s *corev1.Service) { s.Spec.Type, s.Finalizers = corev1.ServiceTypeClusterIP, nil })
	inside.Name = strings.ToLower(strings.ReplaceAll(inside.Name, " ", "-"))
	other := octaviaIngress(namespace, inside.Name, "other")
	o.create(inside, other)
	rejects("a change into an Ingress of Octavia", o.c.Patch(ctx, other, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"kubernetes.io/ingress.class":"openstack"}}}`))))
}

func testDeorbitFreeze(t *testing.T, o *orbit) {
	o.space("frozen")
	o.create(balancer("frozen", "web"))
	volume, claim := o.bound("frozen", "frozen", cinderDriver, corev1.PersistentVolumeReclaimDelete)
	report := o.finish(kubernikusv1.DeorbitFreeze)
	if len(report.Seen.Volumes) != 1 || len(report.Seen.Services) < 1 {
		t.Errorf("it does not record what is there: %+v", report.Seen)
	}
	o.stays(volume, claim)
	frozen(t, o, "frozen", "ValidatingAdmissionPolicy 'groundskeeper-deorbit' with binding 'groundskeeper-deorbit' denied request")

	// The controller of a StatefulSet cannot make its claims again.
	set := stateful("frozen", "db", "fast")
	o.create(set)
	eventually(t, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := o.c.List(ctx, events, client.InNamespace("frozen"), client.MatchingFields{"involvedObject.name": "db", "reason": "FailedCreate"}); err != nil || len(events.Items) == 0 {
			return fmt.Errorf("no event: %w", err)
		}
		if !strings.Contains(events.Items[0].Message, "groundskeeper-deorbit") {
			return errors.New(events.Items[0].Message)
		}
		return nil
	})
	claims := &corev1.PersistentVolumeClaimList{}
	if err := o.c.List(t.Context(), claims, client.InNamespace("frozen")); err != nil || len(claims.Items) != 1 {
		t.Errorf("%+v, %v", claims.Items, err)
	}
	if err := o.c.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}

	// A correct object is not written, and a manual change is reverted.
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	key := client.ObjectKey{Name: "groundskeeper-deorbit"}
	policy.Name, binding.Name = key.Name, key.Name
	versions := func() string {
		for _, object := range []client.Object{policy, binding} {
			if err := o.c.Get(t.Context(), key, object); err != nil {
				t.Fatal(err)
			}
			if object.GetLabels()["app.kubernetes.io/part-of"] != "groundskeeper" {
				t.Errorf("%v", object.GetLabels())
			}
		}
		return policy.ResourceVersion + " " + binding.ResourceVersion
	}
	// The cluster writes the status of the policy once, when it has checked the types in it: there is nothing to warn of.
	eventually(t, func(ctx context.Context) error {
		if err := o.c.Get(ctx, key, policy); err != nil || policy.Status.ObservedGeneration != policy.Generation {
			return fmt.Errorf("not checked: %w", err)
		}
		return nil
	})
	if policy.Status.TypeChecking != nil && len(policy.Status.TypeChecking.ExpressionWarnings) > 0 {
		t.Errorf("%+v", policy.Status.TypeChecking)
	}
	before := versions()
	o.finish(kubernikusv1.DeorbitFreeze)
	if after := versions(); after != before {
		t.Errorf("%s, then %s", before, after)
	}
	o.patch(binding, `{"spec":{"validationActions":["Warn"]}}`)
	o.slips("frozen")
	o.finish(kubernikusv1.DeorbitFreeze)
	if versions(); len(binding.Spec.ValidationActions) != 1 || binding.Spec.ValidationActions[0] != admissionv1.Deny {
		t.Errorf("%+v", binding.Spec)
	}
	o.thaw("frozen")
}

// testDeorbitFreezeByWebhooks covers clusters before Kubernetes 1.30, which have webhooks without a backend instead of policies.
func testDeorbitFreezeByWebhooks(t *testing.T, o *orbit) {
	o.space("frozen2")
	o.create(balancer("frozen2", "web"))
	old := rest.CopyConfig(o.config)
	gitVersion := "v1.29.3"
	old.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			switch r.URL.Path {
			case "/apis/admissionregistration.k8s.io/v1":
				return responded(r, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{{Name: "validatingwebhookconfigurations"}}}), nil
			case "/version":
				return responded(r, map[string]string{"gitVersion": gitVersion}), nil
			}
			return next.RoundTrip(r)
		})
	})
	connection := o.open(old)
	o.connect = func() *cluster.Connection { return connection }
	o.finish(kubernikusv1.DeorbitFreeze)
	frozen(t, o, "frozen2", `failed calling webhook`)
	config := &admissionv1.ValidatingWebhookConfiguration{}
	config.Name = "groundskeeper-deorbit"
	get := func() string {
		t.Helper()
		if err := o.c.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
			t.Fatal(err)
		}
		return config.ResourceVersion
	}
	before := get()
	o.finish(kubernikusv1.DeorbitFreeze)
	if after := get(); after != before {
		t.Error("it was written again")
	}
	// An object that another client changed in conflict with the desired state is recreated.
	first := config.UID
	service := `{"service":{"namespace":"frozen2","name":"web"}}`
	if err := o.c.Patch(t.Context(), config, client.RawPatch("application/json-patch+json", []byte(`[{"op":"replace","path":"/webhooks/0/clientConfig","value":`+service+`}]`))); err != nil {
		t.Fatal(err)
	}
	o.finish(kubernikusv1.DeorbitFreeze)
	if get(); config.UID == first || config.Webhooks[0].ClientConfig.Service != nil {
		t.Errorf("%+v", config)
	}
	// Without conditions, updates of Services are left alone: the finalizers of load balancers have to come off.
	gitVersion = "v1.27.16"
	o.finish(kubernikusv1.DeorbitFreeze)
	get()
	for _, w := range config.Webhooks {
		for _, r := range w.Rules {
			if len(w.MatchConditions) > 0 || len(r.Operations) != 1 || r.Operations[0] != admissionv1.Create {
				t.Errorf("%+v", w)
			}
		}
	}
	if lifted, err := connection.Thaw(t.Context()); err != nil || !lifted {
		t.Fatalf("lifted = %t, error = %v, want the freeze to be lifted", lifted, err)
	}
	if err := confirmDeleted(t.Context(), o.c, config); err != nil {
		t.Error(err)
	}
	o.slips("frozen2")
}

// A response that the API server did not give.
func responded(r *http.Request, object any) *http.Response {
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}
}

// testDeorbitWebhooks checks that a webhook that cannot be called is deleted after two checks, and that one that responds is
// respected.
func testDeorbitWebhooks(t *testing.T, o *orbit) {
	o.space("hooked")
	var allows atomic.Bool
	responses := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct{ UID string } `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":%t,"status":{"message":"it is dear to Groundskeeper"}}}`, review.Request.UID, allows.Load())
	}))
	t.Cleanup(responses.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: responses.Certificate().Raw})
	hook := func(name, url string, operation admissionv1.OperationType) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{Name: name, ClientConfig: admissionv1.WebhookClientConfig{URL: &url, CABundle: ca},
			AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone), TimeoutSeconds: new(int32(3)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "hooked"}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{operation},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}}}}}
	}
	dear, web := balancer("hooked", "dear"), balancer("hooked", "web")
	o.create(dear, web)
	o.policies.FloatingIPs = kubernikusv1.DeletionPolicyRetain // updates have to be admitted as well
	o.must(kubernikusv1.DeorbitServices)
	const nowhere = "https://127.0.0.1:1/validate"
	config := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooked"}, Webhooks: []admissionv1.ValidatingWebhook{
		hook("first.example.com", responses.URL, admissionv1.Create), hook("down.example.com", nowhere, admissionv1.Delete),
		hook("answers.example.com", responses.URL, admissionv1.Delete), hook("other.example.com", nowhere, admissionv1.Create)}}
	mutating := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooked"}}
	down := hook("changes.example.com", nowhere, admissionv1.Delete)
	mutating.Webhooks = []admissionv1.MutatingWebhook{{Name: down.Name, ClientConfig: down.ClientConfig, AdmissionReviewVersions: down.AdmissionReviewVersions,
		SideEffects: down.SideEffects, TimeoutSeconds: down.TimeoutSeconds, NamespaceSelector: down.NamespaceSelector, Rules: down.Rules}}
	o.create(config)
	eventually(t, func(ctx context.Context) error {
		if err := o.c.Delete(ctx, web, client.DryRunAll); err == nil {
			return errors.New("not yet")
		}
		return nil
	})
	o.create(mutating)
	eventually(t, func(ctx context.Context) error { // the API server receives webhooks by a watch
		if err := o.c.Delete(ctx, web, client.DryRunAll); !apierrors.IsInternalError(err) {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})

	// Mutating webhooks are called first, so that the others are found when that has been deleted.
	o.remains(kubernikusv1.DeorbitServices, "Service", "web", "failed calling webhook")
	o.stays(dear, web)
	// The API server calls all webhooks concurrently and returns the first response, so the one that responds may hide the other
	// one.
	eventually(t, func(ctx context.Context) error {
		if _, _, err := o.check(ctx, kubernikusv1.DeorbitServices); err != nil {
			return err
		}
		if err := o.c.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		if slices.ContainsFunc(config.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == "down.example.com" }) {
			return errors.New("down.example.com is still there")
		}
		return nil
	})
	o.remains(kubernikusv1.DeorbitServices, "Service", "web", `admission webhook "answers.example.com" denied the request: it is dear to Groundskeeper`)
	for _, object := range []client.Object{config, mutating} {
		if err := o.c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	for _, w := range config.Webhooks {
		left = append(left, w.Name)
	}
	if fmt.Sprint(left) != "[first.example.com answers.example.com other.example.com]" || len(mutating.Webhooks) != 0 {
		t.Errorf("%v, %v", left, mutating.Webhooks)
	}
	if removed := fmt.Sprint(o.deleted); !strings.Contains(removed, "MutatingWebhookConfiguration") || !strings.Contains(removed, "webhook down.example.com blocked deletions") {
		t.Error(removed)
	}
	o.stays(dear, web) // the webhook decides
	allows.Store(true)
	o.finish(kubernikusv1.DeorbitServices)
	o.reclaim(dear, web)
	o.absent(dear, web)
	for _, object := range []client.Object{config, mutating} {
		if err := o.c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// testDeorbitKills checks that a process that exits between any two writes, before or after the API server received the last one,
// does not change the result.
func testDeorbitKills(t *testing.T, o *orbit) {
	const ns = "kills"
	o.space(ns)
	var objects, volumes []client.Object
	for _, name := range []string{"k-1", "k-2", "k-3"} {
		volume, claim := o.bound(ns, name, cinderDriver, corev1.PersistentVolumeReclaimDelete)
		service := balancer(ns, name)
		o.create(service)
		objects, volumes = append(objects, claim, o.pod(ns, name, "gone", name), service), append(volumes, volume)
	}
	o.policies.FloatingIPs = kubernikusv1.DeletionPolicyRetain
	looks := 0
	o.connect = func() *cluster.Connection {
		looks++
		lost, config := looks%2 == 0, rest.CopyConfig(o.config)
		var writes atomic.Int64
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet || r.URL.Query().Get("dryRun") != "" {
					return next.RoundTrip(r)
				}
				n := writes.Add(1)
				if n == 1 && !lost {
					return next.RoundTrip(r)
				}
				if n == 1 { // the write arrives, the response does not
					if response, err := next.RoundTrip(r); err == nil {
						_ = response.Body.Close() // Reads it
					}
				}
				return nil, errors.New("the process was killed")
			})
		})
		return o.open(config)
	}
	over := func(s kubernikusv1.DeorbitStage) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			report, over, err := o.check(ctx, s)
			if err == nil && !over {
				err = fmt.Errorf("%+v remain", report.Remaining)
			}
			return err
		})
	}
	over(kubernikusv1.DeorbitFreeze)
	over(kubernikusv1.DeorbitPods)
	over(kubernikusv1.DeorbitClaims)
	over(kubernikusv1.DeorbitServices)
	for _, object := range objects {
		if s, ok := object.(*corev1.Service); ok {
			if err := o.c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || s.Annotations["loadbalancer.openstack.org/keep-floatingip"] != "true" {
				t.Errorf("%+v, %v", s, err)
			}
			o.reclaim(s)
		}
	}
	o.reclaim(volumes...)
	over(kubernikusv1.DeorbitWait)
	o.absent(append(objects, volumes...)...)
	var own int
	for _, v := range o.seen.Volumes {
		if strings.HasPrefix(v.ID, "k-") && v.ReclaimPolicy == "Delete" {
			own++
		}
	}
	if own != 3 || len(o.seen.Services) < 3 {
		t.Errorf("%+v", o.seen)
	}
	o.thaw(ns)
}

// thaw takes the freeze away, for the next test.
func (o *orbit) thaw(namespace string) {
	o.t.Helper()
	for _, object := range []client.Object{&admissionv1.ValidatingAdmissionPolicyBinding{}, &admissionv1.ValidatingAdmissionPolicy{}} {
		object.SetName("groundskeeper-deorbit")
		if err := o.c.Delete(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
	}
	o.slips(namespace)
}

// slips waits until a claim may be made.
func (o *orbit) slips(namespace string) {
	o.t.Helper()
	eventually(o.t, func(ctx context.Context) error {
		return o.c.Create(ctx, pending(namespace, name(o.t, "slips"), ""), client.DryRunAll)
	})
}

// testDeorbitRejections checks that an API server that rejects Groundskeeper's credentials or requests is an error in each stage,
// and when reading the ID of the cluster.
func testDeorbitRejections(t *testing.T, o *orbit) {
	anonymous := rest.AnonymousClientConfig(o.config)
	anonymous.BearerToken = "nobody-knows-it"
	stranger := rest.CopyConfig(o.admin)
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "stranger", Groups: []string{"system:authenticated"}}
	untrusted := rest.CopyConfig(o.config)
	untrusted.CAData, untrusted.CAFile = nil, ""
	for name, config := range map[string]*rest.Config{"401": anonymous, "403": stranger, "TLS": untrusted} {
		connection := o.open(config)
		o.connect = func() *cluster.Connection { return connection }
		for _, s := range []kubernikusv1.DeorbitStage{kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots, kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitServices, kubernikusv1.DeorbitWait} {
			if report, _, err := o.check(t.Context(), s); err == nil || strings.Contains(err.Error(), anonymous.BearerToken) {
				t.Errorf("%s, %s: %+v, %v", name, s, report, err)
			}
		}
		if id, err := connection.ID(t.Context()); err == nil {
			t.Errorf("%s: %s", name, id)
		}
	}
	system := &corev1.Namespace{}
	if err := o.c.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system); err != nil {
		t.Fatal(err)
	}
	if id, err := o.open(o.config).ID(t.Context()); err != nil || id != system.UID {
		t.Errorf("%s, %v", id, err)
	}
}
