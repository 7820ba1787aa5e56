// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// In these tests the name of a Service specifies its backend: us-web is of the backend us, web is of none. A rule is written as
// "us-web=50 web", references with their weights; "mirror:us-web" is a mirror.

// fleet is a set of backends: those that are drained, and those with KeepSole. Services that are missing are not known; those that
// are empty have no ready endpoint, and those that are external are of type ExternalName. None has port 99.
type fleet struct {
	drained, keepSole        []string
	missing, empty, external []string
	// failing are Services that fail over.
	failing []string
	// shares are those of backends that are not drained, in percent.
	shares map[string]int
	// clusters has the clusters of backends that are not alone in theirs.
	clusters map[string]string
}

func (f fleet) ClusterOf(backend string) string { return cmp.Or(f.clusters[backend], backend) }

func (f fleet) FailsOver(service types.NamespacedName) bool {
	return slices.Contains(f.failing, service.Name)
}

// Of: a ServiceImport is of no backend.
func (f fleet) Of(object Object) (string, bool) {
	if slices.Contains(f.missing, object.Name) && !object.Import {
		return "", false
	}
	backend, _, ok := strings.Cut(object.Name, "-")
	if !ok || object.Import {
		return "", true
	}
	return backend, true
}

func (f fleet) Share(backend, _ string) int {
	if slices.Contains(f.drained, backend) {
		return 0
	}
	if share, ok := f.shares[backend]; ok {
		return share
	}
	return whole
}

func (f fleet) KeepsSole(backend string) bool { return slices.Contains(f.keepSole, backend) }

func (f fleet) Target(service Object, port string) Target {
	if service.Import {
		return Target{}
	}
	return Target{
		Missing:      slices.Contains(f.missing, service.Name) || port == "99",
		Empty:        slices.Contains(f.empty, service.Name),
		ExternalName: slices.Contains(f.external, service.Name),
	}
}

func drained(backends ...string) fleet { return fleet{drained: backends} }

func kindOf(t testing.TB, name string) *Kind {
	t.Helper()
	for _, kind := range Kinds() {
		if kind.Kind == name {
			return kind
		}
	}
	t.Fatalf("there is no kind %q", name)
	return nil
}

// route returns a route with these rules. A rule may begin with its name, "checkout: ", which of an HTTPProxy is its
// prefix, and with a slash is a path without a name; "tcpproxy: " and "default: " are where it stands.
func route(kind *Kind, rules ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	object.SetAPIVersion(kind.Group + "/" + kind.Versions[0])
	object.SetKind(kind.Kind)
	object.SetNamespace("shop")
	object.SetName("route")
	object.SetUID("4711")
	spec := object.Object["spec"].(map[string]any)
	for i, rule := range rules {
		name, refs := "", rule
		if head, rest, ok := strings.Cut(rule, ": "); ok {
			name, refs = head, rest
		}
		addRule(kind, spec, i, name, strings.Fields(refs))
	}
	return object
}

func addRule(kind *Kind, spec map[string]any, i int, name string, refs []string) {
	list := func(field string, rule map[string]any) {
		items, _ := spec[field].([]any)
		spec[field] = append(items, rule)
	}
	switch kind.flavor.(type) {
	case contour:
		services := []any{}
		for _, ref := range refs {
			services = append(services, serviceItem(ref))
		}
		if name == "tcpproxy" {
			spec["tcpproxy"] = map[string]any{"services": services}
			return
		}
		if name == "" {
			name = strconv.Itoa(i)
		}
		prefix := "/" + strings.TrimPrefix(name, "/")
		rule := map[string]any{"conditions": []any{map[string]any{"prefix": prefix}}, "services": services}
		if kind.Kind == "IngressRoute" {
			rule = map[string]any{"match": prefix, "services": services}
		}
		list("routes", rule)
	case gateway:
		path := strconv.Itoa(i)
		if rest, ok := strings.CutPrefix(name, "/"); ok {
			path, name = rest, ""
		}
		rule := map[string]any{"matches": []any{map[string]any{"path": map[string]any{"value": "/" + path}}}}
		if name != "" {
			rule["name"] = name
		}
		for _, ref := range refs {
			item := serviceItem(strings.TrimPrefix(ref, "mirror:"))
			field := "backendRefs"
			if strings.HasPrefix(ref, "mirror:") {
				field, item = "filters", map[string]any{"type": "RequestMirror", "requestMirror": map[string]any{"backendRef": item}}
			}
			items, _ := rule[field].([]any)
			rule[field] = append(items, item)
		}
		list("rules", rule)
	case ingress:
		backend := map[string]any{"service": map[string]any{"name": refs[0], "port": map[string]any{"number": int64(80)}}}
		if name == "default" {
			spec["defaultBackend"] = backend
			return
		}
		list("rules", map[string]any{
			"host": fmt.Sprintf("host-%d", i),
			"http": map[string]any{"paths": []any{map[string]any{"path": "/", "backend": backend}}},
		})
	}
}

// serviceItem returns a reference: web, web=50, web:8080=50, other/web=50, mirror:web, import:web for a ServiceImport, or other:web for another kind.
func serviceItem(ref string) map[string]any {
	item := map[string]any{"port": int64(80)}
	if rest, ok := strings.CutPrefix(ref, "mirror:"); ok {
		item["mirror"], ref = true, rest
	}
	if rest, ok := strings.CutPrefix(ref, "import:"); ok {
		item["group"], item["kind"], ref = importGroup, importKind, rest
	}
	if rest, ok := strings.CutPrefix(ref, "other:"); ok {
		item["group"], item["kind"], ref = "gateway.example.com", "Backend", rest
	}
	name, weight, ok := strings.Cut(ref, "=")
	if ok {
		n, _ := strconv.ParseInt(weight, 10, 64)
		item["weight"] = n
	}
	if rest, port, ok := strings.Cut(name, ":"); ok {
		n, _ := strconv.ParseInt(port, 10, 64)
		item["port"], name = n, rest
	}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		item["namespace"], name = namespace, rest
	}
	item["name"] = name
	return item
}

// rulesOf writes the rules of a route in the notation of route.
func rulesOf(kind *Kind, object *unstructured.Unstructured) []string {
	spec := object.Object["spec"].(map[string]any)
	var rules []string
	for _, rule := range kind.flavor.rules(spec) {
		name := ""
		switch {
		case rule.list == listTCPProxy:
			name = "tcpproxy: "
		case rule.list == fieldDefaultBackend:
			name = "default: "
		case rule.content["name"] != nil:
			name = rule.content["name"].(string) + ": "
		case rule.list == listRules:
			for _, match := range objects(rule.content["matches"]) {
				if path := match["path"].(map[string]any)["value"].(string); path[1] > '9' {
					name = path + ": "
				}
			}
		case rule.list == listRoutes:
			prefix := text(rule.content["match"], "")
			for _, condition := range objects(rule.content["conditions"]) {
				prefix = condition["prefix"].(string)
			}
			if name = strings.TrimPrefix(prefix, "/") + ": "; name[0] <= '9' {
				name = ""
			}
		}
		var refs []string
		for _, item := range rule.items() {
			refs = append(refs, refText(item))
		}
		if rule.filtered {
			for _, filter := range objects(rule.content[listFilters]) {
				if mirror, ok := filter["requestMirror"].(map[string]any); ok {
					refs = append(refs, "mirror:"+refText(mirror["backendRef"].(map[string]any)))
				}
			}
		}
		rules = append(rules, name+strings.Join(refs, " "))
	}
	return rules
}

func refText(item map[string]any) string {
	if service, ok := item["service"].(map[string]any); ok {
		return service["name"].(string)
	}
	ref := item["name"].(string)
	if namespace, ok := item["namespace"].(string); ok {
		ref = namespace + "/" + ref
	}
	if item["port"] != int64(80) {
		ref += fmt.Sprintf(":%v", item["port"])
	}
	if item["kind"] == importKind {
		ref = "import:" + ref
	}
	if item["mirror"] == true {
		ref = "mirror:" + ref
	}
	if weight, ok := item["weight"]; ok {
		ref += fmt.Sprintf("=%v", weight)
	}
	return ref
}

// rewrite has a route rewritten, and again: the second time there must be nothing to do.
func rewrite(t testing.TB, kind *Kind, object *unstructured.Unstructured, backends Backends) Decision {
	t.Helper()
	viewed := kind.View(object.Object).Decide(backends)
	decision, err := kind.Rewrite(object, backends)
	if err != nil {
		t.Fatal(err)
	}
	if viewed.Write != decision.Write {
		t.Fatalf("the view reports write=%t, the route itself %t", viewed.Write, decision.Write)
	}
	if again, err := kind.Rewrite(object, backends); err != nil || again.Write {
		t.Fatalf("a second rewrite: write=%t, %v\n%v", again.Write, err, object.Object)
	}
	return decision
}
