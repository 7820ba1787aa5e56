// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// A resource has the same wire format as midonet-kube-controllers writes: three strings, an absent parent among them.
func TestResourcesOnTheWire(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(SchemeGroupVersion)
	for _, tc := range []struct{ name, resources, want string }{
		{"as written", `[{"kind":"Chain","parent":"","body":"{}"}]`, `[{"kind":"Chain","parent":"","body":"{}"}]`},
		{"without parent", `[{"kind":"Chain","body":"{}"}]`, `[{"kind":"Chain","parent":"","body":"{}"}]`},
		{"in order", `[{"kind":"B","body":"{}"},{"kind":"A","body":"{}"}]`, `[{"kind":"B","parent":"","body":"{}"},{"kind":"A","parent":"","body":"{}"}]`},
		{"none", `[]`, ``},
		{"null", `null`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			manifest := `{"apiVersion":"midonet.org/v1","kind":"Translation","resources":` + tc.resources + `}`
			object, err := runtime.Decode(decoder, []byte(manifest))
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			got := string(data)
			if tc.want == "" && strings.Contains(got, `"resources"`) {
				t.Errorf("%s has resources", got)
			}
			if tc.want != "" && !strings.Contains(got, `"resources":`+tc.want) {
				t.Errorf("%s does not have resources %s", got, tc.want)
			}
		})
	}
}

func TestVersionOf(t *testing.T) {
	for name, want := range map[string]string{
		"pod.4.web-0": "4", "pod.3.web-0": "3", "node.12.a.b.c": "12", "node-address.4.a-externalip": "4",
		"": "", "pod": "", "pod.4": "", "pod.4.": "", "pod..web-0": "", ".4.web-0": "", "my.own.name": "", "pod.4a.x": "", "pod.-4.x": "",
	} {
		t.Run(name, func(t *testing.T) {
			if version, ok := VersionOf(name); version != want || ok != (want != "") {
				t.Errorf("VersionOf(%q) = %q, %t", name, version, ok)
			}
		})
	}
}

// FuzzVersionOf holds what is read against how it is written.
func FuzzVersionOf(f *testing.F) {
	for _, seed := range []string{"pod.4.web-0", "...", "", "a.1.", "a.1.b\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		version, ok := VersionOf(name)
		if !ok {
			if version != "" {
				t.Errorf("%q has no version, but %q", name, version)
			}
			return
		}
		kind, key, found := strings.Cut(name, "."+version+".")
		if !found || kind == "" || key == "" || strings.Contains(kind, ".") || strings.Trim(version, "0123456789") != "" {
			t.Errorf("%q: version %q, kind %q, key %q", name, version, kind, key)
		}
	})
}
