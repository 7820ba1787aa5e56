// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/claimcheck"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestSoakKilledProcessesConverge creates, changes and deletes Projects while Groundskeeper's processes are killed at random and
// restarted. It checks that all acknowledged writes are stored and that the final state is the desired one.
func TestSoakKilledProcessesConverge(t *testing.T) {
	rare(t)
	t.Parallel()
	p := startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, Managers: 1, ManagerConfig: write(t, managerConfig(2*time.Second)),
		APIServerFlags: []string{"--etcd-compaction-interval=0"}, // the history is needed for diagnosis
	})
	c := &chaos{Plane: p, client: clientOf(t, p.Config()), living: map[string]*gardenerv1beta1.Project{}, dead: map[string]*gardenerv1beta1.Project{}}
	for round := range rounds(t, 5) {
		victims := [][]*plane.Process{p.APIServers, p.Managers, {p.Managers[0], p.APIServers[0]}}[rand.IntN(3)]
		after := rand.Int64N(writesPerRound)
		t.Logf("round %d: after %d writes %d processes die, %s first", round, after, len(victims), victims[0].Name())
		c.round(t, victims, after)
	}
	c.converged(t)
	c.claimsAgree(t)
}

// chaos knows what should be: every write was repeated until a server confirmed it.
type chaos struct {
	*plane.Plane
	client client.WithWatch

	mu           sync.Mutex
	living, dead map[string]*gardenerv1beta1.Project
	confirmed    atomic.Int64
}

const (
	hands = 3
	// writesPerRound are those of the hands: each creates three Projects, changes two of them and deletes one.
	writesPerRound = hands * 6
	// settled is how many Projects of earlier rounds live on.
	settled = 10
)

// round writes with all hands, kills processes after a number of writes, and starts them again.
func (c *chaos) round(t *testing.T, victims []*plane.Process, after int64) {
	t.Helper()
	var work sync.WaitGroup
	for _, project := range c.surplus() { // objects that have settled are deleted, too
		work.Go(func() { c.delete(t, project) })
	}
	begin := c.confirmed.Load()
	for range hands {
		work.Go(func() {
			var mine []*gardenerv1beta1.Project
			for range 3 {
				mine = append(mine, c.create(t))
			}
			c.change(t, mine[0])
			c.delete(t, mine[1])
			c.change(t, mine[2])
		})
	}
	eventually(t, func(context.Context) error {
		if n := c.confirmed.Load() - begin; n < after {
			return fmt.Errorf("%d of %d writes were confirmed", n, after)
		}
		return nil
	})
	for _, victim := range victims {
		if err := victim.Kill(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, victim := range slices.Backward(victims) {
		if err := errors.Join(victim.Start(t.Context()), victim.Ready(t.Context())); err != nil {
			t.Error(err)
		}
	}
	work.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// surplus returns the living Projects beyond those that live on.
func (c *chaos) surplus() []*gardenerv1beta1.Project {
	c.mu.Lock()
	defer c.mu.Unlock()
	living := slices.Collect(maps.Values(c.living))
	return living[min(settled, len(living)):]
}

// confirm repeats a write until it is confirmed. A response that was lost leaves open what happened, so the write must be one that
// can be repeated.
func (c *chaos) confirm(t *testing.T, write func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = write(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Errorf("not confirmed: %v", last)
	}
	c.confirmed.Add(1)
}

func (c *chaos) create(t *testing.T) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{}
	wanted := name(t, "chaos")
	c.confirm(t, func(ctx context.Context) error {
		project = &gardenerv1beta1.Project{
			ObjectMeta: metav1.ObjectMeta{Name: wanted},
			Spec:       gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}},
		}
		err := c.client.Create(ctx, project)
		if apierrors.IsAlreadyExists(err) {
			return c.client.Get(ctx, client.ObjectKeyFromObject(project), project)
		}
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.living[project.Name] = project
	return project
}

// change gives the Project to another owner, and remembers to whom.
func (c *chaos) change(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	owner := name(t, "heir")
	subject := fmt.Sprintf(`"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%q`, owner)
	patch := fmt.Appendf(nil, `{"spec":{"owner":{%s},"members":[{%s,"role":"owner"}]}}`, subject, subject)
	changed := &gardenerv1beta1.Project{}
	c.confirm(t, func(ctx context.Context) error {
		changed = &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: project.Name}}
		return c.client.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	project.Spec = changed.Spec
}

func (c *chaos) delete(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	c.mu.Lock()
	delete(c.living, project.Name)
	c.dead[project.Name] = project
	c.mu.Unlock()
	c.confirm(t, func(ctx context.Context) error { return client.IgnoreNotFound(remove(ctx, c.client, project)) })
}

// converged waits until everything is as it should be. A client that lost its server retries less and less often, up to a minute
// apart, so it gets time for that.
func (c *chaos) converged(t *testing.T) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		c.supervise(t)
		last = c.check(ctx)
		return last == nil, nil
	})
	if err != nil {
		for _, process := range []*plane.Process{c.APIServers[0], c.Managers[0]} {
			t.Logf("%s has pid %d and printed last:\n%s", process.Name(), process.PID(), strings.Join(process.Tail(40), "\n"))
		}
		t.Fatalf("%v: %v", err, last)
	}
	t.Logf("%d writes, %d projects live, %d have been deleted", c.confirmed.Load(), len(c.living), len(c.dead))
}

// supervise starts a manager again that ended automatically, as the kubelet would. It is allowed to do that for one reason only: a
// leader that cannot renew its lease before the deadline, on a machine that is too busy, must not continue.
func (c *chaos) supervise(t *testing.T) {
	t.Helper()
	for _, manager := range c.Managers {
		if manager.PID() != 0 {
			continue
		}
		message := strings.Join(manager.Tail(5), "\n")
		if !strings.Contains(message, "leader election lost") {
			t.Fatalf("%s ended:\n%s", manager.Name(), message)
		}
		t.Logf("%s lost its lease and is started again", manager.Name())
		if err := manager.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// check complains unless the living Projects are Ready, with what they should have, and nothing is left of the dead.
func (c *chaos) check(ctx context.Context) error {
	for _, project := range c.living {
		if err := c.checkLiving(ctx, project); err != nil {
			return fmt.Errorf("project %s: %w", project.Name, err)
		}
	}
	for _, project := range c.dead {
		if err := confirmDeleted(ctx, c.client, project); err != nil {
			return err
		}
	}
	lists := []client.ObjectList{&corev1.NamespaceList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}}
	for _, list := range lists {
		if err := c.onlyOfTheLiving(ctx, list); err != nil {
			return err
		}
	}
	projects := &gardenerv1beta1.ProjectList{}
	if err := c.client.List(ctx, projects); err != nil {
		return err
	}
	if len(projects.Items) != len(c.living) {
		return fmt.Errorf("%d projects should live, there are %d", len(c.living), len(projects.Items))
	}
	return nil
}

func (c *chaos) checkLiving(ctx context.Context, want *gardenerv1beta1.Project) error {
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: want.Name}}
	if err := isReady(ctx, c.client, project); err != nil {
		return err
	}
	if err := errors.Join(diffError(want.UID, project.UID), diffError(want.Spec, project.Spec)); err != nil {
		return err
	}
	namespace := &corev1.Namespace{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: project.NamespaceName()}, namespace); err != nil {
		return err
	}
	if len(namespace.OwnerReferences) > 0 || namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] != string(project.UID) || !namespace.DeletionTimestamp.IsZero() {
		return fmt.Errorf("namespace %s: %+v", namespace.Name, namespace.ObjectMeta)
	}
	found, err := readAccess(ctx, c.client, project)
	if err != nil {
		return err
	}
	owner := "User " + project.Spec.Owner.Name
	return diffError(bindings{owner: owner, member: owner, accounts: owner}.access(), found)
}

// onlyOfTheLiving complains about an object with the label of a Project that should have been deleted.
func (c *chaos) onlyOfTheLiving(ctx context.Context, list client.ObjectList) error {
	if err := c.client.List(ctx, list, client.HasLabels{"project.gardener.cloud/name"}); err != nil {
		return err
	}
	return eachOf(list, func(object client.Object) error {
		if _, lives := c.living[object.GetLabels()["project.gardener.cloud/name"]]; !lives {
			return fmt.Errorf("%T %s is left, finalizers %v", object, object.GetName(), object.GetFinalizers())
		}
		return nil
	})
}

// claimsAgree replays the history of the API server's own etcd.
func (c *chaos) claimsAgree(t *testing.T) {
	t.Helper()
	socket := filepath.Join(c.EmbeddedEtcdDir(0), "etcd", "client.sock")
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	revisions, err := claimcheck.Replay(t.Context(), etcd, storePrefix)
	if err != nil || revisions == 0 {
		t.Fatalf("after %d revisions: %v", revisions, err)
	}
	t.Logf("objects and claims agree at all of %d revisions", revisions)
}
