// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// pair is an object and the Translations that midonet-kube-controllers made of it, with one change: endpoints came
// from an Endpoints object there, which owned the Translations, and come from EndpointSlices here.
type pair struct {
	Node           *corev1.Node                 `json:"node"`
	Pod            *corev1.Pod                  `json:"pod"`
	Service        *corev1.Service              `json:"service"`
	EndpointSlices []*discoveryv1.EndpointSlice `json:"endpointSlices"`
	Translations   []midonetv1.Translation      `json:"translations"`
}

func load(t testing.TB, name string) pair {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var read pair
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return read
}

func settings() Config {
	return Config{
		Tenant:         "midonetkube",
		TunnelZoneName: "DefaultTunnelZone",
		ServiceTypes:   []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer},

		NodeAddressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
	}
}

// edited returns the object of a pair with a change.
func edited[T any](object *T, edit func(*T)) *T {
	if edit != nil {
		edit(object)
	}
	return object
}

// names lists the Translations of a result up to the hash.
func names(result Result) []string {
	var listed []string
	for _, translation := range result.Translations {
		listed = append(listed, unhashed(translation.Name))
	}
	return listed
}

func unhashed(name string) string {
	if cut := len(name) - 41; cut > 0 && name[cut] == '-' && strings.Trim(name[cut+1:], "0123456789abcdef") == "" {
		return name[:cut]
	}
	return name
}

// problems lists why a result is not whole.
func problems(result Result) []string {
	var reasons []string
	if result.Waiting != nil {
		reasons = append(reasons, "waiting: "+result.Waiting.Reason)
	}
	for _, skipped := range result.Skipped {
		reasons = append(reasons, skipped.Reason)
	}
	return reasons
}

// resources returns those of the one Translation whose name begins so.
func resources(t *testing.T, result Result, prefix string) []midonetv1.BackendResource {
	t.Helper()
	var found []midonetv1.BackendResource
	for _, translation := range result.Translations {
		if strings.HasPrefix(translation.Name, prefix) {
			if found != nil {
				t.Fatalf("more than one Translation begins with %s: %q", prefix, names(result))
			}
			found = translation.Resources
		}
	}
	if found == nil {
		t.Fatalf("no Translation begins with %s: %q", prefix, names(result))
	}
	return found
}

// fields returns those of the body of a resource.
func fields(t *testing.T, resource midonetv1.BackendResource) map[string]any {
	t.Helper()
	var read map[string]any
	if err := json.Unmarshal([]byte(resource.Body), &read); err != nil {
		t.Fatalf("%s: %v", resource.Body, err)
	}
	return read
}

func expect[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
