// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// reviewing is an API server that responds to reviews of permissions.
type reviewing struct {
	reviews atomic.Int32
	// denied is a resource that the user is allowed to do nothing with, code and message the response to a review; 0: it is made.
	denied  atomic.Value
	code    atomic.Int32
	message string
}

func (s *reviewing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/version":
		version136(w, r)
	case r.URL.Path == "/api/v1":
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"namespaces"}]}`)
	case !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case s.code.Load() != 0:
		w.WriteHeader(int(s.code.Load()))
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, http.StatusText(int(s.code.Load())), s.code.Load(), s.message)
	default:
		s.reviews.Add(1)
		body, _ := io.ReadAll(r.Body)
		denied, _ := s.denied.Load().(string)
		// The body is protobuf, in which the resource is plain text.
		allowed := denied == "" || !bytes.Contains(body, []byte(denied))
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, allowed)
	}
}

func message(k *kubernikusv1.Kluster, kind string) string {
	c := meta.FindStatusCondition(k.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return c.Message
}

// TestPreflight checks that the permissions that Deorbit needs are reviewed at registration and when the Secret changes, and not
// with every check.
func TestPreflight(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	api := &reviewing{}
	api.denied.Store("persistentvolumeclaims")
	f.kubeconfig = servedBy(t, api)
	secret := f.secret("k-secret")
	f.store.Add(secret)
	f.Inject(fake.Fault{Method: http.MethodGet, Path: "/volume", Status: http.StatusForbidden})
	wants := func(step, permissions, services string) {
		t.Helper()
		f.settled(k)
		if got := klustertest.Condition(k, kubernikusv1.ConditionClusterPermissionsGranted); got != permissions {
			t.Errorf("%s: ClusterPermissionsGranted = %s, want %s: %s", step, got, permissions, message(k, kubernikusv1.ConditionClusterPermissionsGranted))
		}
		if got := klustertest.Condition(k, kubernikusv1.ConditionOpenStackServicesUsable); got != services {
			t.Errorf("%s: OpenStackServicesUsable = %s, want %s: %s", step, got, services, message(k, kubernikusv1.ConditionOpenStackServicesUsable))
		}
	}
	wants("registration", "False/PermissionsMissing", "False/Forbidden")
	wantConditions(t, k, "True/Reachable", "True/Reachable")
	if got := message(k, kubernikusv1.ConditionClusterPermissionsGranted); !strings.HasSuffix(got, "grant: list, delete, create persistentvolumeclaims") {
		t.Errorf("message = %q, want what is missing", got)
	}
	if got := message(k, kubernikusv1.ConditionOpenStackServicesUsable); !strings.Contains(got, "list the volumes: page 1: 403") {
		t.Errorf("message = %q, want what is forbidden", got)
	}
	// A permission that was granted without an event for Groundskeeper is noticed, too.
	api.denied.Store("")
	f.Heal()
	f.clock.SetTime(f.clock.Now().Add(preflightRetry + time.Minute))
	wants("granted", "True/Granted", "True/Usable")
	f.Requests()
	api.reviews.Store(0)
	for range 3 {
		f.clock.SetTime(f.clock.Now().Add(6 * time.Minute))
		wants("later", "True/Granted", "True/Usable")
	}
	if requests := f.Requests(); api.reviews.Load() != 0 || len(requests) != 3 {
		t.Errorf("three looks made %d reviews and %d requests, want 0 and 3", api.reviews.Load(), len(requests))
	}
	api.denied.Store("pods")
	f.Inject(fake.Fault{Method: http.MethodGet, Path: "/load-balancer", Status: http.StatusForbidden})
	f.store.Change(secret, func() { secret.Labels = map[string]string{"rotated": "true"} })
	wants("a changed Secret", "False/PermissionsMissing", "False/Forbidden")
	// Results for an API server that no longer responds are discarded when the Secret changes.
	f.store.Change(secret, func() {
		secret.Data["kubeconfig"], secret.Data["openstack-password"] = []byte("no"), []byte("wrong")
	})
	wants("a broken Secret", "Unknown/NotChecked", "Unknown/NotChecked")
}

// TestPreflightUnknownUser checks that an API server that responds to the public path /version may still reject the user.
func TestPreflightUnknownUser(t *testing.T) {
	for name, c := range map[string]struct {
		code      int32
		message   string
		reachable string
	}{
		"refused":                 {401, "Unauthorized", "False/CredentialsRefused"},
		"anonymous":               {403, `selfsubjectaccessreviews is forbidden: User "system:anonymous" cannot create resource`, "False/CredentialsRefused"},
		"may not review":          {403, `selfsubjectaccessreviews is forbidden: User "jane" cannot create resource`, "True/Reachable"},
		"has no such API any way": {404, "not found", "True/Reachable"},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k")
			f := newFlow(t, k)
			api := &reviewing{message: c.message}
			api.code.Store(c.code)
			f.kubeconfig = servedBy(t, api)
			f.store.Add(f.secret("k-secret"))
			wantConditions(t, f.settled(k), c.reachable, "True/Reachable")
			if got := klustertest.Condition(k, kubernikusv1.ConditionClusterPermissionsGranted); got != "Unknown/NotChecked" {
				t.Errorf("ClusterPermissionsGranted = %s, want Unknown", got)
			}
		})
	}
}
