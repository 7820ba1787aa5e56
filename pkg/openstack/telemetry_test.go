// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestMetricsContainNoSecrets(t *testing.T) {
	var log bytes.Buffer
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	s := newFake(t, fake.Options{})
	client := connected(t, s)
	token := client.provider.Token()
	report := func(status int) {
		body := `{"error": {"message": "password ` + secretWord + `, token ` + token + `"}}`
		s.Inject(fake.Fault{Method: http.MethodGet, Status: status, Body: body})
		s.Inject(fake.Fault{Method: http.MethodPost, Status: status, Body: strings.ReplaceAll(body, token, "none")})
		_, err := client.Network().Router(context.Background(), "r")
		_, denied := newClients(t, quick()).Get(context.Background(), secretFor(s, "v", "1", secretWord))
		klog.ErrorS(errors.Join(err, denied), "failed", "client", client, "credentials", client.credentials)
		_, _ = fmt.Fprintf(&log, "%v %+v %#v %s\n", client, client, client.credentials, &client.credentials)
		s.Heal()
	}
	for _, status := range []int{400, 401, 403, 404, 500, 302} {
		report(status)
	}
	klog.Flush()
	if text := log.String(); strings.Contains(text, secretWord) || strings.Contains(text, token) || !strings.Contains(text, "[redacted]") {
		t.Errorf("logged: %s", text)
	}
}

func TestTelemetry(t *testing.T) {
	s := newFake(t, fake.Options{})
	o := quick()
	registry := prometheus.NewRegistry()
	var err error
	if o.Telemetry, err = NewTelemetry(registry); err != nil {
		t.Fatal(err)
	}
	o.UserAgent = "groundskeeper/1"
	c := newClients(t, o)
	client, err := c.Get(context.Background(), secretFor(s, "u", "1", secretWord))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.Compute().Servers(context.Background())
	_, _ = client.Network().Router(context.Background(), "none")
	_, _ = c.Get(context.Background(), secretFor(s, "v", "1", "wrong"))
	want := `
# HELP groundskeeper_openstack_authentications_total Authentications with Keystone, by outcome: success or the reason of the failure.
# TYPE groundskeeper_openstack_authentications_total counter
groundskeeper_openstack_authentications_total{outcome="CredentialsRefused"} 1
groundskeeper_openstack_authentications_total{outcome="success"} 1
# HELP groundskeeper_openstack_requests_total Requests to OpenStack, by service, method and status code; code none: no response.
# TYPE groundskeeper_openstack_requests_total counter
groundskeeper_openstack_requests_total{code="200",method="GET",service="compute"} 1
groundskeeper_openstack_requests_total{code="200",method="GET",service="identity"} 1
groundskeeper_openstack_requests_total{code="201",method="POST",service="identity"} 1
groundskeeper_openstack_requests_total{code="401",method="POST",service="identity"} 1
groundskeeper_openstack_requests_total{code="404",method="GET",service="network"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "groundskeeper_openstack_requests_total", "groundskeeper_openstack_authentications_total"); err != nil {
		t.Error(err)
	}
	for _, r := range s.Requests() {
		if !strings.HasPrefix(r.UserAgent, "groundskeeper/1 ") {
			t.Errorf("%s has the user agent %q", r.Path, r.UserAgent)
		}
	}
}
