// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestFieldLabels(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ label, value, want string }{
		{"metadata.name", "US", "US"},
		{"metadata.namespace", "gimbal-discovery", "gimbal-discovery"},
		{"cluster.type", "OpenStack", "openstack"},
		{"cluster.clusterStatus", "maintenance", "Maintenance"},
		{"cluster.clusterStatus", "off", "off"},
		{"cluster.clusterStatus", "", ""},
	} {
		label, value, err := scheme.ConvertFieldLabel(SchemeGroupVersion.WithKind("DiscoveryBackend"), tc.label, tc.value)
		if err != nil || label != tc.label || value != tc.want {
			t.Errorf("%s=%s: got %s=%s, %v; want the value %q", tc.label, tc.value, label, value, err, tc.want)
		}
	}
	_, _, err := scheme.ConvertFieldLabel(SchemeGroupVersion.WithKind("DiscoveryBackend"), "cluster.secret", "x")
	if err == nil || !strings.Contains(err.Error(), `"cluster.secret"`) || !strings.Contains(err.Error(), ClusterTypeField) {
		t.Errorf("a field that is not served: got %v, want an error that names it and those that are", err)
	}
}
