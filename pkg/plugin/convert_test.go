// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"strings"
	"testing"
)

// ofGimbalsDesign are the manifests of Gimbal's design, word for word.
const ofGimbalsDesign = `apiVersion: gimbal.heptio.com/v1
kind: Discoverer
metadata:
  namespace: gimbal-discovery
  name: openstack001
cluster:
  type: openstack
  secret: remote-discover-openstack 
  refreshInterval: 30
  clusterStatus: enabled
---
apiVersion: contour.heptio.com/v1
kind: Discovery
metadata:
  namespace: gimbal-discovery
  name: kubernetes001
cluster:
  type: kubernetes
  credentials: kubernetes001-kubecfg
  clusterStatus: enabled
`

// TestConvert checks that old manifests are written as Groundskeeper takes them, and that nothing is lost silently.
func TestConvert(t *testing.T) {
	for name, test := range map[string]struct{ in, want, fails string }{
		"Gimbal's design": {in: ofGimbalsDesign, want: `---
apiVersion: gimbal.heptio.com/v1
cluster:
  clusterStatus: enabled
  refreshInterval: 30
  secret: remote-discover-openstack
  type: openstack
kind: DiscoveryBackend
metadata:
  name: openstack001
  namespace: gimbal-discovery
---
apiVersion: gimbal.heptio.com/v1
cluster:
  clusterStatus: enabled
  credentials: kubernetes001-kubecfg
  type: kubernetes
kind: DiscoveryBackend
metadata:
  name: kubernetes001
  namespace: gimbal-discovery
`},
		"an export": {
			in: `{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [{"apiVersion": "kubernikus.sap.cc/v1", "kind": "Kluster",
				"metadata": {"namespace": "garden-shop", "name": "web", "uid": "1", "resourceVersion": "7", "generation": 2, "finalizers": ["deorbiter"],
					"creationTimestamp": "2020-01-01T00:00:00Z", "labels": {"a": "b"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
				"spec": {"name": "web"}, "status": {"phase": "Running"}}]}`,
			want: "---\napiVersion: kubernikus.sap.cc/v1\nkind: Kluster\nmetadata:\n  labels:\n    a: b\n  name: web\n  namespace: garden-shop\nspec:\n  name: web\n",
		},
		"a Project from a file": {in: "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {name: shop}\n",
			want: "---\napiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata:\n  name: shop\n"},
		"a Project of a cluster": {in: "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {name: shop, uid: u}\n",
			fails: "Project shop has a uid, which its namespace depends on"},
		"another's object": {in: "# a Secret\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a, uid: u}\n",
			want: "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  uid: u\n"},
		"an unknown kind":  {in: "apiVersion: gimbal.heptio.com/v1\nkind: Backend\nmetadata: {name: a}\n", fails: "Backend a is of gimbal.heptio.com/v1, which Groundskeeper does not have"},
		"an unknown field": {in: ofGimbalsDesign + "  secrets: a\n", fails: `DiscoveryBackend gimbal-discovery/kubernetes001: strict decoding error: unknown field "cluster.secrets": correct or remove it`},
		"no YAML":          {in: "a: [", fails: "-: "},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &command{in: strings.NewReader(test.in), out: &terminal{Writer: &out}}
			err := c.convert([]string{"-"})
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error = %v, want %q", err, test.fails)
			}
			if out.String() != test.want {
				t.Errorf("printed\n%s\nwant\n%s", &out, test.want)
			}
		})
	}
}
