// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
)

// newProject returns the user of a dedicated project in the testbed, for one test. Without roles it is a member who may use load
// balancers, as the user of a cluster is.
func newProject(t *testing.T, roles ...string) *api {
	t.Helper()
	if len(roles) == 0 {
		roles = []string{"member", "load-balancer_member"}
	}
	admin := realUser(t, "admin")
	a := &api{t: t, authURL: admin.authURL, user: fmt.Sprintf("test-%08x", rand.Uint32()), password: admin.password}
	a.project = a.user
	project := admin.must(http.MethodPost, "identity/projects", wrap("project", "name", a.project, "domain_id", "default"))["id"].(string)
	t.Cleanup(func() {
		// Neutron does not delete with a project the group default that it made for it.
		groups := admin.call(http.MethodGet, "network/v2.0/security-groups?name=default&project_id="+project, nil).body["security_groups"]
		for _, group := range groups.([]any) {
			admin.call(http.MethodDelete, "network/v2.0/security-groups/"+group.(map[string]any)["id"].(string), nil)
		}
		admin.must(http.MethodDelete, "identity/projects/"+project, nil)
	})
	user := admin.must(http.MethodPost, "identity/users", wrap("user", "name", a.user, "domain_id", "default", "password", a.password))["id"].(string)
	t.Cleanup(func() { admin.must(http.MethodDelete, "identity/users/"+user, nil) })
	for _, name := range roles {
		for _, role := range admin.call(http.MethodGet, "identity/roles?name="+name, nil).body["roles"].([]any) {
			admin.must(http.MethodPut, fmt.Sprintf("identity/projects/%s/users/%s/roles/%s", project, user, role.(map[string]any)["id"]), nil)
		}
	}
	a.login()
	return a
}
