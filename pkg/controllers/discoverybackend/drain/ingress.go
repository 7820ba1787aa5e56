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

func (ingress) receives(_ []*int64, missing []bool) []bool {
	got := make([]bool, len(missing))
	for i := range missing {
		got[i] = !missing[i]
	}
	return got
}

func (ingress) uncertain(Target) bool { return false }

func (ingress) drain(wanted []*int64, _, _ []bool) []*int64 { return wanted }

// remove takes paths out, rules that have none left, and the default. An Ingress that would have neither rule nor
// default is invalid: it stays as it is.
func (i ingress) remove(spec map[string]any, namespace string, gone func(types.NamespacedName) bool) []string {
	isGone := func(item map[string]any) bool {
		backend, _ := item[fieldBackend].(map[string]any)
		found, _, ok := i.reference(listRules, backend, namespace)
		return ok && gone(found.service)
	}
	rules, _ := spec[listRules].([]any)
	var left []any
	for _, rule := range rules {
		content, _ := rule.(map[string]any)
		http, _ := content["http"].(map[string]any)
		paths, taken := sift(http["paths"], isGone)
		if len(taken) == 0 {
			left = append(left, rule)
		} else if len(paths) > 0 {
			left = append(left, with(content, "http", with(http, "paths", paths)))
		}
	}
	byDefault, _ := spec[fieldDefaultBackend].(map[string]any)
	found, _, ok := i.reference(fieldDefaultBackend, byDefault, namespace)
	dropDefault := ok && gone(found.service)
	if len(left) == 0 && (len(byDefault) == 0 || dropDefault) {
		if len(rules) == 0 && !dropDefault {
			return nil
		}
		return []string{"spec: an Ingress needs a rule or a defaultBackend"}
	}
	if len(rules) > 0 {
		spec[listRules] = left
		dropEmpty(spec, listRules)
	}
	if dropDefault {
		delete(spec, fieldDefaultBackend)
	}
	return nil
}
