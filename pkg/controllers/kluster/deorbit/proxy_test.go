// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestProxyNotAllowed checks that Deorbit does not connect through a proxy that is not allowed, knows the cluster nevertheless, and never
// gives it up: an API server that is known may be alive.
func TestProxyNotAllowed(t *testing.T) {
	const text = `{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}], "users": [{"name": "c", "user": {"token": "t"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://cluster.example", "proxy-url": "http://proxy.example:3128"}}]}`
	for name, allow := range map[string]bool{"not allowed": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			c := check{
				reconciler: &reconciler{systems: systems{s.withdraw, s.connect, s.open}, allowProxy: allow, fence: func() error { return nil }},
				subject:    subject{kluster: klustertest.Kluster("k"), secret: &corev1.Secret{Data: map[string][]byte{kluster.KeyKubeconfig: []byte(text)}}},
			}
			c.connect(&state{})
			if connected := c.connection != nil; connected != allow || (s.config != nil) != allow || (c.connectErr == nil) != allow {
				t.Errorf("connected: %t, error = %v, want connected: %t", connected, c.connectErr, allow)
			}
			if c.server != "cluster.example:443" || c.way == "" {
				t.Errorf("server = %q, connection = %q, want those of the kubeconfig", c.server, c.way)
			}
			if allow {
				return
			}
			if f := wayFailure(&kubernikusv1.Kluster{}, c.connectErr); !f.waits || f.silent {
				t.Errorf("failure = %+v, want one that waits, about an API server that is known", f)
			}
		})
	}
}
