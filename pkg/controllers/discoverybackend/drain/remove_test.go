// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func isOf(backend string) func(types.NamespacedName) bool {
	return func(service types.NamespacedName) bool { return strings.HasPrefix(service.Name, backend+"-") }
}

// TestRemove checks that references to Services of a deleted backend are removed, and that the desired weights of the others take
// effect.
func TestRemove(t *testing.T) {
	for name, test := range map[string]struct {
		kind    string
		rules   []string
		drained []string
		want    []string // after the removal of the references to "us"
		kept    int
		then    []string // when no backend is drained any more
	}{
		"one of two":                         {"HTTPProxy", []string{"us-web=30 web=70"}, nil, []string{"web=70"}, 0, []string{"web=70"}},
		"nothing to remove":                  {"HTTPProxy", []string{"eu-web=30 web=70"}, nil, []string{"eu-web=30 web=70"}, 0, []string{"eu-web=30 web=70"}},
		"drained, Contour":                   {"HTTPProxy", []string{"us-web web"}, []string{"us"}, []string{"web"}, 0, []string{"web"}},
		"drained, Gateway":                   {"HTTPRoute", []string{"us-web=9 web=1"}, []string{"us"}, []string{"web=1"}, 0, []string{"web=1"}},
		"another one stays drained":          {"HTTPProxy", []string{"us-web eu-web web"}, []string{"us", "eu"}, []string{"eu-web=0 web=1"}, 0, []string{"eu-web web"}},
		"another one stays, with its mirror": {"HTTPProxy", []string{"us-web=2 web=1 mirror:eu-web"}, []string{"eu"}, []string{"web=1"}, 0, []string{"web=1 mirror:eu-web"}},
		"another one has no alternative now": {"HTTPProxy", []string{"us-web=2 eu-web=1"}, []string{"eu"}, []string{"eu-web=1"}, 0, []string{"eu-web=1"}},
		"a mirror":                           {"HTTPProxy", []string{"web mirror:us-web"}, nil, []string{"web"}, 0, []string{"web"}},
		"a mirror that was removed":          {"HTTPRoute", []string{"web mirror:us-web"}, []string{"us"}, []string{"web"}, 0, []string{"web"}},
		"a tcpproxy":                         {"HTTPProxy", []string{"web", "tcpproxy: us-web"}, nil, []string{"web"}, 0, []string{"web"}},
		"sole, HTTPRoute":                    {"HTTPRoute", []string{"a: us-web=3", "b: web"}, nil, []string{"a: ", "b: web"}, 0, []string{"a: ", "b: web"}},
		"sole, TCPRoute":                     {"TCPRoute", []string{"us-web=3 us-api=2"}, nil, []string{"us-web=0"}, 1, []string{"us-web=0"}},
		"sole, TLSRoute, drained":            {"TLSRoute", []string{"us-web=3"}, []string{"us"}, []string{"us-web=0"}, 1, []string{"us-web=0"}},
		"sole, IngressRoute":                 {"IngressRoute", []string{"us-web=3", "web"}, nil, []string{"us-web=3", "web"}, 1, []string{"us-web=3", "web"}},
		"an Ingress, one path":               {"Ingress", []string{"us-web", "web"}, nil, []string{"web"}, 0, []string{"web"}},
		"an Ingress, the default":            {"Ingress", []string{"web", "default: us-web"}, nil, []string{"web"}, 0, []string{"web"}},
		"an Ingress, all except the default": {"Ingress", []string{"us-web", "default: web"}, nil, []string{"default: web"}, 0, []string{"default: web"}},
		"an Ingress, everything":             {"Ingress", []string{"us-web", "default: us-api"}, nil, []string{"us-web", "default: us-api"}, 1, []string{"us-web", "default: us-api"}},
		"an Ingress, only the default":       {"Ingress", []string{"default: us-api"}, nil, []string{"default: us-api"}, 1, []string{"default: us-api"}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			server := newAPIServer(kind, false)
			apply(t, server, route(kind, test.rules...), "alice")
			server.settle(t, kind, drained(test.drained...), always)
			object := server.get()
			removed, err := kind.Remove(object, Removal{Backend: "us", Deleted: isOf("us")}, drained(test.drained...))
			changed, kept := removed.Changed, removed.Kept
			if err != nil {
				t.Fatal(err)
			}
			if len(kept) != test.kept {
				t.Errorf("kept %q", kept)
			}
			if !changed && !cmp.Equal(object.Object, server.live.Object) {
				t.Error("it reports that nothing changed")
			}
			server.update(t, object, Manager)
			server.settle(t, kind, drained(test.drained...), always)
			if diff := cmp.Diff(test.want, rulesOf(kind, server.live)); diff != "" {
				t.Error(diff)
			}
			if again, _ := kind.Remove(server.get(), Removal{Backend: "us", Deleted: isOf("us")}, drained(test.drained...)); again.Changed {
				t.Error("there is more to remove the second time")
			}
			server.settle(t, kind, drained(), always)
			if diff := cmp.Diff(test.then, rulesOf(kind, server.live)); diff != "" {
				t.Error(diff)
			}
			if manages(server, Manager) || server.live.GetAnnotations() != nil {
				t.Errorf("something owned by Groundskeeper is left: %v", server.live.Object["metadata"])
			}
		})
	}
}

// TestRemoveSoleService checks that the last service of an HTTPProxy route is replaced by a 503 response, because a route without
// services would make the whole virtual host invalid.
func TestRemoveSoleService(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web", "web")
	if removed, err := kind.Remove(object, Removal{Backend: "us", Deleted: isOf("us")}, drained()); err != nil || removed.Kept != nil {
		t.Fatal(removed.Kept, err)
	}
	want := []any{
		map[string]any{"conditions": []any{map[string]any{"prefix": "/0"}}, "directResponsePolicy": map[string]any{"statusCode": int64(503)}},
		map[string]any{"conditions": []any{map[string]any{"prefix": "/1"}}, "services": []any{map[string]any{"name": "web", "port": int64(80)}}},
	}
	if diff := cmp.Diff(want, object.Object["spec"].(map[string]any)["routes"]); diff != "" {
		t.Error(diff)
	}
}
