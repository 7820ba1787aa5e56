// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"testing"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/midonet/validation"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// TestOracle compares with what midonet-kube-controllers makes: names, ids, order, kinds, parents, and the bodies byte
// for byte.
func TestOracle(t *testing.T) {
	for name, convert := range map[string]func(pair) Result{
		"globals":   func(pair) Result { return Globals(settings()) },
		"node":      func(p pair) Result { return Node(p.Node, settings()) },
		"pod":       func(p pair) Result { return Pod(p.Pod, p.Node, settings()) },
		"service":   func(p pair) Result { return Service(p.Service, settings()) },
		"endpoints": func(p pair) Result { return Endpoints(p.Service, p.EndpointSlices, settings()) },
	} {
		t.Run(name, func(t *testing.T) {
			pair := load(t, name)
			if len(pair.Translations) == 0 {
				t.Fatal("nothing to compare with")
			}
			result := convert(pair)
			expect(t, result, Result{Translations: pair.Translations})
			for i := range result.Translations {
				translation := result.Translations[i]
				if errs := validation.ValidateTranslation(&translation); len(errs) > 0 {
					t.Errorf("%s: the API rejects it: %v", translation.Name, errs)
				}
				for _, wanted := range translation.Resources {
					if _, err := midonet.NewResource(wanted.Kind, wanted.Parent, wanted.Body); err != nil {
						t.Errorf("%s: the client rejects it: %v", translation.Name, err)
					}
				}
			}
		})
	}
}

// TestTenant has another tenant share no id, no parent and no reference with the first.
func TestTenant(t *testing.T) {
	all := func(config Config) []midonetv1.Translation {
		node, pod, service := load(t, "node"), load(t, "pod"), load(t, "endpoints")
		return Join(Globals(config), Node(node.Node, config), Pod(pod.Pod, pod.Node, config),
			Service(service.Service, config), Endpoints(service.Service, service.EndpointSlices, config)).Translations
	}
	const host = "44fb4381-c99d-4389-86c3-fdca765bcbde" // the host and what is not made by Groundskeeper stays
	seen := map[string]bool{}
	for _, translation := range all(settings()) {
		for _, id := range ids(t, translation) {
			seen[id] = true
		}
	}
	other := settings()
	other.Tenant = "other"
	count := 0
	for _, translation := range all(other) {
		for _, id := range ids(t, translation) {
			if count++; seen[id] && id != host {
				t.Errorf("%s has %s, an id of the other tenant", translation.Name, id)
			}
		}
		for _, resource := range translation.Resources {
			if tenant, found := fields(t, resource)["tenantId"]; found && tenant != "other" {
				t.Errorf("%s %s has the tenant %v", translation.Name, resource.Kind, tenant)
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d ids were compared", count)
	}
}

// ids returns all the ids in a Translation, parents included.
func ids(t *testing.T, translation midonetv1.Translation) []string {
	t.Helper()
	var found []string
	for _, resource := range translation.Resources {
		if resource.Parent != "" {
			found = append(found, resource.Parent)
		}
		var values map[string]any
		if err := json.Unmarshal([]byte(resource.Body), &values); err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			text, _ := value.(string)
			if id, ok := parseID(text); ok {
				found = append(found, id.String())
			}
		}
	}
	return found
}
