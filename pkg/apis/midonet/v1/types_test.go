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
