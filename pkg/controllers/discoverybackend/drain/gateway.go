// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "k8s.io/apimachinery/pkg/types"

// gateway is the flavor of the kinds of the Gateway API: a share is a weight of the sum of weights, 1 when unset. When the sum is
// zero, nothing is sent. The share of a reference that leads to nothing gets errors.
type gateway struct {
	// mirrors is set when the kind has filters. Without them it needs at least one reference in a rule.
	mirrors bool
}

const (
	listRules       = "rules"
	listBackendRefs = "backendRefs"
	listFilters     = "filters"
)

// A ServiceImport of the Multi-Cluster Services API is a backendRef as a Service is. importPrefix precedes its name in a record.
const (
	importGroup  = "multicluster.x-k8s.io"
	importKind   = "ServiceImport"
	importPrefix = importKind + "." + importGroup + "/"
)

func (g gateway) rules(spec map[string]any) []source {
	var found []source
	for i, content := range objects(spec[listRules]) {
		found = append(found, source{list: listRules, index: i, content: content, references: listBackendRefs, filtered: g.mirrors})
	}
	return found
}

func (gateway) reference(_ string, item map[string]any, namespace string) (ref, bool, bool) {
	found, ok := objectRef(item, namespace)
	if !ok {
		return ref{}, false, false
	}
	found.weight, ok = weight(item)
	return found, false, ok
}

// objectRef reads what a backendRef names: a Service, unless group or kind specify otherwise.
func objectRef(item map[string]any, namespace string) (ref, bool) {
	name, _ := item["name"].(string)
	if name == "" {
		return ref{}, false
	}
	object := types.NamespacedName{Namespace: text(item["namespace"], namespace), Name: name}
	port, _ := port(item["port"])
	found := serviceRef(object, port)
	if group, kind := text(item["group"], ""), text(item["kind"], "Service"); group != "" || kind != "Service" {
		found.key = kind + "." + group + "/" + found.key
		found.foreign, found.imported = true, group == importGroup && kind == importKind
	}
	return found, true
}

func (gateway) receives(slots []slot, weight func(*slot) *int64, gone func(*slot) bool) []bool {
	got := make([]bool, len(slots))
	for i := range slots {
		weight := weight(&slots[i])
		got[i] = !gone(&slots[i]) && (weight == nil || positive(weight))
	}
	return got
}

func (gateway) fails() bool { return true }

// uncertain: implementations may reject Services of type ExternalName.
func (gateway) uncertain(target Target) bool { return target.ExternalName }

func (gateway) drain(slots []slot) {
	for i := range slots {
		if slots[i].isDrained() {
			slots[i].set = new(int64(0))
		}
	}
}

func (gateway) elements() []string { return []string{listRules} }

func (gateway) lacks(map[string]any) string { return "" }

// strip may leave a rule of a kind with filters without a reference: such a rule sends nothing. The other kinds need
// one, which stays with weight zero.
func (g gateway) strip(field string, element map[string]any, namespace string, deleted selection) (_ map[string]any, kept string) {
	left, taken := sift(element[listBackendRefs], func(item map[string]any) bool {
		found, _, ok := g.reference(field, item, namespace)
		return ok && !found.foreign && deleted(found.service)
	})
	if len(left) == 0 && len(taken) > 0 && !g.mirrors {
		taken[0].(map[string]any)["weight"] = int64(0)
		left = taken[:1]
		kept = "backendRefs: a rule needs at least one, it has weight 0"
	}
	if len(taken) > 0 {
		setList(element, listBackendRefs, left)
	}
	if !g.mirrors {
		return element, kept
	}
	holders := []map[string]any{element}
	for _, item := range objects(element[listBackendRefs]) {
		holders = append(holders, item)
	}
	for _, holder := range holders {
		left, taken := sift(holder[listFilters], func(item map[string]any) bool {
			found, ok := filterRef(item, namespace)
			return ok && !found.foreign && deleted(found.service)
		})
		if len(taken) > 0 {
			setList(holder, listFilters, left)
		}
	}
	return element, kept
}

// filterRef reads where a filter sends copies of requests to, if it does.
func filterRef(filter map[string]any, namespace string) (ref, bool) {
	mirror, _ := filter["requestMirror"].(map[string]any)
	item, _ := mirror["backendRef"].(map[string]any)
	return objectRef(item, namespace)
}
