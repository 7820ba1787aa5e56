// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// together runs something many times concurrently and returns the errors.
func together(times int, do func() error) error {
	failures := make([]error, times)
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() { failures[i] = do() })
	}
	all.Wait()
	return errors.Join(failures...)
}

// TestDeletedApplicationCredential checks that Keystone's response for a deleted application credential is distinguished from that
// for a wrong URL, which is the same status.
func TestDeletedApplicationCredential(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		reason Reason
		remedy string
	}{
		"deleted":   {404, `{"error": {"code": 404, "message": "Could not find Application Credential: 8a4e."}}`, ReasonCredentialsRefused, "make a new one"},
		"expired":   {401, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`, ReasonCredentialsRefused, "make a new one"},
		"wrong URL": {404, "<html>", ReasonCredentialsInvalid, "check the URL of Keystone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, fake.Options{})
			s.Inject(fake.Fault{Method: http.MethodPost, Path: "/identity", Status: c.status, Body: c.body})
			secret := secretFor(s, "u", "1", "unused")
			secret.Data = map[string][]byte{"clouds.yaml": []byte("clouds: {one: {auth: {auth_url: '" + s.AuthURL() + "', application_credential_id: i, application_credential_secret: s}}}")}
			_, err := newClients(t, quick()).Get(t.Context(), secret)
			if ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.remedy) {
				t.Errorf("got %s: %v, want %s and %q", ReasonOf(err), err, c.reason, c.remedy)
			}
		})
	}
}

// TestApplicationCredentialIsDeletedInUse covers an application credential that is deleted while its token is in use.
func TestApplicationCredentialIsDeletedInUse(t *testing.T) {
	s := newFake(t, fake.Options{})
	c := connected(t, s)
	c.credentials = Credentials{AuthURL: c.credentials.AuthURL, ApplicationCredentialID: "i", ApplicationCredentialSecret: "s"}
	s.RevokeTokens()
	s.Inject(fake.Fault{Method: http.MethodPost, Path: "/identity", Status: 404, Body: `{"error": {"code": 404, "message": "Could not find Application Credential: 8a4e."}}`})
	_, err := c.Compute().Servers(t.Context())
	if ReasonOf(err) != ReasonCredentialsRefused || !strings.Contains(err.Error(), "make a new one") || !strings.HasPrefix(err.Error(), "list the servers") {
		t.Errorf("got %s: %v", ReasonOf(err), err)
	}
}

func TestConcurrentClientsOfOneSecret(t *testing.T) {
	s := newFake(t, fake.Options{})
	s.Inject(fake.Fault{Method: http.MethodPost, Latency: 50 * time.Millisecond})
	c := newClients(t, quick())
	err := together(50, func() error {
		_, err := c.Get(context.Background(), secretFor(s, "u", "1", secretWord))
		return err
	})
	if n := count(s.Requests(), http.MethodPost, tokensPath); err != nil || n != 1 {
		t.Errorf("authenticated %d times: %v", n, err)
	}
}

func TestReauthenticationStorm(t *testing.T) {
	s := newFake(t, fake.Options{})
	c := connected(t, s)
	network := s.AddNetwork(subnetCIDR)
	id := s.AddRouter("garden", network)
	if _, err := c.Network().Router(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.Requests()
	s.RevokeTokens()
	// The requests are all under way with the old token when the first of them gets its response.
	s.Inject(fake.Fault{Method: http.MethodGet, Latency: 100 * time.Millisecond, Times: 50})
	err := together(50, func() error {
		_, err := c.Network().Router(context.Background(), id)
		return err
	})
	if n := count(s.Requests(), http.MethodPost, tokensPath); err != nil || n != 1 {
		t.Errorf("authenticated %d times: %v", n, err)
	}
}

func TestExpiredToken(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	s := newFake(t, fake.Options{TokenLifetime: time.Hour, Now: now.Now})
	c := connected(t, s)
	for _, want := range []int{0, 1, 0} {
		if _, err := c.Compute().Servers(context.Background()); err != nil {
			t.Error(err)
		}
		if n := count(s.Requests(), http.MethodPost, tokensPath); n != want {
			t.Errorf("authenticated %d times, want %d", n, want)
		}
		if want == 0 {
			now.SetTime(now.Now().Add(time.Hour))
		} else {
			now.SetTime(now.Now().Add(time.Minute))
		}
	}
}

func TestReauthenticationOutlivesWhoNoticed(t *testing.T) {
	s := newFake(t, fake.Options{})
	c := connected(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.RevokeTokens()
	if err := c.provider.Reauthenticate(ctx, c.provider.Token()); err != nil {
		t.Errorf("the new token depends on the first who noticed: %v", err)
	}
}

func TestCancelledFirstCaller(t *testing.T) {
	s := newFake(t, fake.Options{})
	c := newClients(t, quick())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	release := make(chan struct{})
	s.Inject(fake.Fault{Method: http.MethodPost, Times: 1, Do: func() { <-release }})
	_, err := c.Get(ctx, secretFor(s, "u", "1", secretWord))
	close(release)
	if ReasonOf(err) != ReasonCanceled {
		t.Errorf("got %v", err)
	}
	if _, err := c.Get(context.Background(), secretFor(s, "u", "1", secretWord)); err != nil {
		t.Errorf("the second caller: %v", err)
	}
	if n := count(s.Requests(), http.MethodPost, tokensPath); n != 1 {
		t.Errorf("authenticated %d times", n)
	}
}

func TestClientFollowsTheSecret(t *testing.T) {
	s := newFake(t, fake.Options{})
	c := newClients(t, quick())
	get := func(version, password string) (*Client, error) {
		return c.Get(context.Background(), secretFor(s, "u", version, password))
	}
	first, err := get("1", secretWord)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := get("2", secretWord); err != nil || same != first {
		t.Errorf("a new version with the same credentials has another client: %v", err)
	}
	s.AddUser("gardener", "rotated", "garden")
	s.RevokeTokens()
	if _, err := first.Compute().Servers(context.Background()); ReasonOf(err) != ReasonCredentialsRefused {
		t.Errorf("the old credentials: %v", err)
	}
	second, err := get("3", "rotated")
	if err != nil || second == first {
		t.Fatalf("the new credentials: %v", err)
	}
	if _, err := second.Compute().Servers(context.Background()); err != nil {
		t.Error(err)
	}
	c.Remove("u")
	if len(c.secrets)+len(c.turns.items)+len(c.dialers.items) != 0 {
		t.Errorf("something is kept: %d, %d, %d", len(c.secrets), len(c.turns.items), len(c.dialers.items))
	}
	c.Remove("u")
}

func TestRejectedCredentialsAreNotRetried(t *testing.T) {
	s := newFake(t, fake.Options{})
	o, now := quick(), clocktesting.NewFakePassiveClock(time.Now())
	o.Clock = now
	c := newClients(t, o)
	request := func(version string) int {
		for range 3 {
			_, err := c.Get(context.Background(), secretFor(s, "u", version, "wrong"))
			if ReasonOf(err) != ReasonCredentialsRefused || !strings.Contains(err.Error(), "klusters/k-secret") {
				t.Fatalf("got %v", err)
			}
		}
		return count(s.Requests(), http.MethodPost, tokensPath)
	}
	first := request("1")
	now.SetTime(now.Now().Add(rejectionPause - time.Second))
	resting := request("1")
	now.SetTime(now.Now().Add(time.Second))
	if again := request("1"); first != 1 || resting != 0 || again != 1 {
		t.Errorf("authenticated %d, %d and %d times", first, resting, again)
	}
	if _, err := c.Get(context.Background(), secretFor(s, "u", "2", secretWord)); err != nil {
		t.Errorf("a mended Secret has to wait: %v", err)
	}
}

// TestCredentialsRejectedInUse covers credentials that Keystone rejects after a client has used them, such as a password that was changed
// there: each request would try them again.
func TestCredentialsRejectedInUse(t *testing.T) {
	s := newFake(t, fake.Options{})
	o, now := quick(), clocktesting.NewFakePassiveClock(time.Now())
	o.Clock = now
	c, err := newClients(t, o).Get(t.Context(), secretFor(s, "u", "1", secretWord))
	if err != nil {
		t.Fatal(err)
	}
	s.Requests()
	s.RevokeTokens()
	s.Inject(fake.Fault{Method: http.MethodPost, Path: "/identity", Status: 401, Body: `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`})
	request := func() int {
		for range 3 {
			if _, err := c.Compute().Servers(t.Context()); ReasonOf(err) != ReasonCredentialsRefused || !strings.HasPrefix(err.Error(), "list the servers") {
				t.Fatalf("got %s: %v", ReasonOf(err), err)
			}
		}
		return count(s.Requests(), http.MethodPost, tokensPath)
	}
	first := request()
	now.SetTime(now.Now().Add(rejectionPause - time.Second))
	resting := request()
	now.SetTime(now.Now().Add(time.Second))
	if again := request(); first != 1 || resting != 0 || again != 1 {
		t.Errorf("authenticated %d, %d and %d times, want 1, 0 and 1", first, resting, again)
	}
}

func TestOneLimitForACloud(t *testing.T) {
	s := newFake(t, fake.Options{})
	o := quick()
	o.QPS, o.Burst = 0.001, 3
	c := newClients(t, o)
	var clients []*Client
	for _, uid := range []string{"a", "b"} {
		client, err := c.Get(context.Background(), secretFor(s, uid, "1", secretWord))
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	for i, client := range clients {
		_, err := client.Compute().Servers(context.Background())
		if i == 0 && err != nil || i == 1 && (ReasonOf(err) != ReasonRateLimited || !strings.Contains(err.Error(), "qps")) {
			t.Errorf("client %d: %v", i, err)
		}
	}
	if got := s.Requests(); len(got) != 3 {
		t.Errorf("sent %q", lines(got))
	}
}

func TestFrozenCloud(t *testing.T) {
	s := newFake(t, fake.Options{})
	o := quick()
	o.Timeout, o.Attempts = 20*time.Millisecond, 1
	s.Inject(fake.Fault{Latency: time.Minute})
	if _, err := newClients(t, o).Get(context.Background(), secretFor(s, "u", "1", secretWord)); ReasonOf(err) != ReasonUnreachable {
		t.Errorf("got %v", err)
	}
}

func TestOwnCA(t *testing.T) {
	s := newFake(t, fake.Options{})
	secure := httptest.NewTLSServer(s.Handler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	secret := secretFor(s, "u", "1", secretWord)
	secret.Data["openstack-auth-url"] = []byte(secure.URL + "/identity/v3")
	c := newClients(t, quick())
	if _, err := c.Get(context.Background(), secret); ReasonOf(err) != ReasonUnreachable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
	secret.Data["cacert"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if _, err := c.Get(context.Background(), secret); err != nil {
		t.Errorf("with the CA: %v", err)
	}
}

// TestPlainHTTP checks that nothing is sent to a Keystone over plain http unless that is allowed, and that the error names the field
// and the setting.
func TestPlainHTTP(t *testing.T) {
	for name, test := range map[string]struct {
		data  func(*fake.Server) map[string][]byte
		field string
	}{
		"keys of Kubernikus": {func(s *fake.Server) map[string][]byte { return secretFor(s, "u", "1", secretWord).Data }, `key "openstack-auth-url"`},
		"clouds.yaml": {func(s *fake.Server) map[string][]byte {
			return map[string][]byte{"clouds.yaml": []byte("clouds: {one: {auth: {auth_url: '" + s.AuthURL() + "', username: gardener, password: " + secretWord +
				", user_domain_name: Default, project_id: garden}}}")}
		}, `key "clouds.yaml": auth.auth_url`},
	} {
		t.Run(name, func(t *testing.T) {
			s, strict := newFake(t, fake.Options{}), quick()
			strict.AllowPlainHTTP = false
			secret := secretFor(s, "u", "1", secretWord)
			secret.Data = test.data(s)
			_, err := newClients(t, strict).Get(t.Context(), secret)
			if ReasonOf(err) != ReasonCredentialsInvalid || !strings.Contains(err.Error(), test.field+" is plain http") || !strings.Contains(err.Error(), "controllers.credentials.allowPlainHTTP") {
				t.Errorf("error = %v, want the field and the setting", err)
			}
			if requests := s.Requests(); len(requests) > 0 {
				t.Errorf("sent %v, want nothing", requests)
			}
			if _, err := newClients(t, quick()).Get(t.Context(), secret); err != nil {
				t.Errorf("error = %v, want none if it is allowed", err)
			}
		})
	}
}
