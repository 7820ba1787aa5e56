// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

// gardener is a cluster with Projects and Shoots that are not owned by Groundskeeper, and an audit log.
type gardener struct {
	*plane.Plane
	c   client.WithWatch
	log string
}

func newGardener(t *testing.T) *gardener {
	t.Helper()
	g := &gardener{log: filepath.Join(t.TempDir(), "audit.log")}
	g.Plane = startPlane(t, plane.Options{Dir: t.TempDir(), KubeAPIServerFlags: []string{
		"--audit-policy-file=" + write(t, auditPolicy), "--audit-log-path=" + g.log}})
	g.c = clientOf(t, g.Config())
	applied(t, g.c, "testdata/project-crd.yaml", "testdata/gardener-crds.yaml")
	awaitServed(t, g.Plane)
	return g
}

// role returns a ClusterRole that Gardener installs, with a rule that Groundskeeper's has not.
func (g *gardener) role(t *testing.T) *rbacv1.ClusterRole {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:admin", Labels: map[string]string{"gardener.cloud/role": "admin"}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"seedmanagement.gardener.cloud"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}
	if err := g.c.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	return role
}

// install applies manifests, as kubectl apply does.
func (g *gardener) install(t *testing.T, all manifests) {
	t.Helper()
	for _, namespaces := range []bool{true, false} { // first
		for key, object := range all {
			if strings.HasPrefix(key, "Namespace ") != namespaces {
				continue
			}
			if err := g.c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.ForceOwnership); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
	}
}

// manage runs the controller manager of an installation, with its identity and its configuration, in which no time passes.
func (g *gardener) manage(t *testing.T, all manifests, flags ...string) *child {
	t.Helper()
	config := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(all.config(t)), &config); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"minimumLifetimeDays", "staleGracePeriodDays", "staleExpirationTimeDays", "staleNoticeDays"} {
		if err := unstructured.SetNestedField(config, int64(0), "controllers", "project", field); err != nil {
			t.Fatal(err)
		}
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "--config="+write(t, string(content)), "--kubeconfig="+g.account(t, audit.Manager), "--health-address=127.0.0.1:0")
	return start(t, t.Context(), manager, flags...)
}

// account returns the kubeconfig of one of Groundskeeper's ServiceAccounts.
func (g *gardener) account(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := g.KubeconfigFor(path, name, "system:serviceaccounts", audit.Accounts); err != nil {
		t.Fatal(err)
	}
	return path
}

// unobserved returns a Project with a dedicated namespace, as Gardener's controllers leave it, except for the mark without which
// Groundskeeper's controllers do not check it.
func (g *gardener) unobserved(t *testing.T, name string) *gardenerv1beta1.Project {
	t.Helper()
	space := "garden-" + name
	project := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{gardenerv1beta1.FinalizerName}},
		Spec:       gardenerv1beta1.ProjectSpec{Namespace: &space},
	}
	eventually(t, func(ctx context.Context) error { return g.c.Create(ctx, project) }) // the aggregator may be late
	if err := g.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: space, Labels: map[string]string{gardenerv1beta1.LabelRole: gardenerv1beta1.RoleProject, gardenerv1beta1.LabelProjectName: name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(project, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"))},
	}}); err != nil {
		t.Fatal(err)
	}
	return project
}

// observe marks the namespace of a Project as Gardener's controllers do.
func (g *gardener) observe(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	mark := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, gardenerv1beta1.AnnotationProjectUID, project.UID)
	if err := g.c.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType, mark)); err != nil {
		t.Fatal(err)
	}
}

// shoot makes a Shoot in the namespace of a Project.
func (g *gardener) shoot(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	shoot := &unstructured.Unstructured{}
	shoot.SetAPIVersion(gardenerCore)
	shoot.SetKind("Shoot")
	shoot.SetNamespace(project.NamespaceName())
	shoot.SetName("web")
	eventually(t, func(ctx context.Context) error { return g.c.Create(ctx, shoot) }) // the kind was just created
}

// until waits for the status of a Project.
func (g *gardener) until(t *testing.T, running *child, project *gardenerv1beta1.Project, is func(*gardenerv1beta1.Project) bool) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := g.c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		if is(project) {
			return nil
		}
		return fmt.Errorf("project %s, deleted at %v, is %+v; the manager logged: %s", project.Name, project.DeletionTimestamp, project.Status, running.stderr.last())
	})
}

func isDeleted(project *gardenerv1beta1.Project) bool {
	return project.DeletionTimestamp != nil && project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] == "true"
}

func isActive(project *gardenerv1beta1.Project) bool {
	return project.Status.LastActivityTimestamp != nil
}

// written returns the resources that Groundskeeper's processes wrote, by the audit log of all that they did with their permissions.
func (g *gardener) written(t *testing.T, users ...string) []string {
	t.Helper()
	if err := audit.CheckPermissions(g.log, users...); err != nil {
		t.Error(err)
	}
	var resources []string
	for event, err := range audit.Read(g.log) {
		if err != nil {
			t.Fatal(err)
		}
		if audit.IsGroundskeepers(event.User.Username) && event.Writes() {
			resources = append(resources, event.ObjectRef.Resource)
		}
	}
	slices.Sort(resources)
	return slices.Compact(resources)
}

// TestControllersOnly installs only the controllers, as documented, and checks that they manage Gardener's Projects and change
// nothing else of Gardener.
func TestControllersOnly(t *testing.T) {
	rare(t)
	t.Parallel()
	g := newGardener(t)
	role := g.role(t)
	installation := rendered(t, "install/controllers-only")
	g.install(t, installation)
	used, idle := g.unobserved(t, "used"), g.unobserved(t, "idle")
	g.shoot(t, used)
	g.observe(t, used)
	g.observe(t, idle)
	child := g.manage(t, installation)
	g.until(t, child, idle, isDeleted)
	g.until(t, child, used, isActive)
	if isDeleted(used) || used.Status.StaleSinceTimestamp != nil {
		t.Errorf("a project with a Shoot is marked: %+v", used.Status)
	}
	if got, want := g.written(t, audit.Manager), []string{"events", "leases", "projects"}; !slices.Equal(got, want) {
		t.Errorf("the controller manager writes %q, want %q", got, want)
	}
	g.untouched(t, role)
}

// untouched checks that a role of Gardener's is what it was.
func (g *gardener) untouched(t *testing.T, role *rbacv1.ClusterRole) {
	t.Helper()
	is := &rbacv1.ClusterRole{}
	if err := g.c.Get(t.Context(), client.ObjectKeyFromObject(role), is); err != nil {
		t.Fatal(err)
	}
	if is.ResourceVersion != role.ResourceVersion {
		t.Errorf("a role of Gardener's was changed: %v", is.Rules)
	}
}
