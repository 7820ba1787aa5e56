// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// membershipPlane is a plane whose API servers decide about Projects by their members.
type membershipPlane struct {
	*plane.Plane
	client client.WithWatch
}

// identity is a user with groups.
type identity struct {
	name   string
	groups []string
}

func impersonating(t *testing.T, config *rest.Config, who identity) client.WithWatch {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: who.name, Groups: append(slices.Clone(who.groups), "system:authenticated")}
	return clientOf(t, config)
}

// TestProjectMembership checks that the members of a Project have the same permissions in both modes, and see no other Projects.
func TestProjectMembership(t *testing.T) {
	t.Parallel()
	p := &membershipPlane{Plane: startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 2, Managers: 1, SharedEtcd: true,
		APIServerFlags: []string{"--project-authorization=membership"},
		ManagerConfig: write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
			"controllers: {project: {authorization: membership}}\n"),
	})}
	p.client = clientOf(t, p.Config())
	applied(t, p.client, artifact("membership", "access.yaml"))
	t.Run("both modes", p.testModes)
	t.Run("list and watch", p.testListAndWatch)
	t.Run("revocation", p.testRevocation)
	t.Run("nothing of the cluster", p.testNothingClusterScoped)
}

// create creates a Project, and waits until it is ready.
func (p *membershipPlane) create(t *testing.T, prefix string, spec gardenerv1beta1.ProjectSpec) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix)}, Spec: *spec.DeepCopy()}
	if err := p.client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return isReady(ctx, p.client, project) })
	return project
}

// testModes creates the same random Projects where roles decide and where the members do, and compares what users are allowed to do.
func (p *membershipPlane) testModes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	users := []identity{
		{name: "m-anna"}, {name: "m-ben", groups: []string{"m-staff"}}, {name: "m-cleo", groups: []string{"m-staff", "m-anna"}},
		{name: "system:serviceaccount:m-ci:robot", groups: []string{"system:serviceaccounts"}}, {name: "m-zoe"},
	}
	kinds := [][2]string{{"User", "m-anna"}, {"User", "m-ben"}, {"Group", "m-staff"}, {"Group", "m-anna"}, {"ServiceAccount", "m-ci/robot"}}
	roles := []string{"admin", "uam", "viewer", "serviceaccountmanager", "extension:deploy"}
	for range rounds(t, 4) {
		spec := gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}}
		for _, i := range random.Perm(len(kinds))[:random.IntN(4)] {
			spec.Members = append(spec.Members, member(kinds[i][0], kinds[i][1], roles[random.IntN(len(roles))], roles[random.IntN(len(roles))]))
		}
		if random.IntN(2) == 0 {
			owner := kinds[random.IntN(len(kinds))]
			spec.Members[0] = member(owner[0], owner[1], "owner")
			spec.Members = slices.DeleteFunc(spec.Members, func(m gardenerv1beta1.ProjectMember) bool {
				return gardenerv1beta1.SameSubject(m.Subject, spec.Members[0].Subject) && !m.HasRole("owner")
			})
		}
		byMembers := p.create(t, "mode-", spec)
		byRoles := newProject(t, "mode-", spec.Members...)
		ready(t, byRoles)
		for _, who := range append(users, identity{name: "olivia"}) {
			for what, do := range projectRequests() {
				mine, theirs := impersonating(t, p.Config(), who), as(t, who.name, who.groups...)
				// The roles of a new Project take some time to be known to every kube-apiserver.
				eventually(t, func(ctx context.Context) error {
					got, want := verdict(do(byMembers)(ctx, mine)), verdict(do(byRoles)(ctx, theirs))
					if got != want {
						return fmt.Errorf("%s may %s: %s by membership, %s by roles; members %+v", who.name, what, got, want, byMembers.Spec.Members)
					}
					return nil
				})
			}
		}
	}
}

// verdict is whether a request was allowed, or its other error.
func verdict(err error) string {
	switch {
	case err == nil || isUnconfirmed(err):
		return "yes"
	case apierrors.IsForbidden(err):
		return "no"
	default:
		return err.Error()
	}
}

// isUnconfirmed reports whether admission, which comes after the authorization, requires the confirmation of a deletion.
func isUnconfirmed(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "confirmation.gardener.cloud/deletion")
}

// projectRequests are requests for one Project.
func projectRequests() map[string]func(*gardenerv1beta1.Project) request {
	of := func(to func(client.Object) request) func(*gardenerv1beta1.Project) request {
		return func(p *gardenerv1beta1.Project) request { return to(p) }
	}
	return map[string]func(*gardenerv1beta1.Project) request{
		"get": of(toGet), "update": of(toUpdate), "patch": of(toPatch), "delete": of(toDelete), "patch the status": of(toPatchStatus),
		"get one that does not exist": func(p *gardenerv1beta1.Project) request {
			return toGet(&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: p.Name + "-x"}})
		},
		"manage the members": func(p *gardenerv1beta1.Project) request {
			next := p.DeepCopy()
			next.ResourceVersion = ""
			next.Spec.Members = append(next.Spec.Members, member("User", "m-new", "viewer"))
			return func(ctx context.Context, c client.WithWatch) error {
				return c.Update(ctx, next.DeepCopy(), client.DryRunAll)
			}
		},
		"remove its finalizer": func(p *gardenerv1beta1.Project) request {
			next := p.DeepCopy()
			next.ResourceVersion, next.Finalizers = "", nil
			return func(ctx context.Context, c client.WithWatch) error {
				return c.Update(ctx, next.DeepCopy(), client.DryRunAll)
			}
		},
		"delete all": func(*gardenerv1beta1.Project) request {
			return func(ctx context.Context, c client.WithWatch) error {
				return c.DeleteAllOf(ctx, &gardenerv1beta1.Project{}, client.DryRunAll)
			}
		},
		"get the namespace": func(p *gardenerv1beta1.Project) request {
			return toGet(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.NamespaceName()}})
		},
	}
}

// testListAndWatch lists and watches what a user may get.
func (p *membershipPlane) testListAndWatch(t *testing.T) {
	mine := p.create(t, "list-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "lea")}})
	theirs := p.create(t, "list-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}})
	lea := impersonating(t, p.Config(), identity{name: "lea"})
	list := &gardenerv1beta1.ProjectList{}
	if err := lea.List(t.Context(), list); err != nil || len(list.Items) != 1 || list.Items[0].Name != mine.Name {
		t.Errorf("lea lists %+v, %v", list.Items, err)
	}
	none := &gardenerv1beta1.ProjectList{}
	if err := impersonating(t, p.Config(), identity{name: "nina"}).List(t.Context(), none, client.Limit(1)); err != nil || len(none.Items) > 0 || none.Continue != "" {
		t.Errorf("nina lists %+v, %v", none, err)
	}
	whole := &gardenerv1beta1.ProjectList{}
	if err := p.client.List(t.Context(), whole); err != nil || len(whole.Items) < 2 {
		t.Errorf("an administrator lists %d, %v", len(whole.Items), err)
	}
	events, err := lea.Watch(t.Context(), &gardenerv1beta1.ProjectList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for _, members := range [][]gardenerv1beta1.ProjectMember{{olivia(), member("User", "lea", "uam")}, {olivia()}} {
		eventually(t, func(ctx context.Context) error {
			if err := p.client.Get(ctx, client.ObjectKeyFromObject(theirs), theirs); err != nil {
				return err
			}
			theirs.Spec.Members = members
			return p.client.Update(ctx, theirs)
		})
	}
	var seen []watch.EventType
	for event := range events.ResultChan() {
		if project, ok := event.Object.(*gardenerv1beta1.Project); !ok || project.Name != theirs.Name {
			continue
		}
		if seen = append(seen, event.Type); event.Type == watch.Deleted {
			break
		}
	}
	if len(seen) < 2 || seen[0] != watch.Added || seen[len(seen)-1] != watch.Deleted {
		t.Errorf("lea sees %q of the other project", seen)
	}
}

// testRevocation removes a member, who is allowed nothing more at any server.
func (p *membershipPlane) testRevocation(t *testing.T) {
	project := p.create(t, "revoked-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "rita", "admin")}})
	var servers []client.WithWatch
	for i := range p.APIServers {
		servers = append(servers, impersonating(t, p.DirectConfig(i), identity{name: "rita"}))
	}
	for _, server := range servers {
		eventually(t, func(ctx context.Context) error { return toPatch(project)(ctx, server) })
	}
	eventually(t, func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		project.Spec.Members = project.Spec.Members[:1]
		return p.client.Update(ctx, project)
	})
	start := time.Now()
	for i, server := range servers {
		eventually(t, func(ctx context.Context) error {
			for what, err := range map[string]error{"get": toGet(project)(ctx, server), "patch": toPatch(project)(ctx, server)} {
				if !apierrors.IsForbidden(err) {
					return fmt.Errorf("server %d: %s: %w", i, what, err)
				}
			}
			return nil
		})
	}
	t.Logf("revoked at %d servers after %s", len(servers), time.Since(start))
}

// testNothingClusterScoped finds no ClusterRole and no ClusterRoleBinding of a Project.
func (p *membershipPlane) testNothingClusterScoped(t *testing.T) {
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	for _, list := range []client.ObjectList{roles, bindings} {
		if err := p.client.List(t.Context(), list, client.HasLabels{gardenerv1beta1.LabelProjectName}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range roles.Items {
		if roles.Items[i].Labels[gardenerv1beta1.LabelProjectName] != "" {
			t.Errorf("ClusterRole %s", roles.Items[i].Name)
		}
	}
	for i := range bindings.Items {
		t.Errorf("ClusterRoleBinding %s", bindings.Items[i].Name)
	}
}
