// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// imports knows ServiceImports by the same names as Services.
type imports struct {
	fleet
	// of are ServiceImports of which other things are true than of Services of the same name.
	of fleet
}

func (i imports) Of(object Object) (string, bool) {
	if object.Import {
		return i.of.Of(Object{NamespacedName: object.NamespacedName})
	}
	return i.fleet.Of(object)
}

func (i imports) Target(object Object, port string) Target {
	if object.Import {
		return i.of.Target(Object{NamespacedName: object.NamespacedName}, port)
	}
	return i.fleet.Target(object, port)
}

// TestServiceImports checks that a ServiceImport is drained and restored like a Service, and that it is not an alternative if it
// does not exist, lacks the port or has no endpoint. A Service with the same name is another target.
func TestServiceImports(t *testing.T) {
	for name, test := range map[string]struct {
		rule    string
		imports fleet
		want    string
		gets    string
	}{
		"with weights":                 {"import:us-web=70 eu-web=30", fleet{}, "import:us-web=0 eu-web=30", "drained"},
		"without weights":              {"import:us-web import:eu-web", fleet{}, "import:us-web=0 import:eu-web", "drained"},
		"in another namespace":         {"import:bank/us-web=1 eu-web=1", fleet{}, "import:bank/us-web=0 eu-web=1", "drained"},
		"beside its Service":           {"import:us-web=1 us-web=2 eu-web=3", fleet{}, "import:us-web=0 us-web=0 eu-web=3", "drained"},
		"twice":                        {"import:us-web=1 import:us-web=2 eu-web=3", fleet{}, "import:us-web=0 " + "import:us-web=0 eu-web=3", "drained"},
		"sole":                         {"import:us-web", fleet{}, "import:us-web=0", "drained sole import us-web"},
		"a missing alternative":        {"us-web import:eu-web", fleet{missing: []string{"eu-web"}}, "us-web=0 import:eu-web", "drained sole us-web"},
		"an alternative without port":  {"us-web import:eu-web:99", fleet{}, "us-web=0 import:eu-web:99", "drained sole us-web"},
		"an empty alternative":         {"us-web import:eu-web", fleet{empty: []string{"eu-web"}}, "us-web=0 import:eu-web", "drained sole"},
		"an alternative of no backend": {"us-web import:web", fleet{}, "us-web=0 import:web", "drained"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"} {
				kind := kindOf(t, kind)
				object := route(kind, test.rule)
				before := object.DeepCopy()
				decision := rewrite(t, kind, object, imports{drained("us"), test.imports})
				if diff := cmp.Diff([]string{test.want}, rulesOf(kind, object)); diff != "" {
					t.Errorf("%s: %s", kind.Kind, diff)
				}
				if got := gets(decision.Backends["us"]); got != test.gets {
					t.Errorf("%s: share of backend us is %q, want %q", kind.Kind, got, test.gets)
				}
				if test.imports.missing == nil && !cmp.Equal([]string{"us"}, kind.View(object.Object).Recorded()) {
					t.Errorf("%s: the record names %q", kind.Kind, kind.View(object.Object).Recorded())
				}
				rewrite(t, kind, object, imports{drained(), test.imports})
				if diff := cmp.Diff(before.Object, object.Object); diff != "" {
					t.Errorf("%s: it did not come back: %s", kind.Kind, diff)
				}
			}
		})
	}
}

// TestServiceImportIsDeletedWhileDrained checks that a ServiceImport that is deleted while it is drained remains drained for its
// backend, and is restored.
func TestServiceImportIsDeletedWhileDrained(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "import:us-web=70 eu-web=30")
	before := object.DeepCopy()
	rewrite(t, kind, object, imports{fleet: drained("us")})
	deleted := fleet{missing: []string{"us-web"}}
	if decision := rewrite(t, kind, object, imports{drained("us"), deleted}); decision.Write || !decision.Backends["us"].Drained {
		t.Errorf("without the ServiceImport: %+v", decision)
	}
	rewrite(t, kind, object, imports{drained(), deleted})
	if diff := cmp.Diff(before.Object, object.Object); diff != "" {
		t.Error(diff)
	}
}

// TestServiceImportIsEditedWhileDrained covers edits of a drained ServiceImport: of its port, and its replacement by a Service.
func TestServiceImportIsEditedWhileDrained(t *testing.T) {
	for name, test := range map[string]struct{ before, edited, want, after string }{
		"another port":             {"import:us-web=70 eu-web=30", "import:us-web:8080=0 eu-web=30", "import:us-web:8080=0 eu-web=30", "import:us-web:8080=70 eu-web=30"},
		"a Service instead":        {"import:us-web=70 eu-web=30", "web=0 eu-web=30", "web=70 eu-web=30", "web=70 eu-web=30"},
		"another backend's":        {"us-web=70 eu-web=30", "import:eu-web=0 eu-web=30", "import:eu-web=70 eu-web=30", "import:eu-web=70 eu-web=30"},
		"instead of its Service":   {"us-web=70 eu-web=30", "import:us-web=0 eu-web=30", "import:us-web=0 eu-web=30", "import:us-web=70 eu-web=30"},
		"a weight on the imported": {"import:us-web=70 eu-web=30", "import:us-web=10 eu-web=30", "import:us-web=0 eu-web=30", "import:us-web=10 eu-web=30"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, "HTTPRoute")
			object := route(kind, test.before)
			rewrite(t, kind, object, imports{fleet: drained("us")})
			object.Object["spec"] = route(kind, test.edited).Object["spec"]
			rewrite(t, kind, object, imports{fleet: drained("us")})
			if diff := cmp.Diff([]string{test.want}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
			rewrite(t, kind, object, imports{})
			if diff := cmp.Diff([]string{test.after}, rulesOf(kind, object)); diff != "" {
				t.Errorf("afterwards: %s", diff)
			}
		})
	}
}

// TestMirrorToServiceImport checks that a mirror to a ServiceImport is removed and restored.
func TestMirrorToServiceImport(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "eu-web mirror:import:us-web")
	before := object.DeepCopy()
	decision := rewrite(t, kind, object, imports{fleet: drained("us")})
	if diff := cmp.Diff([]string{"eu-web"}, rulesOf(kind, object)); diff != "" || !decision.Backends["us"].Drained {
		t.Errorf("%+v, %s", decision, diff)
	}
	if got := fmt.Sprint(kind.View(object.Object).Objects()); got != "[Service shop/eu-web ServiceImport shop/us-web]" {
		t.Errorf("the objects of the route are %s", got)
	}
	rewrite(t, kind, object, imports{})
	if diff := cmp.Diff(before.Object, object.Object); diff != "" {
		t.Error(diff)
	}
}

// TestServiceImportIsUnknown checks that Backends without support for ServiceImports assign them to no backend.
func TestServiceImportIsUnknown(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "import:us-web=70 us-web=30")
	rewrite(t, kind, object, drained("us"))
	if diff := cmp.Diff([]string{"import:us-web=70 us-web=0"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
}
