// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestReasons(t *testing.T) {
	for name, c := range map[string]struct {
		fault fake.Fault
		want  Reason
		text  string
	}{
		"forbidden":       {fake.Fault{Status: 403, Body: `{"NeutronError": {"message": "not allowed by policy"}}`}, ReasonForbidden, "not allowed by policy"},
		"quota":           {fake.Fault{Status: 409, Body: `{"NeutronError": {"message": "Quota exceeded for resources: ['port']"}}`}, ReasonQuotaExceeded, "raise the quota"},
		"conflict":        {fake.Fault{Status: 409, Body: `{"NeutronError": {"message": "in use"}}`}, ReasonConflict, "409 Conflict: in use"},
		"not found":       {fake.Fault{Status: 404}, ReasonNotFound, "read router r: 404"},
		"broken":          {fake.Fault{Status: 502, Body: "<html>bad gateway</html>"}, ReasonUnreachable, "check that the cloud is up"},
		"too much":        {fake.Fault{Status: 429, Header: map[string]string{"Retry-After": "60"}}, ReasonRateLimited, "429"},
		"cut":             {fake.Fault{Cut: fake.CutRequest}, ReasonUnreachable, "check that the cloud is up"},
		"a redirect":      {fake.Fault{Status: 302, Header: map[string]string{"Location": "http://other.example"}}, ReasonRefused, "use the URL that it redirects to"},
		"nonsense":        {fake.Fault{Status: 200, Body: "<html>"}, ReasonUnreachable, "read router r"},
		"another object":  {fake.Fault{Status: 200, Body: `{"router": {"id": "other"}}`}, ReasonIncomplete, "not this router"},
		"an empty object": {fake.Fault{Status: 200, Body: `{}`}, ReasonIncomplete, "not this router"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, fake.Options{})
			client := connected(t, s)
			c.fault.Path = "/network/v2.0/"
			s.Inject(c.fault)
			_, err := client.Network().Router(context.Background(), "r")
			if ReasonOf(err) != c.want || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %s: %v", ReasonOf(err), err)
			}
			if strings.Contains(err.Error(), "<html>") {
				t.Errorf("what is no message of OpenStack is read out: %v", err)
			}
			if name == "too much" && RetryAfter(err) != time.Minute {
				t.Errorf("Retry-After: %s", RetryAfter(err))
			}
		})
	}
}

func TestAuthenticationFailures(t *testing.T) {
	s := newFake(t, fake.Options{})
	s.Inject(fake.Fault{Path: "/nowhere", Status: 404})
	for name, c := range map[string]struct {
		change func(data map[string][]byte)
		want   Reason
	}{
		"wrong URL": {func(data map[string][]byte) {
			data["openstack-auth-url"] = []byte(strings.Replace(s.AuthURL(), "/identity", "/nowhere", 1))
		}, ReasonCredentialsInvalid},
		"no server":         {func(data map[string][]byte) { data["openstack-auth-url"] = []byte("http://127.0.0.1:1/v3") }, ReasonUnreachable},
		"another project":   {func(data map[string][]byte) { data["openstack-project-id"] = []byte("other") }, ReasonCredentialsRefused},
		"incomplete Secret": {func(data map[string][]byte) { delete(data, "openstack-password") }, ReasonCredentialsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			secret := secretFor(s, name, "1", secretWord)
			c.change(secret.Data)
			if _, err := newClients(t, quick()).Get(context.Background(), secret); ReasonOf(err) != c.want {
				t.Errorf("got %s: %v", ReasonOf(err), err)
			}
		})
	}
	t.Run("wrong region", func(t *testing.T) {
		secret := secretFor(s, "u", "1", secretWord)
		secret.Data["openstack-region"] = []byte("RegionTwo")
		if _, err := newClients(t, quick()).Get(context.Background(), secret); ReasonOf(err) != ReasonCredentialsInvalid || !strings.Contains(err.Error(), `no region "RegionTwo"`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a clouds.yaml with names", func(t *testing.T) {
		secret := &corev1.Secret{Data: map[string][]byte{"clouds.yaml": []byte("clouds: {c: {auth: {auth_url: '" + s.AuthURL() + "', username: gardener, password: " + secretWord +
			", user_domain_id: default, project_name: garden, project_domain_name: Default}}}")}}
		if client, err := newClients(t, quick()).Get(context.Background(), secret); err != nil || client.ProjectID() != "garden" {
			t.Errorf("got %v", err)
		}
	})
}
