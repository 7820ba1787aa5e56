// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// tester is a test of either kind.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// apiServer holds one route, and does with managedFields what an API server does, by the same code.
type apiServer struct {
	fields *managedfields.FieldManager
	live   *unstructured.Unstructured
	writes int
	clock  int
}

// newAPIServer is for a kind whose lists are atomic, as those of all real route kinds are; granular is for one in which
// each service of an IngressRoute has an owner.
func newAPIServer(kind *Kind, granular bool) *apiServer {
	gvk := schema.GroupVersionKind{Group: kind.Group, Version: kind.Versions[0], Kind: kind.Kind}
	types := managedfields.NewDeducedTypeConverter()
	if granular {
		types = granularTypes(gvk)
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(gvk)
	return &apiServer{fields: managedfieldstest.NewFakeFieldManager(types, gvk), live: empty}
}

func granularTypes(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	const services = `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"],"items":
		{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer","default":0},"weight":{"type":"integer"}}}}`
	text := fmt.Sprintf(`{"type":"object","x-kubernetes-group-version-kind":[{"group":%q,"version":%q,"kind":%q}],"properties":{
		"apiVersion":{"type":"string"},"kind":{"type":"string"},
		"metadata":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
			"annotations":{"type":"object","additionalProperties":{"type":"string"}},"labels":{"type":"object","additionalProperties":{"type":"string"}},
			"name":{"type":"string"},"namespace":{"type":"string"},"uid":{"type":"string"}}},
		"spec":{"type":"object","properties":{
			"tcpproxy":{"type":"object","properties":{"services":%s}},
			"routes":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["match"],"items":
				{"type":"object","properties":{"match":{"type":"string"},"services":%s}}}}}}}`, gvk.Group, gvk.Version, gvk.Kind, services, services)
	schema := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), schema); err != nil {
		panic(err)
	}
	types, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"route": schema}, false)
	if err != nil {
		panic(err)
	}
	return types
}

// get returns what a client reads.
func (s *apiServer) get() *unstructured.Unstructured { return s.live.DeepCopy() }

func (s *apiServer) update(t tester, object *unstructured.Unstructured, manager string) {
	t.Helper()
	updated, err := s.fields.Update(s.live.DeepCopy(), object.DeepCopy(), manager)
	if err != nil {
		t.Fatal(err)
	}
	s.live = updated.(*unstructured.Unstructured)
	s.writes++
}

func (s *apiServer) apply(object *unstructured.Unstructured, manager string, force bool) error {
	applied, err := s.fields.Apply(s.live.DeepCopy(), object.DeepCopy(), manager, force)
	if err == nil {
		s.live = applied.(*unstructured.Unstructured)
		s.live.SetUID("4711")
	}
	return err
}

// ages makes the last write of a manager one of long ago, at a distinct time.
func (s *apiServer) ages(t tester, manager string) {
	t.Helper()
	s.clock++
	metadata := s.live.Object["metadata"].(map[string]any)
	for _, entry := range objects(metadata["managedFields"]) {
		if entry["manager"] == manager {
			entry["time"] = fmt.Sprintf("2000-01-01T%02d:%02d:00Z", s.clock/60, s.clock%60)
		}
	}
	s.update(t, s.live, "nobody") // brings the entries into their order
}

// settle does what the controller does, until nothing is left to do, or up to a number of writes: then it crashed.
func (s *apiServer) settle(t tester, kind *Kind, backends Backends, writes int) {
	t.Helper()
	for range 6 {
		object := s.get()
		viewed := kind.View(object.Object).Decide(backends)
		decision, err := kind.Rewrite(object, backends)
		if err != nil {
			t.Fatal(err)
		}
		if viewed.Write != decision.Write {
			t.Fatalf("the view reports write=%t, the route itself %t", viewed.Write, decision.Write)
		}
		if decision.Write {
			if writes--; writes < 0 {
				return
			}
			s.update(t, object, Manager)
		}
		object = s.get()
		viewed = kind.View(object.Object).Decide(backends)
		changed, err := HandBack(object)
		if err != nil {
			t.Fatal(err)
		}
		if viewed.HandBack != changed {
			t.Fatalf("the view reports hand back=%t, the route itself %t: %v", viewed.HandBack, changed, object.Object)
		}
		if changed {
			if writes--; writes < 0 {
				return
			}
			s.update(t, object, Manager)
		}
		if !decision.Write && !changed {
			return
		}
	}
	t.Fatalf("it never settles: %v", s.live.Object)
}
