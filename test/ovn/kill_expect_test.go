// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
	"groundskeeper.io/groundskeeper/test/bench/probe"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manager.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// expect has the undisturbed database be that of the objects, and returns its rows.
func (s *storm) expect() map[string]string {
	s.t.Helper()
	nodes, pods, services, endpoints, policies := s.lists()
	namespaces := corev1.NamespaceList{}
	s.must(s.c.List(s.t.Context(), &namespaces))
	objects := cluster{
		nodes: pointersTo(nodes.Items), pods: pointersTo(pods.Items), policies: pointersTo(policies.Items), namespaces: pointersTo(namespaces.Items),
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{},
	}
	for _, service := range pointersTo(services.Items) {
		objects.services[service] = slices.DeleteFunc(pointersTo(endpoints.Items), func(slice *discoveryv1.EndpointSlice) bool {
			return slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name
		})
	}
	s.twin.convert(objects)
	s.twin.sync()
	rows, err := rowsOf(s.t.Context(), s.undisturbed, false)
	s.must(err)
	return rows
}

// unsettled returns what is not yet as converged expects it.
func (s *storm) unsettled(ctx context.Context, want map[string]string) error {
	translations := &midonetv1.TranslationList{}
	if err := s.c.List(ctx, translations); err != nil {
		return err
	}
	for i := range translations.Items {
		t := &translations.Items[i]
		realized := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionRealized)
		if !t.DeletionTimestamp.IsZero() || t.Status.ObservedGeneration != t.Generation || !meta.IsStatusConditionTrue(t.Status.Conditions, midonetv1.ConditionSynced) ||
			// No interface is connected to any port.
			realized == nil || realized.Reason != "Realized" && realized.Reason != "NotConnected" {
			return fmt.Errorf("translation %s/%s, generation %d: %+v", t.Namespace, t.Name, t.Generation, t.Status)
		}
	}
	have, err := rowsOf(ctx, s.northbound, false)
	if err != nil {
		return err
	}
	if wrong := differences(have, want); len(wrong) > 0 {
		return fmt.Errorf("%d rows differ:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	for key, row := range s.foreign {
		if have[key] != row {
			return fmt.Errorf("the row %s of another client is %s, want %s", key, have[key], row)
		}
	}
	return nil
}

// rowsOf returns all rows of the tables that Groundskeeper writes to, by table and id. Columns that only ovn-northd sets are left out;
// those with the version of the row are included on demand.
func rowsOf(ctx context.Context, from *ovsdb.Client, versions bool) (map[string]string, error) {
	var operations []ovsdb.Operation
	kinds := ovn.Kinds()
	for _, kind := range kinds {
		operations = append(operations, ovsdb.Select(kind.Table, nil))
	}
	results, err := from.Transact(ctx, operations...)
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for i, result := range results {
		for _, row := range result.Rows {
			key := kinds[i].Table + " " + row.UUID()
			for _, column := range []string{"up", "dynamic_addresses", "status"} {
				delete(row, column)
			}
			if !versions {
				delete(row, "_version")
			}
			text, err := json.Marshal(row)
			if err != nil {
				return nil, err
			}
			rows[key] = string(text)
		}
	}
	return rows, nil
}

// versions returns all rows with their versions, which change with every write that changes something.
func (s *storm) versions() map[string]string {
	s.t.Helper()
	rows, err := rowsOf(s.t.Context(), s.northbound, true)
	s.must(err)
	return rows
}

// revisions returns the versions of all Translations.
func (s *storm) revisions() map[string]string {
	s.t.Helper()
	translations := &midonetv1.TranslationList{}
	s.must(s.c.List(s.t.Context(), translations))
	revisions := map[string]string{}
	for i := range translations.Items {
		t := &translations.Items[i]
		revisions[client.ObjectKeyFromObject(t).String()] = fmt.Sprintf("%s %+v", t.ResourceVersion, t.Status)
	}
	return revisions
}

// differences describes what two maps do not share.
func differences(have, want map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got, found := have[key]; !found {
			all = append(all, key+" is missing: "+want[key])
		} else if got != want[key] {
			all = append(all, key+" is "+got+", want "+want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if _, found := want[key]; !found {
			all = append(all, key+" should not exist: "+have[key])
		}
	}
	return all
}

// compared waits until the manager, which was just started, has compared the whole database twice.
func (s *storm) compared() {
	s.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var samples []probe.Sample
		samples, last = probe.Scrape(ctx, http.DefaultClient, "http://"+s.manager.Address()+"/metrics", "groundskeeper_translation_drift_passes_total")
		return slices.ContainsFunc(samples, func(p probe.Sample) bool { return p.Labels["outcome"] == "done" && p.Value >= 2 }), nil
	})
	s.must(errors.Join(err, last))
}

// addForeign adds rows of another client to both databases, some of them to rows of Groundskeeper, and a pair to its external_ids.
func (s *storm) addForeign() {
	s.t.Helper()
	id := func(number int) string { return fmt.Sprintf("0c9a3f60-0000-4000-8000-%012d", number) }
	reference := func(number int) ovsdb.UUID { return ovsdb.UUID(id(number)) }
	ids := ovsdb.Map{"owner": "another client"}
	emitter := convert.OVN{Config: convert.Config{Tenant: tenant}}
	var router string
	for _, translation := range emitter.Globals().Translations {
		for _, resource := range translation.Resources {
			var body struct{ ID string }
			s.must(json.Unmarshal([]byte(resource.Body), &body))
			if resource.Kind == "LogicalRouter" {
				router = body.ID
			}
		}
	}
	operations := []ovsdb.Operation{
		ovsdb.Insert("Logical_Switch_Port", id(1), map[string]any{"name": "other_port", "addresses": "unknown", "external_ids": ids}),
		ovsdb.Insert("Logical_Switch", id(2), map[string]any{"name": "other", "ports": reference(1), "external_ids": ids}),
		ovsdb.Insert("ACL", id(3), map[string]any{"priority": 1, "direction": "to-lport", "match": "ip", "action": "drop", "external_ids": ids}),
		ovsdb.Insert("Port_Group", id(4), map[string]any{"name": "other", "ports": reference(1), "acls": reference(3), "external_ids": ids}),
		ovsdb.Insert("Load_Balancer", id(5), map[string]any{"name": "default/service-1/tcp", "vips": ovsdb.Map{"10.99.0.1:80": "10.98.0.1:80"}, "external_ids": ids}),
		ovsdb.Insert("Logical_Router_Port", id(6), map[string]any{"name": "uplink", "mac": "02:00:00:00:00:01", "networks": "198.51.100.2/24", "external_ids": ids}),
		ovsdb.Insert("Logical_Router_Static_Route", id(7), map[string]any{"ip_prefix": "0.0.0.0/0", "nexthop": "198.51.100.1", "external_ids": ids}),
		ovsdb.Insert("NAT", id(8), map[string]any{"type": "snat", "external_ip": "198.51.100.2", "logical_ip": "10.1.0.0/16", "external_ids": ids}),
		ovsdb.Mutate("Logical_Router", []ovsdb.Condition{ovsdb.ByID(router)}, ovsdb.Including("ports", reference(6)), ovsdb.Including("static_routes", reference(7)),
			ovsdb.Including("nat", reference(8)), ovsdb.Including("external_ids", ids)),
	}
	for _, database := range []*ovsdb.Client{s.northbound, s.undisturbed} {
		_, err := database.Transact(s.t.Context(), operations...)
		s.must(err)
	}
	rows, err := rowsOf(s.t.Context(), s.undisturbed, false)
	s.must(err)
	s.foreign = map[string]string{}
	for key, row := range rows {
		if strings.Contains(key, " 0c9a3f60-0000-4000-8000-") {
			s.foreign[key] = row
		}
	}
	if len(s.foreign) != 8 {
		s.t.Fatalf("%d rows of another client, want 8", len(s.foreign))
	}
}
