// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	applyv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// testModes creates the same random Projects where roles decide and where the members do, and compares what users are allowed to do,
// while the Projects are Ready and while they are Terminating.
func (p *membershipPlane) testModes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range rounds(t, 4) {
		spec := randomMembers(random)
		byMembers := p.create(t, "mode-", spec)
		byRoles := newProject(t, "mode-", spec.Members...)
		ready(t, byRoles)
		p.compareModes(t, byMembers, byRoles)
		free := []func(){terminating(t, p.client, byMembers), terminating(t, admin(t), byRoles)}
		p.compareModes(t, byMembers, byRoles)
		for _, do := range free {
			do()
		}
	}
}

// modeUsers returns the users whose permissions are compared. One group has the name of a user.
func modeUsers() []identity {
	return []identity{
		{name: "m-anna"}, {name: "m-ben", groups: []string{"m-staff"}}, {name: "m-cleo", groups: []string{"m-anna", "m-staff"}},
		{name: "system:serviceaccount:m-ci:robot", groups: []string{"system:serviceaccounts"}}, {name: "m-zoe"}, {name: "olivia"},
	}
}

// randomMembers returns a Project with random members and an owner.
func randomMembers(random *rand.Rand) gardenerv1beta1.ProjectSpec {
	kinds := [][2]string{{"User", "m-anna"}, {"User", "m-ben"}, {"Group", "m-staff"}, {"Group", "m-anna"}, {"ServiceAccount", "m-ci/robot"}}
	roles := []string{"admin", "uam", "viewer", "serviceaccountmanager", "extension:deploy"}
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
	return spec
}

// compareModes sends the same requests for two Projects, and compares which are allowed.
func (p *membershipPlane) compareModes(t *testing.T, byMembers, byRoles *gardenerv1beta1.Project) {
	t.Helper()
	for _, who := range modeUsers() {
		mine, theirs := impersonating(t, p.Config(), who), as(t, who.name, who.groups...)
		for what, do := range projectRequests() {
			// The roles of a new Project take some time to be known to every kube-apiserver.
			eventually(t, func(ctx context.Context) error {
				got, want := verdict(do(byMembers)(ctx, mine), byMembers), verdict(do(byRoles)(ctx, theirs), byRoles)
				if got != want {
					return fmt.Errorf("%s may %s: %s by membership, %s by roles; phase %s, members %+v",
						who.name, what, got, want, byMembers.Status.Phase, byMembers.Spec.Members)
				}
				return nil
			})
		}
	}
}

// terminating deletes a Project with a Kluster in its namespace, and waits until it is Terminating. The returned function deletes the
// Kluster, so that the deletion of the Project can continue.
func terminating(t *testing.T, c client.WithWatch, project *gardenerv1beta1.Project) (free func()) {
	t.Helper()
	occupant := &kubernikusv1.Kluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "occupant", Finalizers: []string{"example.com/hold"}},
		Spec:       kubernikusv1.KlusterSpec{Name: "short", Version: "1.36.3"},
	}
	if err := errors.Join(c.Create(t.Context(), occupant), remove(t.Context(), c, project)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		if project.Status.Phase != gardenerv1beta1.ProjectTerminating {
			return fmt.Errorf("project %s is %s", project.Name, project.Status.Phase)
		}
		return nil
	})
	return func() {
		t.Helper()
		none := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := errors.Join(remove(t.Context(), c, occupant), client.IgnoreNotFound(c.Patch(t.Context(), occupant, none))); err != nil {
			t.Fatal(err)
		}
	}
}

// verdict reports whether a request for a Project was allowed, or its other error.
func verdict(err error, of *gardenerv1beta1.Project) string {
	switch {
	case err == nil || isUnconfirmed(err):
		return "yes"
	case apierrors.IsForbidden(err):
		return "no"
	default:
		return strings.ReplaceAll(err.Error(), of.Name, "PROJECT")
	}
}

// isUnconfirmed reports whether admission, which comes after the authorization, requires the confirmation of a deletion.
func isUnconfirmed(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "confirmation.gardener.cloud/deletion")
}

// annotated returns a request that changes an annotation, for which admission requires a verb.
func annotated(annotation string) func(*gardenerv1beta1.Project) request {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"m-test"}}}`, annotation))
	return func(p *gardenerv1beta1.Project) request {
		return func(ctx context.Context, c client.WithWatch) error {
			return c.Patch(ctx, copyOf(p), patch, client.DryRunAll)
		}
	}
}

// projectRequests are requests for one Project.
func projectRequests() map[string]func(*gardenerv1beta1.Project) request {
	of := func(to func(client.Object) request) func(*gardenerv1beta1.Project) request {
		return func(p *gardenerv1beta1.Project) request { return to(p) }
	}
	return map[string]func(*gardenerv1beta1.Project) request{
		"get": of(toGet), "update": of(toUpdate), "patch": of(toPatch), "delete": of(toDelete), "patch the status": of(toPatchStatus),
		"apply": func(p *gardenerv1beta1.Project) request {
			return func(ctx context.Context, c client.WithWatch) error {
				applied := applyv1beta1.Project(p.Name).WithSpec(applyv1beta1.ProjectSpec().WithDescription("applied"))
				return c.Apply(ctx, applied, client.DryRunAll, client.FieldOwner("m-test"))
			}
		},
		"apply one that does not exist": func(p *gardenerv1beta1.Project) request {
			return func(ctx context.Context, c client.WithWatch) error {
				applied := applyv1beta1.Project(p.Name + "-y").WithSpec(applyv1beta1.ProjectSpec().WithDescription("applied"))
				return c.Apply(ctx, applied, client.DryRunAll, client.FieldOwner("m-test"))
			}
		},
		"get the status": func(p *gardenerv1beta1.Project) request {
			return func(ctx context.Context, c client.WithWatch) error {
				return c.SubResource("status").Get(ctx, p.DeepCopy(), p.DeepCopy())
			}
		},
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
		"tolerate taints": func(p *gardenerv1beta1.Project) request {
			next := p.DeepCopy()
			next.ResourceVersion = ""
			next.Spec.Tolerations = &gardenerv1beta1.ProjectTolerations{Whitelist: []gardenerv1beta1.Toleration{{Key: "m-test"}}}
			return func(ctx context.Context, c client.WithWatch) error {
				return c.Update(ctx, next.DeepCopy(), client.DryRunAll)
			}
		},
		"pause it":   annotated(kit.AnnotationPaused),
		"detach it":  annotated(kubernikusv1.DetachAnnotation),
		"protect it": annotated(kubernikusv1.TerminationProtectionAnnotation),
		"get the namespace": func(p *gardenerv1beta1.Project) request {
			return toGet(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.NamespaceName()}})
		},
	}
}
