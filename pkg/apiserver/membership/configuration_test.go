// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
	"k8s.io/client-go/rest"
)

// configuration reads artifacts/membership/webhook as a kube-apiserver does, and returns the webhook.
func configuration(t *testing.T) *apiserver.WebhookConfiguration {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "artifacts", "membership", "webhook", "authorization-configuration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(content), "/etc/kubernetes/groundskeeper-project-authorization.kubeconfig", kubeconfig, 1)
	config, err := load.LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	errs := validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil, config, sets.New("Webhook", "Node", "RBAC"), sets.New("Webhook"))
	if err := errs.ToAggregate(); err != nil {
		t.Fatal(err)
	}
	if len(config.Authorizers) != 3 || config.Authorizers[0].Webhook == nil || config.Authorizers[2].Type != "RBAC" {
		t.Fatalf("authorizers %+v: the webhook must come before RBAC", config.Authorizers)
	}
	return config.Authorizers[0].Webhook
}

// The kube-apiserver's webhook with the configuration of the artifacts gets the decisions of this server, and sends it requests for
// Projects alone.
func TestConfiguredWebhook(t *testing.T) {
	s, requests := NewServer(true), atomic.Int32{}
	s.authorizer.Store(NewAuthorizer(rbac{allowed: []string{"update projects/any"}}, lookup))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != ReviewPath {
			http.NotFound(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	config := configuration(t)
	if config.FailurePolicy != apiserver.FailurePolicyNoOpinion {
		t.Errorf("failurePolicy %q: without the API server nothing would be allowed", config.FailurePolicy)
	}
	client := &rest.Config{Host: server.URL + ReviewPath, Transport: server.Client().Transport}
	kube, err := webhook.New(client, config.SubjectAccessReviewVersion, config.AuthorizedTTL.Duration, config.UnauthorizedTTL.Duration,
		wait.Backoff{Duration: time.Millisecond, Steps: 1}, authorizer.DecisionNoOpinion, config.MatchConditions, "groundskeeper-projects",
		metrics.NoopAuthorizerMetrics{}, authorizationcel.NewDefaultCompiler())
	if err != nil {
		t.Fatal(err)
	}
	change := func(how func(*authorizer.AttributesRecord)) authorizer.AttributesRecord {
		request := on(as("zoe"), "get", "dev")
		how(&request)
		return request
	}
	const none, deny = authorizer.DecisionNoOpinion, authorizer.DecisionDeny
	for name, test := range map[string]struct {
		request authorizer.AttributesRecord
		want    authorizer.Decision
		sent    int32
	}{
		"a member":         {on(as("vera"), "get", "dev"), none, 1},
		"another user":     {on(as("zoe"), "get", "dev"), deny, 1},
		"an administrator": {on(as("root"), "update", "dev"), none, 1},
		"a list":           {on(as("zoe"), "list", ""), none, 1},
		"unknown":          {on(as("vera"), "get", "broken"), none, 1},
		"the status":       {change(func(a *authorizer.AttributesRecord) { a.Subresource = "status" }), none, 0},
		"projects of others, which this server requests": {change(func(a *authorizer.AttributesRecord) { a.Subresource = Any }), none, 0},
		"another kind":                       {change(func(a *authorizer.AttributesRecord) { a.Resource = "shoots" }), none, 0},
		"another group":                      {change(func(a *authorizer.AttributesRecord) { a.APIGroup = "apps" }), none, 0},
		"a core kind":                        {change(func(a *authorizer.AttributesRecord) { a.APIGroup, a.Resource = "", "pods" }), none, 0},
		"the path to which reviews are sent": {authorizer.AttributesRecord{User: as("zoe"), Verb: "post", Path: ReviewPath}, none, 0},
	} {
		before := requests.Load()
		got, _, err := kube.Authorize(t.Context(), test.request)
		if got != test.want || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if sent := requests.Load() - before; sent != test.sent {
			t.Errorf("%s: %d reviews were sent, want %d", name, sent, test.sent)
		}
	}
	// A response is not cached for longer than the page about it reports.
	if config.AuthorizedTTL.Duration > time.Second || config.UnauthorizedTTL.Duration > time.Second {
		t.Errorf("cached for %s, %s", config.AuthorizedTTL.Duration, config.UnauthorizedTTL.Duration)
	}
}
