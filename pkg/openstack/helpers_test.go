// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

const (
	secretWord = "hunter2-hunter2"
	subnetCIDR = "10.0.0.0/24"
)

// newFake starts a fake with one user.
func newFake(t *testing.T, o fake.Options) *fake.Server {
	t.Helper()
	s := fake.New(o)
	t.Cleanup(s.Close)
	s.AddUser("gardener", secretWord, "garden")
	return s
}

// quick are options that let tests send requests as often as they want, and not wait between attempts.
func quick() Options {
	return Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, Timeout: 10 * time.Second, MinBackoff: time.Nanosecond, MaxBackoff: 2 * time.Second}
}

func newClients(t *testing.T, o Options) *Clients {
	t.Helper()
	c, err := NewClients(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secretFor holds the credentials of the fake's user with a password.
func secretFor(s *fake.Server, uid, version, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "klusters", Name: "k-secret", UID: types.UID(uid), ResourceVersion: version},
		Data: map[string][]byte{
			"openstack-auth-url": []byte(s.AuthURL()), "openstack-region": []byte(fake.Region), "openstack-username": []byte("gardener"),
			"openstack-password": []byte(password), "openstack-domain-name": []byte("Default"), "openstack-project-id": []byte("garden"),
		},
	}
}

// connected returns a client of the fake's user. Requests so far are discarded.
func connected(t *testing.T, s *fake.Server) *Client {
	t.Helper()
	c, err := newClients(t, quick()).Get(context.Background(), secretFor(s, "u", "1", secretWord))
	if err != nil {
		t.Fatal(err)
	}
	s.Requests()
	return c
}

// lines are requests as "GET /path 200".
func lines(requests []fake.Request) []string {
	var texts []string
	for _, r := range requests {
		texts = append(texts, fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Status))
	}
	return texts
}

// count is how many requests had a method and a path.
func count(requests []fake.Request, method, path string) int {
	n := 0
	for _, r := range requests {
		if r.Method == method && r.Path == path {
			n++
		}
	}
	return n
}

const tokensPath = "/identity/v3/auth/tokens"
