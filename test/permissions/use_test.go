// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	manager = "system:serviceaccount:groundskeeper-system:groundskeeper-controller-manager"
	another = "system:serviceaccount:groundskeeper-system:another"
	copier  = "system:serviceaccount:shop:us-discoverer"
)

const manifests = `# Header.

# What it is allowed to do.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: main}
rules:
# It keeps them.
- apiGroups: ["", apps]
  resources: [pods]
  verbs: [get, list] # list: all of them
- apiGroups: [apps]
  resources: [deployments/scale]
  resourceNames: [a, b]
  verbs: [update]
- nonResourceURLs: [/metrics]
  verbs: [get]
- apiGroups: [apps]
  resources: [daemonsets]
  verbs: [create, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: main}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: main}
subjects:
- {kind: ServiceAccount, name: groundskeeper-controller-manager, namespace: groundskeeper-system}
- {kind: ServiceAccount, name: another, namespace: groundskeeper-system}
---
# More of it.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: more, namespace: groundskeeper-system}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: more, namespace: groundskeeper-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: more}
subjects:
- {kind: ServiceAccount, name: groundskeeper-controller-manager, namespace: groundskeeper-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects:
- {kind: ServiceAccount, name: groundskeeper-controller-manager, namespace: groundskeeper-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: groundskeeper-discoverer-backend}
rules:
- apiGroups: [""]
  resources: [services]
  verbs: [delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "gardener.cloud:admin"}
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: ["*"]
`

// artifacts makes a directory with these manifests, and with a list of patches as kustomizations have it.
func artifacts(t *testing.T, text string) *Roles {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"roles.yaml": text, "patch.yaml": "- op: remove\n  path: /spec\n", "README.md": "kind: Role"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// by returns the reason for which RBAC allows something.
func by(kind, binding, role string) string {
	return fmt.Sprintf(`RBAC: allowed by %sBinding \"%s\" of %s \"%s\" to ServiceAccount \"x/y\"`, kind, binding, kind, role)
}

func line(user, verb, uri, reason string) string {
	decision := "allow"
	if reason == "" {
		decision = "forbid"
	}
	return fmt.Sprintf(`{"verb":%q,"requestURI":%q,"user":{"username":%q},"annotations":{"authorization.k8s.io/decision":%q,"authorization.k8s.io/reason":"%s"}}`,
		verb, uri, user, decision, reason) + "\n"
}

// created returns a line with the response that something was created.
func created(line string) string {
	return strings.Replace(line, "{", `{"responseStatus":{"code":201},`, 1)
}

// wrote returns the line of an administrator who wrote a role: the one of it that the cluster has.
func wrote(resource, name string) string {
	return fmt.Sprintf(`{"verb":"patch","requestURI":"/x","user":{"username":"admin"},"objectRef":{"resource":%q,"name":%q}}`, resource, name) + "\n"
}

func TestUnneeded(t *testing.T) {
	const nothing = `roles.yaml: ClusterRole main, rule 0: get pods
roles.yaml: ClusterRole main, rule 0: get pods.apps
roles.yaml: ClusterRole main, rule 0: list pods
roles.yaml: ClusterRole main, rule 0: list pods.apps
roles.yaml: ClusterRole main, rule 1: update deployments/scale.apps a
roles.yaml: ClusterRole main, rule 1: update deployments/scale.apps b
roles.yaml: ClusterRole main, rule 2: get /metrics
roles.yaml: ClusterRole main, rule 3: create daemonsets.apps
roles.yaml: ClusterRole main, rule 3: patch daemonsets.apps
roles.yaml: ClusterRoleBinding main: ` + manager + `
roles.yaml: ClusterRoleBinding main: ` + another + `
roles.yaml: Role more, rule 0: get pods
roles.yaml: RoleBinding more: ` + manager + `
roles.yaml: ClusterRole groundskeeper-discoverer-backend, rule 0: delete services
roles.yaml: RoleBinding reader: ` + manager
	main, more := by("ClusterRole", "main", "main"), by("Role", "more/groundskeeper-system", "more")
	first := "roles.yaml: ClusterRoleBinding main: " + manager
	for name, test := range map[string]struct {
		log string
		// needed are the lines of nothing that are missing.
		needed []string
	}{
		"nothing":               {"", nil},
		"one right":             {line(manager, "list", "/api/v1/pods?limit=5", main), []string{"roles.yaml: ClusterRole main, rule 0: list pods", first}},
		"its group":             {line(manager, "get", "/apis/apps/v1/namespaces/x/pods/y", main), []string{"roles.yaml: ClusterRole main, rule 0: get pods.apps", first}},
		"its name":              {line(manager, "update", "/apis/apps/v1/namespaces/x/deployments/b/scale", main), []string{"roles.yaml: ClusterRole main, rule 1: update deployments/scale.apps b", first}},
		"its path":              {line(manager, "get", "/metrics", main), []string{"roles.yaml: ClusterRole main, rule 2: get /metrics", first}},
		"other users":           {line(another, "list", "/api/v1/pods", main), []string{"roles.yaml: ClusterRole main, rule 0: list pods", "roles.yaml: ClusterRoleBinding main: " + another}},
		"another client's role": {line("eve", "list", "/api/v1/pods", by("ClusterRole", "view", "view")), nil},
		"two roles allow it":    {line(manager, "get", "/api/v1/namespaces/groundskeeper-system/pods/x", main), nil},
		"one of two is there": {wrote("roles", "more") + line(manager, "get", "/api/v1/namespaces/groundskeeper-system/pods/x", more),
			[]string{"roles.yaml: Role more, rule 0: get pods", "roles.yaml: RoleBinding more: " + manager}},
		"one of two comes later": {wrote("clusterroles", "main") + line(manager, "get", "/api/v1/namespaces/groundskeeper-system/pods/x", main) + wrote("roles", "more"),
			[]string{"roles.yaml: ClusterRole main, rule 0: get pods", first}},
		"one of two is for it": {line(another, "get", "/api/v1/namespaces/x/pods/x", main),
			[]string{"roles.yaml: ClusterRole main, rule 0: get pods", "roles.yaml: ClusterRoleBinding main: " + another}},
		"a patch that creates": {created(line(another, "patch", "/apis/apps/v1/namespaces/x/daemonsets/b", main)), []string{
			"roles.yaml: ClusterRole main, rule 3: patch daemonsets.apps", "roles.yaml: ClusterRole main, rule 3: create daemonsets.apps", "roles.yaml: ClusterRoleBinding main: " + another}},
		"a patch that changes": {line(another, "patch", "/apis/apps/v1/namespaces/x/daemonsets/b", main),
			[]string{"roles.yaml: ClusterRole main, rule 3: patch daemonsets.apps", "roles.yaml: ClusterRoleBinding main: " + another}},
		"a creation": {created(line(another, "create", "/apis/apps/v1/namespaces/x/daemonsets", main)),
			[]string{"roles.yaml: ClusterRole main, rule 3: create daemonsets.apps", "roles.yaml: ClusterRoleBinding main: " + another}},
		"a role of Kubernetes": {line(manager, "get", "/api/v1/namespaces/kube-system/configmaps/x", by("Role", "reader/kube-system", "extension-apiserver-authentication-reader")),
			[]string{"roles.yaml: RoleBinding reader: " + manager}},
		"a discoverer": {line(copier, "delete", "/api/v1/namespaces/shop/services/x", by("ClusterRole", "us", "groundskeeper-discoverer-backend")),
			[]string{"roles.yaml: ClusterRole groundskeeper-discoverer-backend, rule 0: delete services"}},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := NewUse(artifacts(t, manifests))
			if err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(log, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := u.Read(log); err != nil {
				t.Fatal(err)
			}
			var want []string
			for entry := range strings.SplitSeq(nothing, "\n") {
				if !slices.Contains(test.needed, entry) {
					want = append(want, entry)
				}
			}
			if diff := cmp.Diff(want, u.Unneeded(func(Right) bool { return false })); diff != "" {
				t.Errorf("unneeded (-want +got):\n%s", diff)
			}
		})
	}
}

// A permission that a dedicated test proves is not listed.
func TestProvedOtherwise(t *testing.T) {
	u, err := NewUse(artifacts(t, manifests))
	if err != nil {
		t.Fatal(err)
	}
	proved := func(r Right) bool { return r.Verb == "update" }
	if text := strings.Join(u.Unneeded(proved), "\n"); strings.Contains(text, "update") || !strings.Contains(text, "list pods") {
		t.Error(text)
	}
}

// TestRoleIsAnotherOnTheCluster checks that this package interprets roles like kube-apiserver.
func TestRoleIsAnotherOnTheCluster(t *testing.T) {
	u, err := NewUse(artifacts(t, manifests))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(line(manager, "delete", "/api/v1/namespaces/x/pods/y", by("ClusterRole", "main", "main"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := u.Read(log); err == nil || !strings.Contains(err.Error(), "ClusterRole main in artifacts/ does not allow "+manager+" to delete /api/v1/namespaces/x/pods/y") {
		t.Errorf("got %v", err)
	}
}

func TestDenials(t *testing.T) {
	u, err := NewUse(artifacts(t, manifests))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	starting := line(another, "list", "/api/v1/pods", "") // its role allows it
	text := wrote("clusterroles", "main") + starting + line("eve", "list", "/api/v1/nodes", "") + strings.Repeat(line(another, "list", "/api/v1/nodes", ""), 2) +
		line(manager, "get", "/metrics", "") + line(copier, "delete", "/api/v1/namespaces/x/services/y", "")
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "permissions are missing in artifacts/:\n" + another + " may not list /api/v1/nodes ()\n" + copier + " may not delete /api/v1/namespaces/x/services/y ()"
	if err := u.Read(log); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestWildcards(t *testing.T) {
	for _, rule := range []string{
		`{apiGroups: [""], resources: ["*"], verbs: [get]}`, `{apiGroups: [""], resources: [pods], verbs: ["*"]}`,
		`{apiGroups: ["*"], resources: [pods], verbs: [get]}`, `{nonResourceURLs: ["/metrics/*"], verbs: [get]}`, `{apiGroups: [""], resources: ["*/scale"], verbs: [get]}`,
	} {
		_, err := NewUse(artifacts(t, "kind: Role\nmetadata: {name: groundskeeper-discoverer-wide}\nrules:\n- "+rule+"\n"))
		if err == nil || !strings.Contains(err.Error(), "Role groundskeeper-discoverer-wide, rule 0: it has a wildcard") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestWhy(t *testing.T) {
	all := artifacts(t, manifests)
	role := all.Roles[0]
	if role.Why != "What it is allowed to do." || role.Rules[0].Why != "It keeps them. list: all of them" || role.Rules[1].Why != "" || all.Roles[1].Why != "More of it." {
		t.Errorf("%+v", all.Roles)
	}
}
