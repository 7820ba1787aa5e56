// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestHealth(t *testing.T) {
	fake := clocktesting.NewFakePassiveClock(time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC))
	news := 0
	h := &health{clock: fake, changed: func() { news++ }}
	respond := func(method, path string, status int) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "https://example.com/prefix/api/v1/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if status == 0 {
			h.observe(request, nil, errors.New("connection refused"))
			return
		}
		h.observe(request, &http.Response{StatusCode: status}, nil)
	}
	want := func(step, reason, message string, changes int) {
		t.Helper()
		got, text, _ := h.failure()
		if got != reason || !strings.Contains(text, message) || news != changes {
			t.Errorf("%s: %q %q after %d changes, want %q %q after %d", step, got, text, news, reason, message, changes)
		}
		news = 0
	}
	respond("GET", "nodes", 200)
	want("all is well", "", "", 0)
	respond("GET", "nodes", 0)
	want("a short failure", "", "", 1)
	if _, _, again := h.failure(); again != grace {
		t.Errorf("it is reported in %s", again)
	}
	fake.SetTime(fake.Now().Add(grace))
	respond("GET", "nodes", 0)
	want("a long failure", ReasonUnreachable, "connection refused", 0)
	respond("DELETE", "persistentvolumes/a", 503)
	want("another one", ReasonUnreachable, "connection refused", 0)
	respond("GET", "nodes", 401)
	want("rejected credentials", ReasonForbidden, "401", 1)
	respond("POST", "namespaces/default/events", 201)
	want("it responds again", "", "", 1)

	// Missing permissions.
	for _, path := range []string{"namespaces", "namespaces/default", "namespaces/kube-system/configmaps/record", "pods", "events"} {
		respond("GET", path, 403)
		want(path, "", "", 0)
	}
	respond("GET", "nodes?watch=true", 403)
	respond("DELETE", "namespaces/shop/persistentvolumeclaims/data", 403)
	respond("DELETE", "namespaces/shop/persistentvolumeclaims/data", 403)
	want("forbidden", ReasonForbidden, "lack the permission to delete persistentvolumeclaims, watch nodes", 2)
	respond("GET", "nodes", 200)
	respond("DELETE", "persistentvolumes/a", 404)
	want("another right", ReasonForbidden, "delete persistentvolumeclaims, watch nodes", 0)
	respond("GET", "nodes?watch=true", 200)
	respond("DELETE", "namespaces/shop/persistentvolumeclaims/data", 409)
	want("allowed", "", "", 2)
	respond("PATCH", "persistentvolumes/a", 403)
	respond("GET", "namespaces/shop/persistentvolumeclaims/data", 403)
	respond("GET", "persistentvolumeclaims", 200)
	want("of one object", ReasonForbidden, "lack the permission to get persistentvolumeclaims, patch persistentvolumes", 2)
	respond("PATCH", "persistentvolumes/a", 200)
	respond("GET", "namespaces/shop/persistentvolumeclaims/data", 404)
	want("of one object, allowed", "", "", 2)
	respond("GET", "persistentvolumeclaims", 500)
	want("one internal error", "", "", 0)
}

// TestTransport checks that writes need the fence, that reads do not, and that a canceled request reports nothing.
func TestTransport(t *testing.T) {
	w := watch(t)
	w.isWatched()
	closed := errors.New("this replica does not hold the Lease")
	h := &health{clock: clocktesting.NewFakePassiveClock(time.Now()), changed: func() { t.Error("the health changed") }}
	client, closeConnections, err := httpClient(w.Config(), h, func() error { return closed })
	if err != nil {
		t.Fatal(err)
	}
	defer closeConnections()
	send := func(ctx context.Context, method string) error {
		request, err := http.NewRequestWithContext(ctx, method, w.Config().Host+"/api/v1/nodes", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	w.Requests()
	for _, method := range []string{http.MethodDelete, http.MethodPost, http.MethodPatch, http.MethodPut} {
		if err := send(t.Context(), method); !errors.Is(err, closed) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if got := w.Requests(); len(got) != 0 {
		t.Errorf("requests arrived: %v", got)
	}
	if err := send(t.Context(), http.MethodGet); err != nil {
		t.Error(err)
	}
	if got := w.Requests(); len(got) != 1 || got[0] != "list nodes t" {
		t.Errorf("requests: %v", got)
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	if err := send(given, http.MethodGet); err == nil {
		t.Error("a request that was given up succeeded")
	}
}
