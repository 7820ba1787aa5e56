// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/audit"
)

// The Certificate of the CA.
const ca = "groundskeeper-authority"

// install applies the installation; its Deployments are kept to be started here.
func (w *world) install() {
	w.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		w.Fatal(err)
	}
	relative, err := filepath.Rel(w.Dir, filepath.Join(root, "artifacts", "install"))
	if err != nil {
		w.Fatal(err)
	}
	w.Write("kustomization.yaml", fmt.Sprintf("resources: [%[1]s/single-replica]\ncomponents: [%[1]s/cert-manager]\n", relative))
	var applied []string
	for _, object := range w.decode(w.Kubectl("", "kustomize", w.Dir)) {
		switch object.GetKind() {
		case "Deployment":
			w.deployments[object.GetName()] = object
			continue
		case "ConfigMap":
			w.config, _, _ = unstructured.NestedString(object.Object, "data", "config.yaml")
		}
		if err := w.localize(object); err != nil {
			w.Fatalf("%s: %v", identity(object), err)
		}
		content, err := json.Marshal(object)
		if err != nil {
			w.Fatal(err)
		}
		applied = append(applied, string(content))
	}
	w.Kubectl(strings.Join(applied, "\n---\n"), "apply", "-f", "-")
}

// localize leads what is registered to processes of this machine, as test/plane does.
func (w *world) localize(object *unstructured.Unstructured) error {
	switch identity(object) {
	case "Service " + apiserver:
		return unstructured.SetNestedMap(object.Object, map[string]any{"type": "ExternalName", "externalName": "localhost"}, "spec")
	case "ValidatingWebhookConfiguration groundskeeper":
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, webhook := range webhooks {
			path, _, _ := unstructured.NestedString(webhook.(map[string]any), "clientConfig", "service", "path")
			if err := unstructured.SetNestedMap(webhook.(map[string]any), map[string]any{"url": "https://" + w.address(manager) + path}, "clientConfig"); err != nil {
				return err
			}
		}
		return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
	}
	if object.GetKind() == "APIService" {
		return unstructured.SetNestedField(object.Object, int64(w.ports[apiserver]), "spec", "service", "port")
	}
	return nil
}

// startServers starts Groundskeeper's servers as their Deployments specify, with the permissions of the installation and no other.
func (w *world) startServers() {
	w.Helper()
	const mount = "/etc/groundskeeper-tls"
	w.run(apiserver, append(w.args(apiserver, map[string]string{mount: w.mount(apiserver + "-cert")}, "--secure-port", "--embedded-etcd-dir", "--shutdown"),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(w.ports[apiserver]), "--kubeconfig="+w.account(apiserver),
		"--embedded-etcd-dir="+filepath.Join(w.Dir, "etcd"), "--embedded-etcd-unsafe-no-fsync")...)
	w.Write("config.yaml", w.config)
	w.run(manager, append(w.args(manager, map[string]string{mount: w.mount(manager + "-cert"), "/etc/groundskeeper": w.Dir}),
		"--kubeconfig="+w.account(manager), "--health-address="+w.address("health"), "--webhook-address="+w.address(manager))...)
}

// available waits until the aggregator reaches the API server of every registration.
func (w *world) available() {
	w.Helper()
	services := &unstructured.UnstructuredList{}
	services.SetAPIVersion("apiregistration.k8s.io/v1")
	services.SetKind("APIServiceList")
	w.Eventually("APIServices", func(ctx context.Context) error {
		if err := w.Client.List(ctx, services, client.MatchingLabels{"app.kubernetes.io/part-of": "groundskeeper"}); err != nil {
			return err
		}
		if len(services.Items) != 4 {
			return fmt.Errorf("there are %d", len(services.Items))
		}
		for _, service := range services.Items {
			conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
			for _, condition := range conditions {
				if c := condition.(map[string]any); c["type"] != "Available" || c["status"] != "True" {
					return fmt.Errorf("%s: %v", service.GetName(), c["message"])
				}
			}
			if len(conditions) == 0 {
				return fmt.Errorf("%s has no condition", service.GetName())
			}
		}
		return nil
	})
}

// The CAs that clients of a server are instructed to trust.
func (w *world) served(ctx context.Context, server string) ([]*x509.Certificate, error) {
	var bundle []byte
	if server == manager {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := w.Client.Get(ctx, client.ObjectKey{Name: "groundskeeper"}, configuration); err != nil {
			return nil, err
		}
		bundle = configuration.Webhooks[0].ClientConfig.CABundle
	} else {
		service := &unstructured.Unstructured{}
		service.SetAPIVersion("apiregistration.k8s.io/v1")
		service.SetKind("APIService")
		if err := w.Client.Get(ctx, client.ObjectKey{Name: "v1.kubernikus.sap.cc"}, service); err != nil {
			return nil, err
		}
		encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
		var err error
		if bundle, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, err
		}
	}
	return cert.ParseCertsPEM(bundle)
}

// connect makes a new connection to a server, as a client that believes what the cluster publishes, and returns its certificate.
func (w *world) connect(ctx context.Context, server string) (*x509.Certificate, error) {
	trusted, err := w.served(ctx, server)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	for _, certificate := range trusted {
		roots.AddCert(certificate)
	}
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{
		RootCAs: roots, ServerName: server + "." + systemNamespace + ".svc", MinVersion: tls.VersionTLS12,
	}}
	connection, err := dialer.DialContext(ctx, "tcp", w.address(server))
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// renew requests from cert-manager another certificate now, as "cmctl renew" does.
func (w *world) renew(name string) {
	w.Helper()
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Issuing","status":"True","reason":"ManuallyTriggered","message":"renewed by a test","lastTransitionTime":%q}]}}`,
		time.Now().UTC().Format(time.RFC3339))
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("cert-manager.io/v1")
	object.SetKind("Certificate")
	object.SetNamespace(systemNamespace)
	object.SetName(name)
	if err := w.Client.Status().Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		w.Fatal(err)
	}
}

// replaced waits until a server serves another certificate, and returns it.
func (w *world) replaced(server string, old *x509.Certificate) *x509.Certificate {
	w.Helper()
	var now *x509.Certificate
	began := time.Now()
	w.Eventually("another certificate of "+server, func(ctx context.Context) (err error) {
		if now, err = w.connect(ctx, server); err == nil && old != nil && now.Equal(old) {
			err = errors.New("it serves the old one")
		}
		return err
	})
	w.Logf("%s serves certificate %x after %s", server, now.SerialNumber, time.Since(began).Round(100*time.Millisecond))
	return now
}

// clients write, are reviewed and connect again without a pause until the returned function is called, which fails the test when
// one of them failed or stood still.
func (w *world) clients(project *gardenerv1beta1.Project) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var group sync.WaitGroup
	var done [4]atomic.Int64
	for i, act := range []func() error{
		func() error {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"count":"%d"}}}`, done[0].Load())
			return w.Client.Patch(ctx, &gardenerv1beta1.Project{ObjectMeta: project.ObjectMeta}, client.RawPatch(types.MergePatchType, []byte(patch)))
		},
		func() error { return w.rejected(ctx, project) },
		func() error { _, err := w.connect(ctx, apiserver); return err },
		func() error { _, err := w.connect(ctx, manager); return err },
	} {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := act(); err != nil && ctx.Err() == nil {
					w.Errorf("request %d of client %d: %v", done[i].Load(), i, err)
					return
				}
				done[i].Add(1)
			}
		})
	}
	return func() {
		w.Helper()
		var before [4]int64
		for i := range done {
			before[i] = done[i].Load()
		}
		w.Eventually("requests with what is trusted now", func(context.Context) error {
			for i := range done {
				if !w.Failed() && done[i].Load() < before[i]+10 {
					return fmt.Errorf("client %d stands still", i)
				}
			}
			return nil
		})
		cancel()
		group.Wait()
		w.Logf("requests without a failure: %d writes, %d reviews, %d and %d connections", done[0].Load(), done[1].Load(), done[2].Load(), done[3].Load())
	}
}

// Nil when the webhook, which fails closed, responds: the rejection is its response, and nothing else is.
func (w *world) rejected(ctx context.Context, project *gardenerv1beta1.Project) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	err := w.Client.Delete(ctx, namespace, client.DryRunAll)
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "direct deletion of namespace") {
		return nil
	}
	return fmt.Errorf("not the webhook's response: %w", err)
}

// trust waits until clients of both servers trust so many CAs.
func (w *world) trust(count int) {
	w.Helper()
	w.Eventually("authorities", func(ctx context.Context) error {
		for _, server := range []string{apiserver, manager} {
			if trusted, err := w.served(ctx, server); err != nil || len(trusted) != count {
				return fmt.Errorf("clients of %s trust %d, want %d: %w", server, len(trusted), count, err)
			}
		}
		return nil
	})
}

// TestCertManager checks that cert-manager issues and renews the certificates and replaces the CA without a failed request.
func TestCertManager(t *testing.T) {
	w := newWorld(t)
	w.Kubectl("", "apply", "--server-side", "-f", w.binary("cert-manager-crds"))
	w.Kubectl("", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	w.run("cert-manager", "--kubeconfig="+w.Plane.AdminKubeconfig())
	w.install()
	w.startServers()
	w.available()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if err := w.Client.Create(w.Context(), project); err != nil {
		t.Fatal(err)
	}
	w.Kubectl("", "wait", "--for=jsonpath={.status.phase}=Ready", "project/shop", "--timeout=120s")
	w.Eventually("the webhook", func(ctx context.Context) error { return w.rejected(ctx, project) })
	w.trust(1)
	served := map[string]*x509.Certificate{apiserver: w.replaced(apiserver, nil), manager: w.replaced(manager, nil)}

	stop := w.clients(project)
	for server := range served {
		w.renew(server)
	}
	for server, old := range served {
		served[server] = w.replaced(server, old)
		if string(served[server].RawSubjectPublicKeyInfo) == string(old.RawSubjectPublicKeyInfo) {
			t.Errorf("%s has the old key", server)
		}
		if string(served[server].AuthorityKeyId) != string(old.AuthorityKeyId) {
			t.Errorf("another CA signed the certificate of %s", server)
		}
	}
	// The new CA is known before anything is signed by it, and what the old one signed is good still.
	w.renew(ca)
	w.trust(2)
	for server, certificate := range served {
		if now, err := w.connect(w.Context(), server); err != nil || !now.Equal(certificate) {
			t.Errorf("%s serves another certificate, because there is another CA: %v", server, err)
		}
		w.renew(server)
	}
	for server, old := range served {
		if now := w.replaced(server, old); string(now.AuthorityKeyId) == string(old.AuthorityKeyId) {
			t.Errorf("the old CA signed the new certificate of %s", server)
		}
	}
	stop()
	w.leftAlone()
}

// leftAlone checks that Groundskeeper's servers wrote neither a registration nor a Secret, and missed no right that they were not
// given.
func (w *world) leftAlone() {
	w.Helper()
	if err := audit.CheckPermissions(w.log, audit.APIServer, audit.Manager); err != nil {
		w.Error(err)
	}
	for event, err := range audit.Read(w.log) {
		if err != nil {
			w.Fatal(err)
		}
		switch event.ObjectRef.Resource {
		case "apiservices", "validatingwebhookconfigurations", "secrets":
			if event.Writes() {
				w.Errorf("%s: %s %s", event.User.Username, event.Verb, event.RequestURI)
			}
		}
	}
}
