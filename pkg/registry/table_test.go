// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// tenDays returns an age that does not change while a test runs.
func tenDays() metav1.Time { return metav1.NewTime(time.Now().Add(-10*24*time.Hour - 12*time.Hour)) }

func condition(kind string, status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{Type: "Other", Status: metav1.ConditionUnknown}, {Type: kind, Status: status}}
}

// header returns what kubectl prints above the cells; wide columns are in parentheses.
func header(table *metav1.Table) string {
	var names []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority > 0 {
			column.Name = "(" + column.Name + ")"
		}
		names = append(names, column.Name)
	}
	return strings.Join(names, " ")
}

func TestTable(t *testing.T) {
	for _, tc := range []struct {
		resource string
		object   registry.Object
		header   string
		cells    []any
	}{
		{"projects", &gardenerv1beta1.Project{
			ObjectMeta: metav1.ObjectMeta{Name: "dev"},
			Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev"), Owner: &rbacv1.Subject{Kind: "Group", Name: "ops"},
				CreatedBy: &rbacv1.Subject{Kind: "ServiceAccount", Namespace: "garden", Name: "robot"}},
			Status: gardenerv1beta1.ProjectStatus{Phase: gardenerv1beta1.ProjectReady, Conditions: []gardenerv1beta1.Condition{{Type: "Ready", Status: gardenerv1beta1.ConditionTrue}}, StaleSinceTimestamp: new(metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))},
		}, "Name Ready Namespace Status Owner Creator (Stale Since) (Deletion Due) Age", []any{"dev", "True", "garden-dev", "Ready", "ops", "robot", "2026-01-02T03:04:05Z", "", "10d"}},
		{"projects", &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
			"Name Ready Namespace Status Owner Creator (Stale Since) (Deletion Due) Age", []any{"empty", "", "", "", "", "", "", "", "10d"}},

		{"klusters", &kubernikusv1.Kluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo"},
			Spec:       kubernikusv1.KlusterSpec{Version: "1.36.3", ClusterCIDR: new("100.100.0.0/16"), Openstack: kubernikusv1.OpenstackSpec{RouterID: uuid}},
			Status: kubernikusv1.KlusterStatus{Phase: kubernikusv1.KlusterTerminating, Conditions: slices.Concat(condition("APIServerReachable", metav1.ConditionTrue), condition("OpenStackReachable", metav1.ConditionFalse), condition("RoutesClean", metav1.ConditionTrue)), Deorbit: &kubernikusv1.DeorbitStatus{
				Stage: kubernikusv1.DeorbitVerify, Remaining: []kubernikusv1.DeorbitObject{{Kind: "Volume"}, {Kind: "Service"}}}},
		}, "Name Ready Version Phase Reachable Routes Clean Stage Leftovers (Retained) (Pods) (Router) Age", []any{"demo", "", "1.36.3", "Terminating", "False", "True", "Verify", int64(2), int64(0), "100.100.0.0/16", uuid, "10d"}},
		{"klusters", &kubernikusv1.Kluster{
			ObjectMeta: metav1.ObjectMeta{Name: "found"},
			Status: kubernikusv1.KlusterStatus{Openstack: &kubernikusv1.OpenstackStatus{RouterID: uuid}, Deorbit: &kubernikusv1.DeorbitStatus{},
				Conditions: slices.Concat(condition("APIServerReachable", metav1.ConditionUnknown), condition("OpenStackReachable", metav1.ConditionTrue))},
		}, "Name Ready Version Phase Reachable Routes Clean Stage Leftovers (Retained) (Pods) (Router) Age", []any{"found", "", "", "", "Unknown", "", "", nil, nil, "", uuid, "10d"}},
		{"klusters", &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
			"Name Ready Version Phase Reachable Routes Clean Stage Leftovers (Retained) (Pods) (Router) Age", []any{"empty", "", "", "", "", "", "", nil, nil, "", "", "10d"}},

		{"translations", &midonetv1.Translation{
			ObjectMeta: metav1.ObjectMeta{Name: "pod.4.web-0", OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "web-0"}}},
			Resources:  []midonetv1.BackendResource{{Kind: "Port"}, {Kind: "PortLink"}},
			Status:     midonetv1.TranslationStatus{Conditions: condition("Synced", metav1.ConditionFalse)},
		}, "Name Ready Owner Resources Synced Stalled Age", []any{"pod.4.web-0", "", "Pod/web-0", int64(2), "False", "", "10d"}},
		{"translations", &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Name: "global", Labels: map[string]string{"midonet.org/global": ""}}},
			"Name Ready Owner Resources Synced Stalled Age", []any{"global", "", "global", int64(0), "", "", "10d"}},
		{"translations", &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"midonet.org/owner-uid": "x"}}},
			"Name Ready Owner Resources Synced Stalled Age", []any{"orphan", "", "", int64(0), "", "", "10d"}},

		{"discoverybackends", &gimbalv1.DiscoveryBackend{
			ObjectMeta: metav1.ObjectMeta{Name: "us-east"},
			Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendOpenStack, ClusterStatus: gimbalv1.ClusterMaintenance},
			Status: gimbalv1.DiscoveryBackendStatus{Services: new(int32(7)), Conditions: slices.Concat(condition("Drained", metav1.ConditionTrue), condition("Available", metav1.ConditionFalse), condition("Ready", metav1.ConditionTrue)),
				Errors: []gimbalv1.DiscoveryError{{Type: "Conflict"}}, LastSyncTime: new(tenDays())},
		}, "Name Ready Type Status Available Discovered Services Drained Errors Last Sync Age", []any{"us-east", "True", "openstack", "Maintenance", "False", "", int64(7), "True", int64(1), "10d", "10d"}},
		{"discoverybackends", &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
			"Name Ready Type Status Available Discovered Services Drained Errors Last Sync Age", []any{"empty", "", "", "", "", "", nil, "", int64(0), "", "10d"}},
	} {
		forEach(t, func(t *testing.T, kind served) {
			if kind.resource != tc.resource {
				return
			}
			tc.object.SetCreationTimestamp(tenDays())
			tc.object.SetResourceVersion("5")
			status := kind.endpoints[kind.resource+"/status"].(*registry.StatusREST)
			for name, convert := range map[string]func(context.Context, runtime.Object, runtime.Object) (*metav1.Table, error){
				"object": kind.store.ConvertToTable, "status": status.ConvertToTable,
			} {
				table, err := convert(t.Context(), tc.object, &metav1.TableOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if got := header(table); got != tc.header {
					t.Errorf("%s: header %q, want %q", name, got, tc.header)
				}
				if table.ResourceVersion != "5" || len(table.Rows) != 1 {
					t.Fatalf("%s: resource version %s, %d rows", name, table.ResourceVersion, len(table.Rows))
				}
				row := table.DeepCopy().Rows[0] // panics on what is no JSON value
				if diff := cmp.Diff(tc.cells, row.Cells); diff != "" {
					t.Errorf("%s: cells (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(runtime.Object(tc.object), row.Object.Object); diff != "" {
					t.Errorf("%s: the object of the row (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// Every cell has the type that its column announces, and every column reports what it is.
func TestColumns(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		table, err := kind.store.ConvertToTable(t.Context(), kind.stored(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(table.ColumnDefinitions) != len(table.Rows[0].Cells) {
			t.Fatalf("%d columns, %d cells", len(table.ColumnDefinitions), len(table.Rows[0].Cells))
		}
		for i, column := range table.ColumnDefinitions {
			if !strings.HasSuffix(strings.TrimSpace(column.Description), ".") && column.Name != "Name" && column.Name != "Age" {
				t.Errorf("%s: the description %q is no sentence", column.Name, column.Description)
			}
			if column.Description == "" {
				t.Errorf("%s has no description", column.Name)
			}
			switch cell := table.Rows[0].Cells[i].(type) {
			case nil:
			case string:
				if column.Type != "string" {
					t.Errorf("%s: a string in a column of type %s", column.Name, column.Type)
				}
			case int64:
				if column.Type != "integer" {
					t.Errorf("%s: a number in a column of type %s", column.Name, column.Type)
				}
			default:
				t.Errorf("%s: a %T", column.Name, cell)
			}
		}
		if name := table.ColumnDefinitions[0]; name.Name != "Name" || name.Format != "name" {
			t.Errorf("the first column is %s of format %q: kubectl -o name needs the name there", name.Name, name.Format)
		}
	})
}

func TestTableOfAList(t *testing.T) {
	list := &gardenerv1beta1.ProjectList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: new(int64(3))},
		Items:    []gardenerv1beta1.Project{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
	}
	projects := kinds(t)[0]
	table, err := projects.store.ConvertToTable(t.Context(), list, &metav1.TableOptions{NoHeaders: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list.ListMeta, table.ListMeta); diff != "" {
		t.Errorf("list metadata (-want +got):\n%s", diff)
	}
	if len(table.ColumnDefinitions) != 0 {
		t.Errorf("headers %v, and none were wanted", table.ColumnDefinitions)
	}
	for i, name := range []string{"a", "b"} {
		if len(table.Rows) != 2 || table.Rows[i].Cells[0] != name || table.Rows[i].Object.Object != runtime.Object(&list.Items[i]) {
			t.Fatalf("rows %+v", table.Rows)
		}
		if age := table.Rows[i].Cells[len(table.Rows[i].Cells)-1]; age != "<unknown>" {
			t.Errorf("age without a creation time: %v", age)
		}
	}
}

// kubectl and dashboards iterate over the rows: no rows must be an empty list, not null.
func TestEmptyTable(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		table, err := kind.store.ConvertToTable(t.Context(), kind.list, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), `"rows":[]`) || len(table.ColumnDefinitions) == 0 {
			t.Errorf("got %s", data)
		}
	})
}
