// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// sentinel stands for every credential, unchanged and as base64. It has no characters of other words of the documents.
const sentinel = "XQJWZVXQJWZV"

func leaks(text string) bool {
	return strings.Contains(text, sentinel) || strings.Contains(text, sentinel[:6]) ||
		strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(sentinel)))
}

// documents are Secrets that can be used.
func documents() map[string]struct {
	kind gimbalv1.BackendType
	data map[string][]byte
} {
	type document = struct {
		kind gimbalv1.BackendType
		data map[string][]byte
	}
	const auth = "https://cloud.example:5000/v3"
	clouds := "clouds:\n  a:\n    auth:\n      auth_url: " + auth + "\n      username: me\n      user_domain_name: Default\n      password: " + sentinel +
		"\n      project_id: p\n"
	return map[string]document{
		"kubeconfig": {gimbalv1.BackendKubernetes, map[string][]byte{keyKubeconfig: []byte(strings.ReplaceAll(testKubeconfig, "TOKEN", sentinel))}},
		"kubeconfig in YAML": {gimbalv1.BackendKubernetes, map[string][]byte{keyKubeconfig: []byte(
			"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {cluster: c, user: u}\n" +
				"clusters:\n- name: c\n  cluster: {server: 'https://backend.example'}\nusers:\n- name: u\n  user:\n    token: " + sentinel + "\n")}},
		"clouds.yaml": {gimbalv1.BackendOpenStack, map[string][]byte{keyClouds: []byte(clouds)}},
		"clouds.yaml on one line": {gimbalv1.BackendOpenStack, map[string][]byte{keyClouds: []byte(
			"clouds: {a: {auth: {auth_url: '" + auth + "', username: me, user_domain_name: Default, project_id: p, password: " + sentinel + "}}}")}},
		"password": {gimbalv1.BackendOpenStack, map[string][]byte{
			keyAuthURL: []byte(auth), keyUsername: []byte("me"), keyPassword: []byte(sentinel), keyTenantName: []byte("t"),
		}},
		"password in the URL": {gimbalv1.BackendOpenStack, map[string][]byte{
			keyAuthURL: []byte("https://me:" + sentinel + "@cloud.example/v3"), keyUsername: []byte("me"), keyPassword: []byte("x"), keyTenantName: []byte("t"),
		}},
		"credentials in all keys": {gimbalv1.BackendOpenStack, map[string][]byte{
			keyAuthURL: []byte(sentinel), keyUsername: []byte(sentinel), keyPassword: []byte(sentinel), keyCAData: []byte(sentinel),
			keyApplicationID: []byte(sentinel), keyClouds: []byte(sentinel), keyCloud: []byte(sentinel),
		}},
	}
}

// mutations returns what becomes of a document by one slip: it ends early, lacks a character, has one too many, or another one.
// A short test takes only those around the credentials.
func mutations(text []byte) [][]byte {
	var all [][]byte
	at := bytes.Index(text, []byte(sentinel))
	for i := range text {
		if testing.Short() && (i < at-12 || i > at+len(sentinel)+2) {
			continue
		}
		before, after := text[:i], text[i+1:]
		all = append(all, before, bytes.Join([][]byte{before, after}, nil))
		for _, other := range []string{"\n", "\t", " ", ":", "{", "[", "'", "\"", "&", "*", "!", "%", "#", ",", "-", "\xff"} {
			all = append(all, bytes.Join([][]byte{before, text[i:]}, []byte(other)), bytes.Join([][]byte{before, after}, []byte(other)))
		}
	}
	return all
}

// TestJudgeDoesNotRepeatReports checks that no message about an invalid Secret contains the credentials.
func TestJudgeDoesNotRepeatReports(t *testing.T) {
	failures := 0
	for name, document := range documents() {
		for key, value := range document.data {
			for _, mutated := range append(mutations(value), value) {
				data := map[string][]byte{}
				for k, v := range document.data {
					data[k] = v
				}
				data[key] = mutated
				if got := judge(document.kind, data, strict(), "salt"); leaks(got.problem) {
					if failures++; failures < 20 {
						t.Errorf("%s: key %s with\n%s\nis reported as: %s", name, key, mutated, got.problem)
					}
				}
			}
		}
	}
}

// TestOperatorDoesNotRepeatWrites checks that no status, event, log or error of the operator contains credentials, whatever fails.
func TestOperatorDoesNotRepeatWrites(t *testing.T) {
	for name, document := range documents() {
		for what, fault := range map[string]string{"nothing fails": "", "the Secret": "get Secret", "an apply": "apply", "the status": "apply status of"} {
			for key, value := range document.data {
				for _, content := range [][]byte{value, value[:len(value)-1], bytes.ReplaceAll(value, []byte(": "), []byte(" "))} {
					backend := testBackend(adminNamespace, "east")
					backend.Cluster.Type = document.kind
					secret := testSecret(adminNamespace, "")
					secret.Data = map[string][]byte{}
					for k, v := range document.data {
						secret.Data[k] = v
					}
					secret.Data[key] = content
					w := newWorld(t, backend, secret)
					recorder := events.NewFakeRecorder(1000)
					w.reconciler.recorder = recorder
					if fault != "" {
						w.fault = func(request string) error {
							if strings.HasPrefix(request, fault) {
								return errors.New("unavailable")
							}
							return nil
						}
					}
					var printed strings.Builder
					logger := funcr.New(func(prefix, args string) { fmt.Fprintln(&printed, prefix, args) }, funcr.Options{Verbosity: 10})
					_, err := w.reconciler.Reconcile(log.IntoContext(t.Context(), logger), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(backend)})
					fmt.Fprintln(&printed, err)
					close(recorder.Events)
					for event := range recorder.Events {
						fmt.Fprintln(&printed, event)
					}
					w.store.Find(backend)
					fmt.Fprintf(&printed, "%+v %+v", backend.Status, w.deployment(backend))
					if leaks(printed.String()) {
						t.Errorf("%s, key %s, failing: %s: the credentials are in\n%s", name, key, what, printed.String())
					}
				}
			}
		}
	}
}
