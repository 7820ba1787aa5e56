// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const groundskeeperSystem = "groundskeeper-system"

// apiServiceOf reads an APIService of the plane.
func (h *hooked) apiServiceOf(ctx context.Context, version string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("apiregistration.k8s.io/v1")
	object.SetKind("APIService")
	return object, h.client.Get(ctx, client.ObjectKey{Name: version}, object)
}

// Returns the CAs that clients of the process are instructed to trust.
func (h *hooked) reported(ctx context.Context, process string) ([]byte, error) {
	if process == manager {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := h.client.Get(ctx, client.ObjectKey{Name: "groundskeeper"}, configuration); err != nil {
			return nil, err
		}
		return configuration.Webhooks[0].ClientConfig.CABundle, nil
	}
	service, err := h.apiServiceOf(ctx, "v1.kubernikus.sap.cc")
	if err != nil {
		return nil, err
	}
	bundle, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
	return base64.StdEncoding.DecodeString(bundle)
}

// caOf reads the Secret of a process: its certificate, and how many CAs clients trust.
func (h *hooked) caOf(ctx context.Context, process string) (certificate []byte, bundle int, err error) {
	secret := &corev1.Secret{}
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: groundskeeperSystem, Name: process + "-tls"}, secret); err != nil {
		return nil, 0, err
	}
	return secret.Data[corev1.TLSCertKey], bytes.Count(secret.Data["ca.crt"], []byte("BEGIN CERTIFICATE")), nil
}

// editedBundles: a change of a caBundle is repaired, by a watch.
func (h *hooked) editedBundles(t *testing.T) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := h.client.Get(t.Context(), client.ObjectKey{Name: "groundskeeper"}, configuration); err != nil {
		t.Fatal(err)
	}
	want := configuration.Webhooks[0].ClientConfig.CABundle
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].ClientConfig.CABundle = h.CA()
	}
	if err := h.client.Update(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	service, err := h.apiServiceOf(t.Context(), "v1.midonet.org")
	if err != nil {
		t.Fatal(err)
	}
	wantService, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
	if err := h.client.Patch(t.Context(), service, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"caBundle":null}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := h.client.Get(ctx, client.ObjectKey{Name: "groundskeeper"}, configuration); err != nil {
			return err
		}
		for _, webhook := range configuration.Webhooks {
			if !bytes.Equal(webhook.ClientConfig.CABundle, want) {
				return fmt.Errorf("webhook %s is not corrected", webhook.Name)
			}
		}
		service, err := h.apiServiceOf(ctx, "v1.midonet.org")
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle"); got != wantService {
			return errors.New("the APIService is not corrected")
		}
		return nil
	})
	// kube-apiserver's own view of it is a moment late.
	eventually(t, func(context.Context) error { _, err := h.apiServiceOf(t.Context(), "v1.midonet.org"); return err })
}

// rotation replaces the certificates of both servers while clients write without a pause and connect again without a pause.
func (h *hooked) rotation(t *testing.T) {
	project := h.project(t)
	before := map[string][]byte{}
	for _, process := range []string{apiserver, manager} {
		var err error
		if before[process], _, err = h.caOf(t.Context(), process); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer func() { stop(); group.Wait() }()
	var done [4]atomic.Int64
	work := func(i int, act func(context.Context) error) {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := act(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("request %d of worker %d: %v", done[i].Load(), i, err)
					return
				}
				done[i].Add(1)
			}
		})
	}
	// Writes through the aggregator, which the webhook for sizes reviews on its way.
	work(0, func(ctx context.Context) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"count":"%d"}}}`, done[0].Load())
		return h.client.Patch(ctx, &gardenerv1beta1.Project{ObjectMeta: project.ObjectMeta}, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
	// A webhook that fails closed; its rejection is the response, and nothing else is.
	work(1, func(ctx context.Context) error {
		err := h.client.Delete(ctx, namespaceNamed(project.NamespaceName()), client.DryRunAll)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "direct deletion of namespace") {
			return nil
		}
		return fmt.Errorf("not the webhook's response: %w", err)
	})
	// A client that connects now and trusts what the cluster publishes.
	work(2, func(ctx context.Context) error {
		return h.connect(ctx, apiserver, h.APIServers[0].Address(), apiserver+"."+groundskeeperSystem+".svc")
	})
	work(3, func(ctx context.Context) error { return h.connect(ctx, manager, h.webhookAddress(t), "127.0.0.1") })

	for process := range before {
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = groundskeeperSystem, process+"-tls"
		if err := h.client.Delete(t.Context(), secret); err != nil {
			t.Error(err)
		}
	}
	// Another certificate, and no client trusts the CA of the one before any more.
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		for process, old := range before {
			now, bundle, err := h.caOf(ctx, process)
			if t.Failed() {
				return false, errors.New("requests failed")
			}
			if err != nil || bytes.Equal(now, old) || bundle != 1 {
				return false, client.IgnoreNotFound(err)
			}
		}
		return true, nil
	})
	if err != nil {
		t.Errorf("the certificates were not replaced: %v", err)
	}
	// Some more requests with the bundle that is left.
	counts := [4]int64{}
	for i := range done {
		counts[i] = done[i].Load()
	}
	eventually(t, func(context.Context) error {
		for i := range done {
			if !t.Failed() && done[i].Load() < counts[i]+20 {
				return fmt.Errorf("worker %d stands still", i)
			}
		}
		return nil
	})
	stop()
	group.Wait()
	t.Logf("requests without a failure: %d writes, %d reviews, %d and %d connections", done[0].Load(), done[1].Load(), done[2].Load(), done[3].Load())
}

// connect makes a new connection to a process, as a client that believes what the cluster publishes about its CA.
func (h *hooked) connect(ctx context.Context, process, address, name string) error {
	bundle, err := h.reported(ctx, process)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("clients of %s are notified of no CA", process)
	}
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", process, err)
	}
	return connection.Close()
}

// webhookAddress returns where the webhooks lead to.
func (h *hooked) webhookAddress(t *testing.T) string {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := h.client.Get(t.Context(), client.ObjectKey{Name: "groundskeeper"}, configuration); err != nil {
		t.Error(err)
		return ""
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(*configuration.Webhooks[0].ClientConfig.URL, "https://"), "/")
	return host
}
