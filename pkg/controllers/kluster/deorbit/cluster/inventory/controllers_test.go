// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestNamesOf checks that the name of a cluster is read only from unambiguous sources.
func TestNamesOf(t *testing.T) {
	const manager, driver = "registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.36.0", "registry.k8s.io/provider-os/cinder-csi-plugin:v1.36.0"
	named := []corev1.EnvVar{{Name: "CLUSTER_NAME", Value: "prod"}}
	for name, c := range map[string]struct {
		containers   []corev1.Container
		cluster, csi string
	}{
		"an argument":                  {[]corev1.Container{{Image: manager, Args: []string{"/bin/openstack-cloud-controller-manager", "--v=1", "--cluster-name=prod"}}}, "prod", ""},
		"two words":                    {[]corev1.Container{{Image: manager, Command: []string{"/bin/openstack-cloud-controller-manager"}, Args: []string{"--cluster-name", "prod"}}}, "prod", ""},
		"a variable":                   {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=$(CLUSTER_NAME)"}, Env: named}}, "prod", ""},
		"the last counts":              {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=a", "--cluster-name=b"}}}, "b", ""},
		"no argument":                  {[]corev1.Container{{Image: manager}}, "kubernetes", ""},
		"an image of another name":     {[]corev1.Container{{Image: "example.com/ccm@sha256:0", Command: []string{"/bin/openstack-cloud-controller-manager", "--cluster-name=prod"}}}, "prod", ""},
		"a variable from elsewhere":    {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=$(CLUSTER_NAME)"}, Env: []corev1.EnvVar{{Name: "CLUSTER_NAME", ValueFrom: &corev1.EnvVarSource{}}}}}, "", ""},
		"a variable that is missing":   {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=$(CLUSTER_NAME)"}}}, "", ""},
		"a script":                     {[]corev1.Container{{Image: manager, Command: []string{"/bin/sh", "-c", "exec openstack-cloud-controller-manager --cluster-name=prod"}}}, "", ""},
		"two that disagree":            {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=a"}}, {Image: manager, Args: []string{"--cluster-name=b"}}}, "", ""},
		"two that agree":               {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=a"}}, {Image: manager, Args: []string{"--cluster-name=a"}}}, "a", ""},
		"one of two cannot be read":    {[]corev1.Container{{Image: manager, Args: []string{"--cluster-name=a"}}, {Image: manager, Args: []string{"--cluster-name=$(B)"}}}, "", ""},
		"something else":               {[]corev1.Container{{Image: "example.com/kube-controller-manager:v1", Args: []string{"--cluster-name=prod", "--cluster=prod"}}}, "", ""},
		"another program in the image": {[]corev1.Container{{Image: manager, Command: []string{"/bin/sleep"}, Args: []string{"--cluster-name=prod"}}}, "", ""},
		"the driver":                   {[]corev1.Container{{Image: driver, Args: []string{"/bin/cinder-csi-plugin", "--endpoint=$(CSI_ENDPOINT)", "--cluster=$(CLUSTER_NAME)"}, Env: named}}, "", "prod"},
		"the driver without a name":    {[]corev1.Container{{Image: driver, Args: []string{"/bin/cinder-csi-plugin"}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := World{}
			w.NamesOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}})
			if cluster, csi := Only(w.ClusterNames), Only(w.CSIClusterIDs); cluster != c.cluster || csi != c.csi {
				t.Errorf("names = %q, %q, want %q, %q", cluster, csi, c.cluster, c.csi)
			}
		})
	}
}
