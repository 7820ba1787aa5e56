// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain/ownership"
)

// View is what of a route is read. It is small: a cache of all routes can keep it.
type View struct {
	kind      *Kind
	namespace string
	uid       string
	rules     []rule
	// saved is the record that the route carries, nil when it has none. damaged is set when it cannot be read.
	saved   *record
	damaged bool
	// owns is set when Groundskeeper owns fields that are others'.
	owns bool
	// verdict is what implementations report about the references.
	verdict verdict
}

// rule is a rule of a route, with what it refers to.
type rule struct {
	list  string
	index int
	name  string
	// print distinguishes the rule from others, frame does so without its references; see print.go. They are empty when there is
	// nothing to compare with.
	print, frame string
	refs         []ref
	lists        []mirrors
	source       source
}

// ref is one reference of a rule, at a position of its list. It gets requests by its weight.
type ref struct {
	at      int
	service types.NamespacedName
	port    string
	// key identifies the target of the reference, ordinal distinguishes equal references of a rule.
	key     string
	ordinal int
	weight  *int64
	// foreign is set when it is no Service. Then it is of no backend, unless imported is set: it is a ServiceImport.
	foreign, imported bool
}

func (r *ref) object() Object { return Object{r.service, r.imported} }

// mirrors is a list of a rule in which mirrors can be.
type mirrors struct {
	place
	holder map[string]any
	length int
	found  []mirror
}

// place identifies a list of a rule: that of a reference, or the rule's own if it is empty.
type place struct {
	List    string `json:"list"`
	Ref     string `json:"ref,omitempty"`
	Ordinal int    `json:"ordinal,omitempty"`
}

// mirror is where copies of requests are sent to.
type mirror struct {
	at      int
	ref     ref
	content map[string]any
}

func serviceRef(service types.NamespacedName, port string) ref {
	return ref{service: service, port: port, key: service.Namespace + "/" + service.Name + ":" + port}
}

// View reads a route with any content. Elements of an unknown structure are skipped.
func (k *Kind) View(object map[string]any) *View {
	v := k.parse(object)
	for i := range v.rules {
		rule := &v.rules[i]
		rule.source = source{}
		if v.saved == nil {
			rule.lists = slices.DeleteFunc(rule.lists, func(list mirrors) bool { return len(list.found) == 0 })
		}
		for j := range rule.lists {
			rule.lists[j].holder = nil
			for m := range rule.lists[j].found {
				rule.lists[j].found[m].content = nil
			}
		}
	}
	return v
}

// parse reads a route; the result shares its content.
func (k *Kind) parse(object map[string]any) *View {
	metadata, _ := object["metadata"].(map[string]any)
	v := &View{kind: k, namespace: text(metadata["namespace"], ""), uid: text(metadata["uid"], ""), owns: ownership.Owes(object, Manager)}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotation, ok := annotations[gimbalv1.AnnotationSavedWeights].(string); ok {
		v.saved, v.damaged = readRecord(annotation)
	}
	status, _ := object["status"].(map[string]any)
	v.verdict = k.flavor.verdict(status)
	spec, _ := object["spec"].(map[string]any)
	for _, source := range k.flavor.rules(spec) {
		v.rules = append(v.rules, v.rule(source))
	}
	if v.saved != nil {
		v.fingerprint()
	}
	return v
}

func (v *View) rule(source source) rule {
	r := rule{list: source.list, index: source.index, name: text(source.content["name"], ""), source: source}
	services := mirrors{place: place{List: source.references}, holder: source.content}
	if source.filtered {
		r.filters(place{List: listFilters}, source.content, v.namespace)
	}
	for at, item := range source.items() {
		services.length = at + 1
		found, mirrored, ok := v.kind.flavor.reference(source.list, item, v.namespace)
		if !ok {
			continue
		}
		found.at = at
		if mirrored {
			services.found = append(services.found, mirror{at: at, ref: found, content: item})
			continue
		}
		for _, earlier := range r.refs {
			if earlier.key == found.key {
				found.ordinal++
			}
		}
		if source.filtered {
			r.filters(place{List: listFilters, Ref: found.key, Ordinal: found.ordinal}, item, v.namespace)
		}
		r.refs = append(r.refs, found)
	}
	// A rule that has nothing but mirrors sends nothing, not even copies.
	if len(r.refs) > 0 && !source.filtered {
		r.lists = append(r.lists, services)
	}
	return r
}

// filters reads the filters of a rule, or of one of its references.
func (r *rule) filters(at place, holder map[string]any, namespace string) {
	list := mirrors{place: at, holder: holder}
	items, _ := holder[at.List].([]any)
	list.length = len(items)
	for i, item := range objects(items) {
		if found, ok := filterRef(item, namespace); ok {
			list.found = append(list.found, mirror{at: i, ref: found, content: item})
		}
	}
	r.lists = append(r.lists, list)
}

// items returns the references of a rule as they stand in the route.
func (s source) items() func(func(int, map[string]any) bool) {
	if one, ok := s.content[s.references].(map[string]any); ok {
		return objects([]any{one})
	}
	return objects(s.content[s.references])
}

// HasZero reports whether the weight of a reference is 0.
func (v *View) HasZero() bool {
	for _, rule := range v.rules {
		if slices.ContainsFunc(rule.refs, func(ref ref) bool { return isZero(ref.weight) }) {
			return true
		}
	}
	return false
}

// Services returns the names of all Services among the objects.
func (v *View) Services() []types.NamespacedName {
	var all []types.NamespacedName
	for _, object := range v.Objects() {
		if !object.Import {
			all = append(all, object.NamespacedName)
		}
	}
	return all
}

// Recorded returns the backends whose weights or mirrors the record of the route has; sorted.
func (v *View) Recorded() []string {
	return slices.Sorted(maps.Keys(v.Decide(none{}).Backends))
}

// Drained returns those of them of which the record has more than Services that fail over.
func (v *View) Drained() []string {
	return slices.DeleteFunc(v.Recorded(), func(backend string) bool { return !v.saved.drains(backend) })
}

// FailedOver returns the Services whose requests go to other backends by the record of the route.
func (v *View) FailedOver() sets.Set[types.NamespacedName] {
	services := sets.Set[types.NamespacedName]{}
	if v.saved == nil {
		return services
	}
	for _, rule := range v.saved.Rules {
		for _, slot := range rule.Slots {
			if slot.Failover {
				services.Insert(recordedRef(slot.Service).service)
			}
		}
	}
	return services
}

// RecordedImports returns the backends of the ServiceImports in the record.
func (v *View) RecordedImports() map[types.NamespacedName]string {
	found := map[types.NamespacedName]string{}
	if v.saved == nil {
		return found
	}
	for _, rule := range v.saved.Rules {
		for _, slot := range rule.Slots {
			if ref := recordedRef(slot.Service); ref.imported && slot.Backend != "" {
				found[ref.service] = slot.Backend
			}
		}
		for _, mirror := range rule.Mirrors {
			if ref := recordedRef(mirror.Service); ref.imported {
				found[ref.service] = mirror.Backend
			}
		}
	}
	return found
}

// none has no Service, so that a reference is of the backend that the record names, if any.
type none struct{}

func (none) Of(Object) (string, bool) { return "", false }

func (none) Share(string, string) int { return whole }

func (none) KeepsSole(string) bool { return false }

func (none) Target(Object, string) Target { return Target{} }

func (none) FailsOver(types.NamespacedName) bool { return false }

func (none) ClusterOf(backend string) string { return backend }

// refs are all references and mirrors of the route.
func (v *View) refs() iter.Seq[*ref] {
	return func(yield func(*ref) bool) {
		for _, rule := range v.rules {
			for i := range rule.refs {
				if !yield(&rule.refs[i]) {
					return
				}
			}
			for _, list := range rule.lists {
				for i := range list.found {
					if !yield(&list.found[i].ref) {
						return
					}
				}
			}
		}
	}
}

// Objects returns all Services and ServiceImports that the route refers to, or did before they were removed; sorted, each once.
func (v *View) Objects() []Object {
	var all []Object
	add := func(ref *ref) {
		if ref.imported || !ref.foreign {
			all = append(all, ref.object())
		}
	}
	for ref := range v.refs() {
		add(ref)
	}
	for _, ref := range v.saved.refs() {
		add(&ref)
	}
	slices.SortFunc(all, func(a, b Object) int {
		order := cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		if order == 0 && a.Import != b.Import {
			order = 1
			if b.Import {
				order = -1
			}
		}
		return order
	})
	return slices.Compact(all)
}
