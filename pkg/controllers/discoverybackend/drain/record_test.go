// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestRecordFormat checks that the format of a record is stable: records of earlier releases are read, and an admission policy
// searches them.
func TestRecordFormat(t *testing.T) {
	for kindName, want := range map[string]string{
		"HTTPProxy": `{"uid":"4711","rules":[{"list":"routes","print":"PRINT","refs":["shop/us-web:80","shop/web:80"],"index":0,"frame":"FRAME",` +
			`"slots":[{"service":"shop/us-web:80","set":0,"ordinal":0,"backend":"us"},{"service":"shop/web:80","set":1,"ordinal":0,"at":1}],` +
			`"mirrors":[{"service":"shop/us-api:80","backend":"us","list":"services","at":2,"content":{"mirror":true,"name":"us-api","port":80}}]}]}`,
		"HTTPRoute": `{"uid":"4711","rules":[{"list":"rules","name":"checkout","print":"PRINT","refs":["far/us-web:80","shop/web:80"],"index":0,"frame":"FRAME",` +
			`"slots":[{"service":"far/us-web:80","set":0,"ordinal":0,"backend":"us","saved":50}]}]}`,
	} {
		kind := kindOf(t, kindName)
		object := route(kind, map[string]string{"HTTPProxy": "us-web web mirror:us-api", "HTTPRoute": "checkout: far/us-web=50 web"}[kindName])
		bound := kind.parse(object.Object)
		bound.fingerprint()
		rewrite(t, kind, object, drained("us"))
		if diff := cmp.Diff(strings.NewReplacer("PRINT", bound.rules[0].print, "FRAME", bound.rules[0].frame).Replace(want), object.GetAnnotations()[gimbalv1.AnnotationSavedWeights]); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRecordOfAnEarlierRelease checks that a record of an earlier release, which has neither frames nor positions, is restored.
func TestRecordOfAnEarlierRelease(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web=5 web=1", "web us-api")
	rewrite(t, kind, object, drained("us"))
	saved, _ := readRecord(object.GetAnnotations()[gimbalv1.AnnotationSavedWeights])
	for i := range saved.Rules {
		saved.Rules[i].Frame = ""
		for j := range saved.Rules[i].Slots {
			saved.Rules[i].Slots[j].At = 0
		}
	}
	text, err := saved.write()
	if err != nil {
		t.Fatal(err)
	}
	object.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: text})
	rewrite(t, kind, object, drained())
	if diff := cmp.Diff([]string{"us-web=5 web=1", "web us-api"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
}

// TestDamagedRecord checks that, without a valid record, all references of a rule get equal weights, and that users are notified as
// long as the drain lasts.
func TestDamagedRecord(t *testing.T) {
	for name, damaged := range map[string]string{
		"no JSON": "{", "empty": "", "null": "null", "another type": "[]", "without rules": "{}", "a mirror without content": `{"rules":[{"mirrors":[{"service":"shop/us-web:80"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, "HTTPRoute")
			object := route(kind, "lost: us-web=0 web=30", "kept: us-web=5 web=30", "others: web=0 api=2")
			object.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: damaged})
			decision := rewrite(t, kind, object, drained("us"))
			if diff := cmp.Diff([]string{"lost"}, decision.Lost); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"lost: us-web=0 web", "kept: us-web=0 web=30", "others: web=0 api=2"}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"lost"}, kind.View(object.Object).Decide(drained("us")).Lost); diff != "" {
				t.Error(diff)
			}
			rewrite(t, kind, object, drained())
			if diff := cmp.Diff([]string{"lost: us-web web", "kept: us-web=5 web=30", "others: web=0 api=2"}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
			if object.GetAnnotations() != nil {
				t.Errorf("annotations are left: %v", object.GetAnnotations())
			}
		})
	}
}

// TestCopiedRoute checks that the record of a route that was restored from a backup or copied is used, although its UID differs.
func TestCopiedRoute(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web=50 web=50")
	rewrite(t, kind, object, drained("us"))
	object.SetUID("4712")
	if decision := rewrite(t, kind, object, drained("us")); !decision.Write {
		t.Error("the record keeps the UID of another route")
	}
	rewrite(t, kind, object, drained())
	if diff := cmp.Diff([]string{"us-web=50 web=50"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
}

// TestServiceWithoutBackend checks that a deleted Service still belongs to its backend, as when a namespace is recreated, and that
// one that lost its label does not.
func TestServiceWithoutBackend(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web=50 web=50 mirror:us-api")
	rewrite(t, kind, object, drained("us"))
	deleted := fleet{drained: []string{"us"}, missing: []string{"us-web", "us-api"}}
	if decision := rewrite(t, kind, object, deleted); decision.Write || !decision.Backends["us"].Drained {
		t.Errorf("with the Services deleted: %+v", decision)
	}
	rewrite(t, kind, object, noBackends{})
	if diff := cmp.Diff([]string{"us-web=50 web=50 mirror:us-api"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
	fresh := route(kind, "us-web=50 web=50")
	if decision := rewrite(t, kind, fresh, deleted); decision.Write {
		t.Error("a Service that is not known was drained")
	}
}

// It has all Services, and assigns them to no backend.
type noBackends struct{ none }

func (noBackends) Of(Object) (string, bool) { return "", true }
func (noBackends) Share(string, string) int { return 0 }

// TestNamespaces checks that a backend is drained in the namespaces within its reach.
func TestNamespaces(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	near, far := route(kind, "us-web=1 web=1"), route(kind, "us-web=1 web=1")
	far.SetNamespace("far")
	for _, object := range []string{"near", "far"} {
		decision := rewrite(t, kind, map[string]*unstructured.Unstructured{"near": near, "far": far}[object], inShop{drained("us")})
		if decision.Write != (object == "near") {
			t.Errorf("%s: write=%t", object, decision.Write)
		}
	}
}

type inShop struct{ fleet }

func (i inShop) Share(backend, namespace string) int {
	if namespace != "shop" {
		return whole
	}
	return i.fleet.Share(backend, namespace)
}

// TestRecordOfManyRules checks that a record that is too long as JSON is compressed.
func TestRecordOfManyRules(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf("rule-%d: us-web-of-team-%d=%d web-of-team-%d=5", i, i, i%100, i))
	}
	object := route(kind, rules...)
	before := object.DeepCopy()
	decision := rewrite(t, kind, object, drained("us"))
	record := object.GetAnnotations()[gimbalv1.AnnotationSavedWeights]
	if !strings.HasPrefix(record, compressed) || len(record) > maxRecord || !decision.Backends["us"].Drained {
		t.Errorf("%d bytes: %.40s", len(record), record)
	}
	for _, damaged := range []string{record[:len(record)/2], compressed, compressed + "AAAA", compressed + "?"} {
		if _, isDamaged := readRecord(damaged); !isDamaged {
			t.Errorf("%.20s is read", damaged)
		}
	}
	rewrite(t, kind, object, drained())
	if !cmp.Equal(before.Object, object.Object) {
		t.Error("it did not come back")
	}
}

func TestRecordTooLong(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	var rules []string
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 6000 {
		rules = append(rules, fmt.Sprintf("rule-%d-%x: us-%x=5 web=5", i, random.Uint64(), random.Uint64()))
	}
	object := route(kind, rules...)
	before := object.DeepCopy()
	_, err := kind.Rewrite(object, drained("us"))
	if !errors.Is(err, errRecordTooLong) || !strings.Contains(err.Error(), "HTTPRoute shop/route") {
		t.Error(err)
	}
	if !cmp.Equal(before.Object, object.Object) {
		t.Error("the route was changed")
	}
}

func TestServices(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "web us-web mirror:us-api", "web tcp", "tcpproxy: db")
	want := []types.NamespacedName{{Namespace: "shop", Name: "db"}, {Namespace: "shop", Name: "tcp"}, {Namespace: "shop", Name: "us-api"}, {Namespace: "shop", Name: "us-web"}, {Namespace: "shop", Name: "web"}}
	if diff := cmp.Diff(want, kind.View(object.Object).Services()); diff != "" {
		t.Error(diff)
	}
	rewrite(t, kind, object, drained("us"))
	if diff := cmp.Diff(want, kind.View(object.Object).Services()); diff != "" {
		t.Errorf("with a mirror removed: %s", diff)
	}
}

// TestForeignReferences checks that references to other kinds than Services count as alternatives, but belong to no backend,
// whatever their name.
func TestForeignReferences(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "us-web us-bucket")
	for _, rule := range objects(object.Object["spec"].(map[string]any)["rules"]) {
		rule["backendRefs"].([]any)[1].(map[string]any)["kind"] = "Bucket"
	}
	decision := rewrite(t, kind, object, drained("us"))
	if diff := cmp.Diff([]string{"us-web=0 us-bucket"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
	if decision.Backends["us"].NoAlternative {
		t.Error("the other reference is an alternative")
	}
	if got := kind.View(object.Object).Services(); len(got) != 1 {
		t.Errorf("services %v", got)
	}
}

// TestFiltersOfReferences checks that mirrors are removed from the filters of a reference, and restored even if the reference
// moved.
func TestFiltersOfReferences(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "api web")
	refs := func() []any {
		for _, rule := range objects(object.Object["spec"].(map[string]any)["rules"]) {
			return rule["backendRefs"].([]any)
		}
		return nil
	}
	filters := route(kind, "x mirror:us-web mirror:eu-web").Object["spec"].(map[string]any)["rules"].([]any)[0].(map[string]any)["filters"]
	refs()[1].(map[string]any)["filters"] = filters
	before := object.DeepCopy()
	decision := rewrite(t, kind, object, drained("us"))
	if left := refs()[1].(map[string]any)["filters"].([]any); len(left) != 1 || !decision.Backends["us"].Drained || decision.Backends["eu"].Drained {
		t.Errorf("left %v, %+v", left, decision)
	}
	refs()[0], refs()[1] = refs()[1], refs()[0]
	rewrite(t, kind, object, drained())
	refs()[0], refs()[1] = refs()[1], refs()[0]
	if diff := cmp.Diff(before.Object, object.Object); diff != "" {
		t.Error(diff)
	}
}

// TestSilentRecord checks that a record without content is removed, regardless of its writer.
func TestSilentRecord(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "us-web=0 web=1")
	before := object.DeepCopy()
	object.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: `{"uid":"1","rules":[{"list":"rules","slots":[{"service":"shop/us-web:80","set":0,"saved":0}]}]}`})
	if decision := rewrite(t, kind, object, drained()); decision.Write || !decision.HandBack {
		t.Errorf("%+v", decision)
	}
	if changed, err := HandBack(object); err != nil || !changed {
		t.Error(changed, err)
	}
	if diff := cmp.Diff(before.Object, object.Object); diff != "" {
		t.Error(diff)
	}
}
