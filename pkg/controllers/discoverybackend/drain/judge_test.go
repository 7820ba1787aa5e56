// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// judging are backends of which it is known what implementations accept.
type judging struct {
	fleet
	// targets are what is behind Services of which other things are true than of the fleet's.
	targets map[string]Target
	// permitted are the references to other namespaces that a ReferenceGrant permits, as "kind namespace/name".
	permitted string
}

func (j judging) Target(object Object, port string) Target {
	if target, ok := j.targets[object.Name]; ok {
		return target
	}
	return j.fleet.Target(Object{NamespacedName: object.NamespacedName}, port)
}

func (j judging) Of(object Object) (string, bool) {
	return j.fleet.Of(Object{NamespacedName: object.NamespacedName})
}

func (j judging) Permits(_ schema.GroupKind, _ string, to schema.GroupKind, object types.NamespacedName) bool {
	return j.permitted == to.Kind+" "+object.String()
}

// reported sets what implementations report about a route.
func reported(object *unstructured.Unstructured, statuses ...string) {
	if len(statuses) == 0 {
		return
	}
	if object.GetKind() == "HTTPProxy" {
		valid := map[string]any{"type": "Valid", "status": statuses[0]}
		if statuses[0] == "False" {
			valid["errors"] = []any{map[string]any{"type": "ServiceError", "status": "True", "reason": "ServiceUnresolvedReference"}}
		}
		object.Object["status"] = map[string]any{"conditions": []any{valid}}
		return
	}
	var parents []any
	for _, status := range statuses {
		conditions := []any{map[string]any{"type": "Accepted", "status": "True"}}
		if status != "" {
			conditions = append(conditions, map[string]any{"type": "ResolvedRefs", "status": status})
		}
		parents = append(parents, map[string]any{"conditions": conditions})
	}
	object.Object["status"] = map[string]any{"parents": parents}
}

// TestInvalidReferences checks that a reference that implementations reject, or may reject, is no alternative: with KeepSole nothing
// is moved there, and the route is named together with the reference.
func TestInvalidReferences(t *testing.T) {
	const keeps, moves = "serves sole us-web", "drained"
	target := func(target Target) map[string]Target { return map[string]Target{"eu-web": target} }
	udp, both := target(Target{Protocol: "UDP"}), target(Target{Protocol: "UDP", OtherProtocol: "TCP"})
	tcp, h2c := target(Target{Protocol: "TCP"}), target(Target{Protocol: "TCP", AppProtocol: "kubernetes.io/h2c"})
	for name, tc := range map[string]struct {
		kind, rule string
		targets    map[string]Target
		permitted  string
		status     []string
		// gets is what the backend us receives with KeepSole, invalid describes a reference.
		gets, invalid string
	}{
		"a UDP port":                             {kind: "HTTPRoute", targets: udp, gets: keeps, invalid: "Service shop/eu-web: its port has protocol UDP"},
		"a UDP port, Contour":                    {kind: "HTTPProxy", targets: udp, gets: keeps, invalid: "Service shop/eu-web: its port has protocol UDP"},
		"a UDP port, TCP":                        {kind: "TCPRoute", targets: udp, gets: keeps, invalid: "Service shop/eu-web: its port has protocol UDP"},
		"a UDP port, UDP":                        {kind: "UDPRoute", targets: udp, gets: moves},
		"a TCP port":                             {kind: "HTTPRoute", targets: tcp, gets: moves},
		"a TCP port, UDP":                        {kind: "UDPRoute", targets: tcp, gets: keeps, invalid: "Service shop/eu-web: its port has protocol TCP"},
		"a UDP port before a TCP port":           {kind: "HTTPProxy", targets: both, gets: keeps, invalid: "Service shop/eu-web: its port has protocol UDP"},
		"without a ReferenceGrant":               {kind: "HTTPRoute", rule: "us-web bank/eu-web", gets: keeps, invalid: "Service bank/eu-web: no ReferenceGrant"},
		"a ReferenceGrant for another Service":   {kind: "HTTPRoute", rule: "us-web bank/eu-web", permitted: "Service bank/web", gets: keeps, invalid: "Service bank/eu-web: no ReferenceGrant"},
		"with a ReferenceGrant":                  {kind: "HTTPRoute", rule: "us-web bank/eu-web", permitted: "Service bank/eu-web", gets: moves},
		"an import without a ReferenceGrant":     {kind: "HTTPRoute", rule: "us-web import:bank/eu-web", permitted: "Service bank/eu-web", gets: keeps, invalid: "ServiceImport bank/eu-web: no ReferenceGrant"},
		"an import with a ReferenceGrant":        {kind: "HTTPRoute", rule: "us-web import:bank/eu-web", permitted: "ServiceImport bank/eu-web", gets: moves},
		"an import that no one judges":           {kind: "HTTPRoute", rule: "us-web import:eu-web", gets: moves},
		"an import, and a reference is rejected": {kind: "HTTPRoute", rule: "us-web import:eu-web", status: []string{"False"}, gets: keeps, invalid: "ServiceImport shop/eu-web: the status"},
		"an unknown kind":                        {kind: "HTTPRoute", rule: "us-web other:eu-web", gets: keeps, invalid: "Backend.gateway.example.com/shop/eu-web:80: no implementation"},
		"a kind that is accepted":                {kind: "HTTPRoute", rule: "us-web other:eu-web", status: []string{"True"}, gets: moves},
		"a kind that one of two rejects":         {kind: "HTTPRoute", rule: "us-web other:eu-web", status: []string{"True", "False"}, gets: keeps, invalid: "Backend"},
		"a kind that one of two has not judged":  {kind: "HTTPRoute", rule: "us-web other:eu-web", status: []string{"True", ""}, gets: keeps, invalid: "Backend"},
		"a kind that the other has not judged":   {kind: "HTTPRoute", rule: "us-web other:eu-web", status: []string{"", "True"}, gets: keeps, invalid: "Backend"},
		"appProtocol, without a status":          {kind: "HTTPRoute", targets: h2c, gets: keeps, invalid: "Service shop/eu-web: no implementation reports in the status of the route that it supports appProtocol kubernetes.io/h2c"},
		"appProtocol, accepted":                  {kind: "HTTPRoute", targets: h2c, status: []string{"True"}, gets: moves},
		"appProtocol, rejected":                  {kind: "HTTPRoute", targets: h2c, status: []string{"False"}, gets: keeps, invalid: "Service shop/eu-web"},
		"appProtocol, Contour ignores it":        {kind: "HTTPProxy", targets: h2c, gets: moves},
		"rejected for another reference":         {kind: "HTTPRoute", rule: "us-web eu-web web:99=0", status: []string{"False"}, gets: moves},
		"rejected for no known reason":           {kind: "HTTPRoute", status: []string{"False"}, gets: keeps, invalid: "Service shop/eu-web: the status"},
		"rejected by Contour":                    {kind: "HTTPProxy", status: []string{"False"}, gets: keeps, invalid: "Service shop/eu-web: the status"},
		"rejected by Contour, which is known":    {kind: "HTTPProxy", rule: "us-web eu-web web:99", status: []string{"False"}, gets: moves},
		"accepted by Contour":                    {kind: "HTTPProxy", status: []string{"True"}, gets: moves},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, tc.kind)
			object := route(kind, cmp.Or(tc.rule, "us-web eu-web"))
			reported(object, tc.status...)
			before := object.DeepCopy()
			backends := judging{fleet: fleet{drained: []string{"us"}, keepSole: []string{"us"}}, targets: tc.targets, permitted: tc.permitted}
			us := rewrite(t, kind, object, backends).Backends["us"]
			if got := gets(us); got != tc.gets {
				t.Errorf("backend us receives %q, want %q", got, tc.gets)
			}
			if got := strings.Join(us.Invalid, "; "); !strings.HasPrefix(got, tc.invalid) || (got == "") != (tc.invalid == "") {
				t.Errorf("invalid = %q, want %q", got, tc.invalid)
			}
			if tc.gets == keeps {
				if diff := gocmp.Diff(before.Object, object.Object); diff != "" {
					t.Errorf("the route changed: %s", diff)
				}
			}
			strict := judging{fleet: drained("us"), targets: tc.targets, permitted: tc.permitted}
			if us := kind.View(object.Object).Decide(strict).Backends["us"]; us.NoAlternative != (tc.gets == keeps) || (len(us.Withhold) > 0) != (tc.gets == keeps) {
				t.Errorf("strict: backend us receives %q", gets(us))
			}
		})
	}
}

// TestNoVerdict checks that routes are rewritten as before by callers that do not judge references.
func TestNoVerdict(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "us-web other:eu-web")
	reported(object, "False")
	backends := fleet{drained: []string{"us"}, keepSole: []string{"us"}}
	if us := kind.View(object.Object).Decide(backends).Backends["us"]; us.NoAlternative || !us.Drained {
		t.Errorf("backend us receives %q, want %q", gets(us), "drained")
	}
}
