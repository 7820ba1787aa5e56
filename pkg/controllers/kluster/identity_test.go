// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster_test

import (
	"testing"

	"k8s.io/client-go/rest"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

func TestConnectionOf(t *testing.T) {
	base := rest.Config{Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}
	server, connection := kluster.ConnectionOf(&base)
	for name, c := range map[string]struct {
		change func(*rest.Config)
		server string
		same   bool
	}{
		"with its port":      {func(c *rest.Config) { c.Host = "https://API.example:443/" }, server, true},
		"other credentials":  {func(c *rest.Config) { c.BearerToken, c.CertData = "t", []byte("c") }, server, true},
		"another port":       {func(c *rest.Config) { c.Host = "https://api.example:6443" }, "api.example:6443", false},
		"another path":       {func(c *rest.Config) { c.Host = "https://api.example/clusters/a" }, "api.example:443/clusters/a", false},
		"another CA":         {func(c *rest.Config) { c.CAData = []byte("other") }, server, false},
		"another name":       {func(c *rest.Config) { c.ServerName = "name" }, server, false},
		"the CA as its name": {func(c *rest.Config) { c.ServerName, c.CAData = "ca", nil }, server, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := rest.CopyConfig(&base)
			c.change(config)
			gotServer, gotConnection := kluster.ConnectionOf(config)
			if gotServer != c.server || (gotConnection == connection) != c.same {
				t.Errorf("server = %q, same connection = %t, want %q, %t", gotServer, gotConnection == connection, c.server, c.same)
			}
		})
	}
}

func TestProvenID(t *testing.T) {
	for name, c := range map[string]struct {
		found      *kubernikusv1.KlusterIdentity
		connection string
		want       string
	}{
		"never checked":          {nil, "c", ""},
		"over this connection":   {&kubernikusv1.KlusterIdentity{ClusterID: "a", Connection: "c"}, "c", "a"},
		"over another one":       {&kubernikusv1.KlusterIdentity{ClusterID: "a", Connection: "c"}, "d", ""},
		"without any connection": {&kubernikusv1.KlusterIdentity{ClusterID: "a", Connection: "c"}, "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kubernikusv1.Kluster{}
			k.Status.Identity = c.found
			if got := kluster.ProvenID(k, c.connection); got != c.want {
				t.Errorf("id = %q, want %q", got, c.want)
			}
		})
	}
}
