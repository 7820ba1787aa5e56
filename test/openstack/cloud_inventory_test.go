// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// inventory is what a user sees in the cloud: the object behind each "collection id".
type inventory map[string]string

// Collections of all services, as an administrator lists those of all projects, each behind its path.
var collections = map[string]string{
	"identity/projects": "projects", "identity/users": "users", "identity/regions": "regions", "identity/endpoints": "endpoints",
	"network/v2.0/networks": "networks", "network/v2.0/subnets": "subnets", "network/v2.0/routers": "routers", "network/v2.0/ports": "ports",
	"network/v2.0/trunks": "trunks", "network/v2.0/floatingips": "floatingips", "network/v2.0/security-groups": "security_groups",
	"block-storage/volumes/detail?all_tenants=1": "volumes", "block-storage/snapshots/detail?all_tenants=1": "snapshots",
	"load-balancer/v2/lbaas/loadbalancers": "loadbalancers", "load-balancer/v2/lbaas/listeners": "listeners",
	"load-balancer/v2/lbaas/pools": "pools", "load-balancer/v2/lbaas/healthmonitors": "healthmonitors",
	"compute/servers/detail?all_tenants=1": "servers",
}

// list lists collections.
func (a *api) list(collections map[string]string) inventory {
	a.t.Helper()
	found := inventory{}
	for path, key := range collections {
		got := a.call(http.MethodGet, path, nil)
		objects, ok := got.body[key].([]any)
		if got.status != http.StatusOK || !ok {
			a.t.Fatalf("GET %s: %d %s", path, got.status, got.text)
		}
		if links, _ := got.body[key+"_links"].([]any); len(links) > 0 {
			a.t.Fatalf("GET %s: the response is not the complete list", path)
		}
		for _, object := range objects {
			text, err := json.Marshal(object)
			if err != nil {
				a.t.Fatal(err)
			}
			found[fmt.Sprintf("%s %v", key, object.(map[string]any)["id"])] = string(text)
		}
	}
	return found
}

// The leftover objects are those that exist now and did not exist before. Neutron creates a security group "default" for each
// project that a request names: the group belongs to the project, and is left over only when the project has been deleted.
func (before inventory) leftovers(now inventory) []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if _, known := before[id]; !known && !now.isDefaultGroup(id) {
			all = append(all, id+": "+now[id])
		}
	}
	return all
}

func (now inventory) isDefaultGroup(id string) bool {
	var group struct {
		Name    string `json:"name"`
		Project string `json:"project_id"`
	}
	if !strings.HasPrefix(id, "security_groups ") || json.Unmarshal([]byte(now[id]), &group) != nil || group.Name != "default" {
		return false
	}
	_, there := now["projects "+group.Project]
	return there
}

// outside is the test of what runs before and after all tests: a failure ends the process.
type outside struct{ testing.TB }

func (outside) Helper() {}

func (outside) Fatalf(format string, args ...any) {
	fmt.Printf("FAIL: "+format+"\n", args...)
	os.Exit(1)
}

func (o outside) Fatal(args ...any) { o.Fatalf("%s", fmt.Sprint(args...)) }

// runBetweenInventories runs all tests, and fails if the cloud then contains an object that it did not contain before them: each
// object that the tests created must have been deleted, or listed as left over and then deleted by the test (see craft.sweep).
func runBetweenInventories(run func() int) int {
	before := realUser(outside{}, "admin").list(collections)
	code := run()
	var left []string
	after := realUser(outside{}, "admin")
	// Cinder and Octavia delete asynchronously, after they have responded.
	comesToHold(2*time.Second, func() bool {
		left = before.leftovers(after.list(collections))
		return len(left) == 0
	})
	fmt.Printf("inventory: %d objects before the tests, %d of them swept as left over or retained, %d not accounted for\n", len(before), swept.Load(), len(left))
	for _, object := range left {
		fmt.Println("FAIL: the tests left behind", object)
	}
	if len(left) > 0 {
		return max(code, 1)
	}
	return code
}

// TestInventoryFindsLeftovers checks that the inventory has a volume that a test leaves behind, and the group of a deleted project.
func TestInventoryFindsLeftovers(t *testing.T) {
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	s.AddUser("demo", "testbed", "demo")
	a := &api{t: t, authURL: s.AuthURL(), user: "demo", password: "testbed", project: "demo"}
	a.login()
	some := map[string]string{"block-storage/volumes/detail": "volumes", "network/v2.0/security-groups": "security_groups"}
	before := a.list(some)
	if left := before.leftovers(a.list(some)); len(left) != 0 {
		t.Errorf("nothing was made, and %q is left", left)
	}
	id := a.must(http.MethodPost, "block-storage/volumes", wrap("volume", "size", 1))["id"].(string)
	if left := before.leftovers(a.list(some)); len(left) != 1 || !strings.HasPrefix(left[0], "volumes "+id) {
		t.Errorf("left: %q, want volume %s", left, id)
	}
	group := inventory{"security_groups 1": `{"name":"default","project_id":"p"}`}
	if left := (inventory{}).leftovers(group); len(left) != 1 {
		t.Errorf("left: %q, want the group of a deleted project", left)
	}
	group["projects p"] = "{}"
	if left := (inventory{"projects p": ""}).leftovers(group); len(left) != 0 {
		t.Errorf("left: %q, want nothing: the group is that of a project", left)
	}
}
