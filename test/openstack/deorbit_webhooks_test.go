// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// guard is a webhook that rejects, until it is instructed to allow.
type guard struct {
	*httptest.Server
	allows atomic.Bool
}

func newGuard(t *testing.T) *guard {
	t.Helper()
	g := &guard{}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct{ UID string } `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":%t,"status":{"message":"it is dear to Groundskeeper"}}}`,
			review.Request.UID, g.allows.Load())
	}))
	t.Cleanup(g.Close)
	return g
}

// testWebhooks checks that a webhook in the cluster that rejects deletions is respected, and that one that does not respond is
// deleted.
func testWebhooks(t *testing.T, o *orbit) {
	d, g := o.launch(t, "webhooks", nil), newGuard(t)
	d.claim("data", "cinder")
	d.serve("web")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	hook := func(name, url, resource string) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{Name: name, ClientConfig: admissionv1.WebhookClientConfig{URL: &url, CABundle: ca},
			AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone), TimeoutSeconds: new(int32(3)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: d.k.Name}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Delete},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}}}}}
	}
	config := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, Webhooks: []admissionv1.ValidatingWebhook{
		hook("down.example.com", "https://127.0.0.1:1/validate", "persistentvolumeclaims"), hook("dear.example.com", g.URL, "services")}}
	d.make(config)
	t.Cleanup(func() {
		if err := d.inside.Delete(context.Background(), config); err != nil {
			t.Error(err)
		}
	})
	within(t, "the webhooks are called", func() error { // the API server receives them by a watch
		claim := d.pending("data", "cinder")
		if err := d.inside.Delete(t.Context(), claim, client.DryRunAll); !apierrors.IsInternalError(err) {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	d.leave()
	d.remains("Service", "web", `admission webhook "dear.example.com" denied the request: it is dear to Groundskeeper`)
	d.of("LoadBalancer") // it is there as long as its Service is
	if err := d.inside.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
		t.Fatal(err)
	}
	if len(config.Webhooks) != 1 || config.Webhooks[0].Name != "dear.example.com" {
		t.Errorf("webhooks %+v", config.Webhooks)
	}
	g.allows.Store(true)
	d.landed("Deorbited")
}
