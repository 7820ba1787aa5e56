// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresource

import (
	"testing"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestOf(t *testing.T) {
	const idA, idB = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", "21607839-c6b4-5b98-8aa1-89a1aab61bca"
	for name, tc := range map[string]struct {
		kind, parent, body string
		// want is empty for none, identity when it is want.
		want, identity Ref
		text           string
	}{
		"alone":               {"Chain", "", `{"id":"` + idA + `"}`, Ref{"Chain", "", idA}, Ref{}, "Chain " + idA},
		"below a parent":      {"Port", idB, `{"id":"` + idA + `","type":"Bridge"}`, Ref{"Port", idB, idA}, Ref{"Port", "", idA}, "Port " + idA},
		"known by its parent": {"PortLink", idB, `{"peerId":"` + idA + `"}`, Ref{"PortLink", idB, ""}, Ref{}, "PortLink of " + idB},
		"id of two fields":    {"HostInterfacePort", idB, `{"portId":"` + idA + `"}`, Ref{"HostInterfacePort", idB, idA}, Ref{}, "HostInterfacePort " + idA},
		"no UUID":             {"Chain", "", `{"id":"x"}`, Ref{}, Ref{}, ""},
		"no JSON":             {"Chain", "", `{`, Ref{}, Ref{}, ""},
		"another backend's":   {"LogicalSwitchPort", idB, `{"id":"x"}`, Ref{"LogicalSwitchPort", idB, "x"}, Ref{"LogicalSwitchPort", "", "x"}, "LogicalSwitchPort x"},
		"another's, no id":    {"LogicalSwitchPort", idB, `{"ID":"x"}`, Ref{}, Ref{}, ""},
		"another's, no text":  {"LogicalSwitchPort", "", `{"id":7}`, Ref{}, Ref{}, ""},
		"another's, no JSON":  {"LogicalSwitchPort", "", `{`, Ref{}, Ref{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Of(midonetv1.BackendResource{Kind: tc.kind, Parent: tc.parent, Body: tc.body})
			if ok != (tc.want != Ref{}) || ok && got != tc.want {
				t.Fatalf("ref = %+v, %v; want %+v", got, ok, tc.want)
			}
			if !ok {
				return
			}
			identity := tc.identity
			if identity == (Ref{}) {
				identity = tc.want
			}
			if got.Identity() != identity || got.String() != tc.text {
				t.Errorf("identity = %+v, text %q; want %+v, %q", got.Identity(), got, identity, tc.text)
			}
		})
	}
}
