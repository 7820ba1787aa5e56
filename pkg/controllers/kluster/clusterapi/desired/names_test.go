// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"
)

const cloudControllerManager = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: openstack-cloud-controller-manager, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - name: openstack-cloud-controller-manager
        image: registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.36.0
        args: [/bin/openstack-cloud-controller-manager, --v=1, --cluster-name=$(CLUSTER_NAME), --cloud-config=$(CLOUD_CONFIG)]
        env: [{name: CLUSTER_NAME, value: shop-web}, {name: CLOUD_CONFIG, value: /etc/config/cloud.conf}]
`

const csiPlugin = `
kind: Deployment
apiVersion: apps/v1
metadata: {name: csi-cinder-controllerplugin, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - {name: csi-attacher, image: registry.k8s.io/sig-storage/csi-attacher:v4.4.2, args: ["--csi-address=$(ADDRESS)"]}
      - {name: cinder-csi-plugin, image: registry.k8s.io/provider-os/cinder-csi-plugin:v1.36.0, args: [/bin/cinder-csi-plugin, "--cluster=shop-volumes"]}
`

func TestNamesIn(t *testing.T) {
	for name, test := range map[string]struct {
		manifests []string
		want      Names
	}{
		"none":                 {nil, Names{}},
		"both":                 {[]string{"# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---" + cloudControllerManager + "---" + csiPlugin}, Names{"shop-web", "shop-volumes"}},
		"in several manifests": {[]string{cloudControllerManager, csiPlugin}, Names{"shop-web", "shop-volumes"}},
		"one of them":          {[]string{csiPlugin}, Names{CSIClusterID: "shop-volumes"}},
		"two names":            {[]string{csiPlugin, strings.Replace(csiPlugin, "shop-volumes", "other", 1)}, Names{}},
		"the default":          {[]string{strings.Replace(cloudControllerManager, "--cluster-name=$(CLUSTER_NAME), ", "", 1)}, Names{ClusterName: "kubernetes"}},
		"a variable":           {[]string{strings.Replace(csiPlugin, "shop-volumes", "${CLUSTER_NAME}", 1)}, Names{}},
		"a template":           {[]string{strings.Replace(csiPlugin, "shop-volumes", "{{ .Values.cluster }}", 1)}, Names{}},
		"from a ConfigMap":     {[]string{strings.Replace(cloudControllerManager, "value: shop-web", "valueFrom: {configMapKeyRef: {name: a, key: b}}", 1)}, Names{}},
		"no YAML":              {[]string{"kind: [", csiPlugin}, Names{CSIClusterID: "shop-volumes"}},
		"a pod":                {[]string{"kind: Pod\nspec: {containers: [{name: a, image: cinder-csi-plugin, args: [--cluster, a]}]}"}, Names{CSIClusterID: "a"}},
	} {
		if got := NamesIn(test.manifests); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestResourceSetOf(t *testing.T) {
	set := ResourceSetOf(content(t, `
spec:
  clusterSelector: {matchLabels: {cloud: openstack}}
  strategy: ApplyOnce
  resources: [{kind: ConfigMap, name: ccm}, {kind: Secret, name: csi}, {kind: Other, name: x}]
`))
	if !set.Selects(map[string]string{"cloud": "openstack", "a": "b"}) || set.Selects(nil) || strings.Join(set.ConfigMaps, " ") != "ccm" || strings.Join(set.Secrets, " ") != "csi" {
		t.Errorf("got %+v", set)
	}
	for name, text := range map[string]string{"no selector": "{spec: {clusterSelector: {}}}", "another form": "{spec: {clusterSelector: a}}", "an invalid selector": "{spec: {clusterSelector: {matchExpressions: [{key: a, operator: Is}]}}}"} {
		if got := ResourceSetOf(content(t, text)); got.Selects(map[string]string{"a": "b"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
