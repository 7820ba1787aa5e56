// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// webhook lets the host call decide about the creation of Klusters in one namespace, until the test ends. What decide returns is
// reported to the user.
func webhook(t *testing.T, namespace string, decide func(*admissionv1.AdmissionRequest) error) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
			http.Error(w, "not a review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if err := decide(review.Request); err != nil {
			review.Response.Allowed, review.Response.Result = false, &metav1.Status{Message: err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca}
	reviewed(t, namespace, "", config, admissionregistrationv1.Fail, 30)
}

// reviewed lets a webhook decide about the creation of Klusters with a label in one namespace, or of all, until the test ends.
func reviewed(
	t *testing.T, namespace, label string, config admissionregistrationv1.WebhookClientConfig,
	failure admissionregistrationv1.FailurePolicyType, seconds int32,
) {
	t.Helper()
	selector := &metav1.LabelSelector{}
	if label != "" {
		selector.MatchLabels = map[string]string{"webhook": label}
	}
	inTheCluster(t, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, "hook")},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "klusters.example.com",
			ClientConfig:            config,
			Rules:                   []admissionregistrationv1.RuleWithOperations{createKlusters()},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ObjectSelector:          selector,
			FailurePolicy:           &failure,
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          &seconds,
		}},
	})
}

// TestDeadWebhook checks that webhooks that refuse connections, or never respond, reject what they match if they fail closed, by an
// error that names them, and nothing else, and that those that fail open reject nothing.
func TestDeadWebhook(t *testing.T) {
	t.Parallel()
	namespace := name(t, "dead")
	newNamespace(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	create := func(ctx context.Context, label string) error {
		kluster := klusterIn(namespace, "k", "")
		kluster.Labels = map[string]string{"webhook": label}
		return clientOf(t, shared.DirectConfig(1)).Create(ctx, kluster, client.DryRunAll)
	}
	silent := listen(t) // the kernel accepts connections, and nobody reads them
	for label, address := range map[string]string{"refuses": "127.0.0.1:" + freePort(t), "silent": silent.Addr().String()} {
		url := "https://" + address + "/"
		config := admissionregistrationv1.WebhookClientConfig{URL: &url}
		reviewed(t, namespace, label+"-open", config, admissionregistrationv1.Ignore, 1)
		reviewed(t, namespace, label+"-closed", config, admissionregistrationv1.Fail, 1)
		soon(t, `failed calling webhook "klusters.example.com"`, func(ctx context.Context) error { return create(ctx, label+"-closed") })
		accepted(t, create(t.Context(), label+"-open"))
	}
	accepted(t, create(t.Context(), "another"))
}

// TestSlowWebhook checks that requests that wait for a webhook of the cluster keep no others from being served, and succeed when it responds.
func TestSlowWebhook(t *testing.T) {
	t.Parallel()
	slow, free, one, another := name(t, "slow"), name(t, "free"), name(t, "one"), name(t, "another")
	for _, namespace := range []string{slow, free} {
		newNamespace(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	allowedKlusters(t, slow, one)
	allowedKlusters(t, free, another)
	const requests = 20
	waiting, respond := make(chan struct{}, requests), make(chan struct{})
	webhook(t, slow, func(request *admissionv1.AdmissionRequest) error {
		if request.Name == "probe" {
			return errors.New("not this one")
		}
		waiting <- struct{}{}
		<-respond
		return nil
	})
	done := sync.OnceFunc(func() { close(respond) })
	t.Cleanup(done)                  // before the webhook ends, which waits for its requests
	direct := shared.DirectConfig(1) // the webhook is known to one server
	user := func(name string) client.WithWatch {
		config := rest.CopyConfig(direct)
		config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
		return clientOf(t, config)
	}
	eventually(t, func(ctx context.Context) error { // the server receives webhooks by a watch
		if err := clientOf(t, direct).Create(ctx, klusterIn(slow, "probe", ""), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "not this one") {
			return fmt.Errorf("the webhook is not called yet: %w", err)
		}
		return nil
	})
	c, beside, ended := user(one), user(another), make(chan error, requests)
	for i := range requests {
		go func() { ended <- c.Create(t.Context(), klusterIn(slow, fmt.Sprintf("k%d", i), ""), client.DryRunAll) }()
	}
	for range requests {
		<-waiting
	}
	accepted(t, beside.Create(t.Context(), klusterIn(free, "k", "")))
	accepted(t, beside.List(t.Context(), &kubernikusv1.KlusterList{}, client.InNamespace(free)))
	accepted(t, c.List(t.Context(), &kubernikusv1.KlusterList{}, client.InNamespace(slow)))
	done()
	for range requests {
		accepted(t, <-ended)
	}
}
