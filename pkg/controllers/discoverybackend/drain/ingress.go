// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "k8s.io/apimachinery/pkg/types"

// ingress is the flavor of the Ingress, which has no weights: each path, and the default, has one backend.
type ingress struct{}

const (
	fieldDefaultBackend = "defaultBackend"
	// fieldBackend is the field of a path that has its backend. Here it is read as a list of one.
	fieldBackend = "backend"
)

func (ingress) rules(spec map[string]any) []source {
	var found []source
	for _, rule := range objects(spec[listRules]) {
		http, _ := rule["http"].(map[string]any)
		for _, path := range objects(http["paths"]) {
			found = append(found, source{list: listRules, index: len(found), content: path, references: fieldBackend})
		}
	}
	if _, ok := spec[fieldDefaultBackend].(map[string]any); ok {
		found = append(found, source{list: fieldDefaultBackend, content: spec, references: fieldDefaultBackend})
	}
	return found
}

func (ingress) reference(_ string, item map[string]any, namespace string) (ref, bool, bool) {
	service, _ := item["service"].(map[string]any)
	name, _ := service["name"].(string)
	if name == "" {
		return ref{}, false, false
	}
	field, _ := service["port"].(map[string]any)
	number, ok := port(field["number"])
	if !ok {
		number = text(field["name"], "")
	}
	return serviceRef(types.NamespacedName{Namespace: namespace, Name: name}, number), false, true
}

func (ingress) receives(slots []slot, _ func(*slot) *int64, gone func(*slot) bool) []bool {
	got := make([]bool, len(slots))
	for i := range slots {
		got[i] = !gone(&slots[i])
	}
	return got
}

func (ingress) fails() bool { return true }

func (ingress) uncertain(Target) bool { return false }

func (ingress) drain([]slot) {}

func (ingress) elements() []string { return []string{listRules, fieldDefaultBackend} }

// lacks: an Ingress with neither rule nor default is invalid.
func (ingress) lacks(spec map[string]any) string {
	rules, _ := spec[listRules].([]any)
	byDefault, _ := spec[fieldDefaultBackend].(map[string]any)
	if len(rules) == 0 && len(byDefault) == 0 {
		return "an Ingress needs a rule or a defaultBackend"
	}
	return ""
}

// strip removes paths, rules that have none left, and the default.
func (i ingress) strip(field string, element map[string]any, namespace string, deleted selection) (map[string]any, string) {
	if field == fieldDefaultBackend {
		if found, _, ok := i.reference(field, element, namespace); ok && deleted(found.service) {
			return nil, ""
		}
		return element, ""
	}
	http, _ := element["http"].(map[string]any)
	paths, taken := sift(http["paths"], func(item map[string]any) bool {
		backend, _ := item[fieldBackend].(map[string]any)
		found, _, ok := i.reference(field, backend, namespace)
		return ok && deleted(found.service)
	})
	switch {
	case len(taken) == 0:
		return element, ""
	case len(paths) == 0:
		return nil, ""
	}
	http["paths"] = paths
	return element, ""
}
