// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"slices"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// standalone returns the credentials of the fake's user, as an environment has them.
func standalone(s *fake.Server) Credentials {
	return Credentials{AuthURL: s.AuthURL(), Username: "gardener", UserDomainID: "default", Password: secretWord, ProjectName: "garden", ProjectDomainID: "default"}
}

// TestProjects works in each project of a user, with one token each.
func TestProjects(t *testing.T) {
	s := newFake(t, fake.Options{})
	s.AddProject("gardener", "0123", "orchard")
	s.AddProject("gardener", "4567", "closed")
	s.DisableProject("4567", true)
	client, err := Connect(t.Context(), standalone(s), quick())
	if err != nil {
		t.Fatal(err)
	}
	if own := client.Project(); own.ID != "garden" || own.Name != "garden" {
		t.Errorf("own project: %+v", own)
	}
	projects, err := client.Projects(t.Context())
	want := []Project{{"garden", "garden", "default", true}, {"0123", "orchard", "default", true}, {"4567", "closed", "default", false}}
	if err != nil || !slices.Equal(projects, want) {
		t.Errorf("got %+v, %v", projects, err)
	}
	other, err := client.InProject(t.Context(), "0123")
	if err != nil || other.ProjectID() != "0123" || other.Project().Name != "orchard" {
		t.Fatalf("the other project: %v", err)
	}
	s.AddPort("0123", s.AddNetwork(subnetCIDR), "", "", "10.0.0.7")
	if _, err := other.Network().RouterIDs(t.Context()); err != nil {
		t.Error(err)
	}
	if n := count(s.Requests(), http.MethodPost, tokensPath); n != 2 {
		t.Errorf("%d authentications", n)
	}
	for _, id := range []string{"4567", "unknown"} {
		if _, err := client.InProject(t.Context(), id); ReasonOf(err) != ReasonCredentialsRefused {
			t.Errorf("project %s: %v", id, err)
		}
	}
}

// TestProjectsOfAnApplicationCredential queries no server: it is bound to one.
func TestProjectsOfAnApplicationCredential(t *testing.T) {
	c := &Client{credentials: Credentials{ApplicationCredentialID: "i", ApplicationCredentialSecret: "s"}, project: "1", projectName: "one"}
	projects, err := c.Projects(t.Context())
	if err != nil || !slices.Equal(projects, []Project{{ID: "1", Name: "one", Enabled: true}}) {
		t.Errorf("got %+v, %v", projects, err)
	}
}

func TestProjectsThatCannotBeListed(t *testing.T) {
	s := newFake(t, fake.Options{})
	client, err := Connect(t.Context(), standalone(s), quick())
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]Reason{`{}`: ReasonIncomplete, `{"projects": [{"id": "1"}]}`: ReasonIncomplete} {
		s.Inject(fake.Fault{Path: "/identity/v3/auth/projects", Status: http.StatusOK, Body: body})
		if projects, err := client.Projects(t.Context()); ReasonOf(err) != want || projects != nil {
			t.Errorf("%s: %v, %v", body, projects, err)
		}
		s.Heal()
	}
	// A token that ended is no reason to fail.
	s.RevokeTokens()
	if projects, err := client.Projects(t.Context()); err != nil || len(projects) != 1 {
		t.Errorf("after the token: %v, %v", projects, err)
	}
}

func TestConnectRejects(t *testing.T) {
	s := newFake(t, fake.Options{})
	wrong := standalone(s)
	wrong.Password = "wrong"
	if _, err := Connect(t.Context(), wrong, quick()); ReasonOf(err) != ReasonCredentialsRefused {
		t.Error(err)
	}
	if _, err := Connect(t.Context(), standalone(s), Options{QPS: -1}); err == nil {
		t.Error("options that make no sense are taken")
	}
}

// TestWrap sees each attempt.
func TestWrap(t *testing.T) {
	s := newFake(t, fake.Options{})
	var seen []string
	o := quick()
	o.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Method+" "+r.URL.Path)
			return next.RoundTrip(r)
		})
	}
	client, err := Connect(context.Background(), standalone(s), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(fake.Fault{Path: "/identity/v3/auth/projects", Status: http.StatusServiceUnavailable, Times: 1})
	if _, err := client.Projects(t.Context()); err != nil {
		t.Fatal(err)
	}
	const projects = "GET /identity/v3/auth/projects"
	if len(seen) < 3 || !slices.Equal(seen[len(seen)-3:], []string{"POST " + tokensPath, projects, projects}) {
		t.Errorf("seen: %q", seen)
	}
}

type tripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
