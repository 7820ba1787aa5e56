// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubeconfigsecrets

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

const (
	hidden = "hunter2hunter2"
	bad    = "users: [{name: a, user: {exec: {command: " + hidden + "}}}]"
	good   = "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: \"https://a\"}}]\nusers: [{name: a, user: {token: " + hidden + "}}]"
)

// unused returns no user of a Secret, and fails the test if no call is expected.
type unused struct{ err error }

func (n unused) Klusters(context.Context, string, string) (bool, error) { return false, n.err }
func (n unused) Backends(context.Context, string, string) (bool, error) { return false, n.err }

func users() Users {
	return live{fake.NewSimpleClientset(
		&kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "plain", Name: "kay"}},
		&kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "plain", Name: "other"}, Spec: kubernikusv1.KlusterSpec{SecretRef: kubernikusv1.SecretReference{Name: "named"}}},
		&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "plain", Name: "a"}, Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Credentials: "backend"}},
		&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "plain", Name: "b"}, Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendOpenStack, Secret: "cloud"}},
	)}
}

func secret(data map[string]string) *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func request(t *testing.T, namespace, name string, current, old *corev1.Secret) *admissionv1.AdmissionRequest {
	t.Helper()
	r := &admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace: namespace, Name: name,
	}
	raw, err := json.Marshal(current)
	if err != nil {
		t.Fatal(err)
	}
	r.Object = runtime.RawExtension{Raw: raw}
	if old != nil {
		r.Operation = admissionv1.Update
		if r.OldObject.Raw, err = json.Marshal(old); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestReview(t *testing.T) {
	broken, fine := map[string]string{"kubeconfig": bad}, map[string]string{"kubeconfig": good}
	going := secret(broken)
	going.DeletionTimestamp = new(metav1.Now())
	for name, tc := range map[string]struct {
		namespace, name string
		current, old    *corev1.Secret
		rejected        string
	}{
		"in a project":                   {"garden-x", "any", secret(broken), nil, "data[kubeconfig] is not acceptable: users[0].user.exec"},
		"in the garden":                  {"garden", "any", secret(broken), nil, "data[kubeconfig]"},
		"in no project":                  {"gardenia", "any", secret(broken), nil, ""},
		"good":                           {"garden-x", "any", secret(fine), nil, ""},
		"of a Kluster":                   {"plain", "kay-secret", secret(broken), nil, "data[kubeconfig]"},
		"of a Kluster that names it":     {"plain", "named", secret(broken), nil, "data[kubeconfig]"},
		"of a Kluster elsewhere":         {"other", "kay-secret", secret(broken), nil, ""},
		"unused":                         {"plain", "any", secret(broken), nil, ""},
		"of a backend":                   {"plain", "backend", secret(map[string]string{"config": bad}), nil, "data[config]"},
		"of a backend, good":             {"plain", "backend", secret(map[string]string{"config": good}), nil, ""},
		"of a backend, another key":      {"plain", "backend", secret(map[string]string{"clouds.yaml": bad}), nil, ""},
		"of a backend that is a cloud":   {"plain", "cloud", secret(map[string]string{"config": bad}), nil, ""},
		"of a backend in a project":      {"garden-x", "backend", secret(map[string]string{"config": bad}), nil, ""},
		"of a Kluster, a backend's key":  {"plain", "kay-secret", secret(map[string]string{"config": bad}), nil, ""},
		"empty":                          {"garden-x", "any", secret(map[string]string{"kubeconfig": ""}), nil, "data[kubeconfig]"},
		"none":                           {"garden-x", "any", secret(nil), nil, ""},
		"changed to a bad one":           {"garden-x", "any", secret(broken), secret(fine), "data[kubeconfig]"},
		"added":                          {"garden-x", "any", secret(broken), secret(nil), "data[kubeconfig]"},
		"bad before, something else new": {"garden-x", "any", secret(map[string]string{"kubeconfig": bad, "x": "y"}), secret(broken), ""},
		"going":                          {"garden-x", "any", going, secret(fine), ""},
	} {
		got := New(users(), false).Review(t.Context(), request(t, tc.namespace, tc.name, tc.current, tc.old))
		if got.Rejected != (tc.rejected != "") || !strings.Contains(got.Message, tc.rejected) || len(got.Warnings) > 0 {
			t.Errorf("%s: got %+v", name, got)
		}
		if strings.Contains(got.Message, hidden) {
			t.Errorf("%s: the message contains the Secret: %s", name, got.Message)
		}
	}
}

// A failed lookup does not reject the Secret: the loader will.
func TestReviewWhenLookupFails(t *testing.T) {
	down := unused{errors.New("no server responds")}
	for _, key := range []string{"kubeconfig", "config"} {
		got := New(down, false).Review(t.Context(), request(t, "plain", "any", secret(map[string]string{key: bad}), nil))
		if got.Rejected || got.Outcome != webhooks.Failed || len(got.Warnings) != 1 || strings.Contains(got.Warnings[0], hidden) {
			t.Errorf("%s: got %+v", key, got)
		}
		if got := New(down, false).Review(t.Context(), request(t, "plain", "any", secret(map[string]string{key: good}), nil)); got.Outcome != webhooks.Allowed {
			t.Errorf("%s: lookup of a valid Secret: %+v", key, got)
		}
	}
	r := request(t, "garden-x", "any", secret(nil), nil)
	r.Object.Raw = []byte(hidden)
	if got := New(down, false).Review(t.Context(), r); got.Rejected || got.Outcome != webhooks.Failed || strings.Contains(got.Warnings[0], hidden) {
		t.Errorf("no Secret: %+v", got)
	}
}

func TestReviewOfOthers(t *testing.T) {
	for name, change := range map[string]func(*admissionv1.AdmissionRequest){
		"a deletion":       func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Delete },
		"another resource": func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "configmaps" },
		"a subresource":    func(r *admissionv1.AdmissionRequest) { r.SubResource = "x" },
	} {
		r := request(t, "garden-x", "any", secret(map[string]string{"kubeconfig": bad}), nil)
		change(r)
		if got := New(users(), false).Review(t.Context(), r); got.Outcome != webhooks.Allowed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReviewOfAProxy checks that the webhook follows the setting, as the loader does, and lets a Secret that had a proxy before be changed.
func TestReviewOfAProxy(t *testing.T) {
	proxied := strings.Replace(good, "server:", "proxy-url: \"http://proxy.example:3128\", server:", 1)
	for name, tc := range map[string]struct {
		allow, rejected bool
		old             *corev1.Secret
	}{
		"not allowed": {false, true, nil},
		"allowed":     {true, false, nil},
		"unchanged":   {false, false, secret(map[string]string{"kubeconfig": proxied})},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(users(), tc.allow).Review(t.Context(), request(t, "garden-x", "any", secret(map[string]string{"kubeconfig": proxied, "x": "y"}), tc.old))
			if got.Rejected != tc.rejected || tc.rejected && !strings.Contains(got.Message, "controllers.credentials.allowProxyURL") {
				t.Errorf("got %+v, want rejected: %t", got, tc.rejected)
			}
		})
	}
}
