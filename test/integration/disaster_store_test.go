// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// losses is a plane whose store gets lost, again and again, while the garbage collector runs.
type losses struct {
	*plane.Plane
	client client.WithWatch
	server *plane.Process
	// early is a copy of the store with the Project old; in the store itself is the Project young too.
	early      string
	old, young *gardenerv1beta1.Project
}

// TestLostStore checks that an API server does not start on a store other than the recorded one, and that no namespace is lost
// meanwhile, even though the garbage collector deletes objects whose owner does not exist. The documented override lets it start
// once.
func TestLostStore(t *testing.T) {
	rare(t)
	t.Parallel()
	p := startPlane(t, plane.Options{Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, Managers: 1})
	l := &losses{Plane: p, client: clientOf(t, p.Config()), server: p.APIServers[0], early: filepath.Join(t.TempDir(), "early")}
	l.fill(t)

	t.Run("API is removed", l.testAPIIsRemoved)
	t.Run("API server is lost", l.testAPIIsLost)
	t.Run("record is deleted", l.testRecordIsDeleted)
	t.Run("older copy", func(t *testing.T) { l.testRejected(t, l.early, "older state", storeValue) })
	t.Run("empty", func(t *testing.T) { l.testRejected(t, "", "it is empty", storeValue) })
	t.Run("empty, and a new garbage collector", func(t *testing.T) {
		own := l.replaceStore(t, "")
		l.rejection(t, "it is empty")
		restart(t, l.KubeControllerManager) // it has to get every owner again
		l.nothingIsCollected(t)
		l.replaceStore(t, own)
		restart(t, l.server)
	})
	t.Run("empty and not recorded", func(t *testing.T) {
		l.deleteRecord(t)
		l.testRejected(t, "", "nothing reports which store was used before", regexp.MustCompile("^empty$"))
	})
	t.Run("nothing was lost", l.testNothingWasLost)
	t.Run("acknowledged", l.testAcknowledged)
}

// storeValue is what acknowledges that a known store is lost.
var storeValue = regexp.MustCompile(`^[0-9a-f-]{36}@[0-9]+$`)

// fill creates a Project, takes a copy of the store, and creates another Project.
func (l *losses) fill(t *testing.T) {
	t.Helper()
	l.old = l.create(t, "old")
	l.ready(t, l.old)
	if err := l.server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	copyStore(t, l.early, l.EmbeddedEtcdDir(0))
	before := l.recorded(t)
	restart(t, l.server)
	l.young = l.create(t, "young")
	l.ready(t, l.young)
	l.recordedAfter(t, before)
}

func (l *losses) create(t *testing.T, prefix string) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix)}}
	eventually(t, func(ctx context.Context) error { return l.client.Create(ctx, project) }) // the aggregator may be late
	return project
}

func (l *losses) ready(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	eventually(t, func(ctx context.Context) error { return isReady(ctx, l.client, project) })
}

func record() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "groundskeeper-system", Name: "groundskeeper-store"}}
}

// recorded returns the revision of the store that the cluster knows.
func (l *losses) recorded(t *testing.T) int64 {
	t.Helper()
	configMap := record()
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); err != nil {
		t.Fatal(err)
	}
	revision, err := strconv.ParseInt(configMap.Data["revision"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// recordedAfter waits until the cluster knows of a write after the revision.
func (l *losses) recordedAfter(t *testing.T, revision int64) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if now := l.recorded(t); now <= revision {
			return fmt.Errorf("the cluster knows the store at revision %d", now)
		}
		return nil
	})
}

func (l *losses) deleteRecord(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	configMap := record()
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); err != nil {
		t.Fatal(err)
	}
	if err := l.client.Delete(t.Context(), configMap.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return configMap
}

// testRecordIsDeleted: the store is there, so the record comes back, with the next write or the next start.
func (l *losses) testRecordIsDeleted(t *testing.T) {
	before := l.deleteRecord(t)
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(l.old), l.old); err != nil {
		t.Fatal(err)
	}
	l.old.Spec.Description = new("written")
	if err := l.client.Update(t.Context(), l.old); err != nil {
		t.Fatal(err)
	}
	returns := func() {
		configMap := record()
		eventually(t, func(ctx context.Context) error {
			return l.client.Get(ctx, client.ObjectKeyFromObject(configMap), configMap)
		})
		if configMap.UID == before.UID || configMap.Data["id"] != before.Data["id"] {
			t.Errorf("recorded is %v, before %v", configMap.Data, before.Data)
		}
	}
	returns()
	if err := l.server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	before = l.deleteRecord(t)
	restart(t, l.server)
	returns()
}

// testRejected replaces the store, expects that the server reports so and ends, and puts the store back.
func (l *losses) testRejected(t *testing.T, store, message string, value *regexp.Regexp) {
	own := l.replaceStore(t, store)
	if accept := l.rejection(t, message); !value.MatchString(accept) {
		t.Errorf("--accept-store=%s would acknowledge it", accept)
	}
	l.nothingIsCollected(t)
	l.replaceStore(t, own)
	restart(t, l.server)
}

// replaceStore kills the server and puts a copy of another store in its place; no copy: nothing. It returns where its own one is
// now.
func (l *losses) replaceStore(t *testing.T, store string) (own string) {
	t.Helper()
	if err := l.server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	own = filepath.Join(t.TempDir(), "own")
	if err := os.Rename(l.EmbeddedEtcdDir(0), own); err != nil {
		t.Fatal(err)
	}
	if store != "" {
		copyStore(t, l.EmbeddedEtcdDir(0), store)
	}
	return own
}

// copyStore copies the files of a server that does not run.
func copyStore(t *testing.T, to, from string) {
	t.Helper()
	// A server that was killed leaves its socket behind, which is not for copying.
	if err := os.Remove(filepath.Join(from, "etcd", "client.sock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// Starts the server, which must exit with one line that states what is wrong and how to acknowledge it. It returns the value that
// acknowledges.
func (l *losses) rejection(t *testing.T, message string, flags ...string) (accept string) {
	t.Helper()
	if err := l.server.Start(t.Context(), flags...); err != nil {
		t.Fatal(err)
	}
	err := l.server.Ready(t.Context())
	failure := &plane.Error{}
	if !errors.As(err, &failure) || !strings.Contains(failure.Err.Error(), "exit status 1") {
		t.Fatalf("the server did not end with exit code 1: %v", err)
	}
	lines := slices.DeleteFunc(failure.Lines, func(line string) bool {
		return strings.HasPrefix(line, `{"level":"WARN"`) && strings.Contains(line, `"logger":"etcd"`) // the disk is slow
	})
	line := strings.Join(lines, "\n")
	if len(lines) != 1 || !strings.HasPrefix(line, "error: ") || !strings.Contains(line, message) || !strings.Contains(line, l.old.NamespaceName()) {
		t.Errorf("it printed:\n%s", line)
	}
	_, accept, _ = strings.Cut(line, "--accept-store=")
	return accept
}

// nothingIsCollected waits until the garbage collector has processed another object, and checks the namespaces meanwhile.
func (l *losses) nothingIsCollected(t *testing.T) {
	t.Helper()
	for range 3 {
		l.collectorWorks(t)
		for _, project := range []*gardenerv1beta1.Project{l.old, l.young} {
			namespace := &corev1.Namespace{}
			if err := l.client.Get(t.Context(), client.ObjectKey{Name: project.NamespaceName()}, namespace); err != nil {
				t.Fatal(err)
			}
			uid := namespace.Annotations["namespace.gardener.cloud/project"]
			if !namespace.DeletionTimestamp.IsZero() || uid != string(project.UID) || len(namespace.OwnerReferences) != 0 {
				t.Fatalf("namespace %s was changed: %+v", namespace.Name, namespace.ObjectMeta)
			}
		}
	}
}

// collectorWorks waits until the garbage collector has deleted a namespace whose owner does not exist.
func (l *losses) collectorWorks(t *testing.T) {
	t.Helper()
	orphan := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(t, "orphan"), OwnerReferences: []metav1.OwnerReference{{
		APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: "gone", UID: types.UID("0a5e0e3e-1111-4222-8333-444455556666"),
	}}}}
	if err := l.client.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		err := l.client.Get(ctx, client.ObjectKeyFromObject(orphan), orphan)
		if err == nil && orphan.DeletionTimestamp.IsZero() {
			return fmt.Errorf("the garbage collector left %s", orphan.Name)
		}
		return client.IgnoreNotFound(err)
	})
}

// testNothingWasLost: with its own store back, the server serves what it did before.
func (l *losses) testNothingWasLost(t *testing.T) {
	for _, project := range []*gardenerv1beta1.Project{l.old, l.young} {
		before := project.UID
		l.ready(t, project)
		if found, err := readAccess(t.Context(), l.client, project); err != nil || len(found) != 11 || project.UID != before {
			t.Errorf("project %s: uid %s, before %s, roles and bindings %v, %v", project.Name, project.UID, before, found, err)
		}
	}
	l.nothingIsCollected(t)
}

// testAcknowledged: what the server prints lets it start, and not a second time. The namespace of the Project that the store
// does not have stays; one that an earlier version gave an owner is lost then, which shows what all this is for.
func (l *losses) testAcknowledged(t *testing.T) {
	late := l.replaceStore(t, l.early)
	earlier := l.ownedNamespace(t)
	accept := l.rejection(t, "older state")
	restart(t, l.server, "--accept-store="+accept)
	before := l.recorded(t)
	// The running one would come to it too, but it retries less and less often while the server is unavailable.
	restart(t, l.KubeControllerManager)
	l.collected(t, earlier)
	l.ready(t, l.old)
	l.stays(t, l.young)
	l.create(t, "next")
	l.recordedAfter(t, before)

	// The same copy once more and the same response, or even the store that was given up: both lack what came since.
	for _, store := range []string{l.early, late} {
		l.replaceStore(t, store)
		if again := l.rejection(t, "was used before", "--accept-store="+accept); again == accept {
			t.Errorf("--accept-store=%s is requested twice", accept)
		}
	}

	// A flag that is left in the manifest does no harm.
	flag := "--accept-store=" + l.rejection(t, "was used before")
	restart(t, l.server, flag)
	restart(t, l.server, flag)
	l.replaceStore(t, "")
	restart(t, l.server, "--accept-store="+l.rejection(t, "it is empty", flag))
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, l.client, l.old) })
}

// collected waits until the garbage collector has deleted the namespace of a Project that is not in the store.
func (l *losses) collected(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		err := l.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if err == nil && namespace.DeletionTimestamp.IsZero() {
			return fmt.Errorf("the garbage collector left %s", namespace.Name)
		}
		return client.IgnoreNotFound(err)
	})
}

// ownedNamespace creates a namespace as earlier versions did for a Project, which the store does not have.
func (l *losses) ownedNamespace(t *testing.T) *corev1.Namespace {
	t.Helper()
	lost := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "lost"), UID: types.UID("0a5e0e3e-1111-4222-8333-777777777777")}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "garden-" + lost.Name, Labels: map[string]string{gardenerv1beta1.LabelRole: gardenerv1beta1.RoleProject},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(lost, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"))},
	}}
	if err := l.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace
}

// stays expects that a Project has been deleted and its namespace is not.
func (l *losses) stays(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, l.client, project) })
	l.collectorWorks(t)
	namespace := &corev1.Namespace{}
	err := l.client.Get(t.Context(), client.ObjectKey{Name: project.NamespaceName()}, namespace)
	if err != nil || !namespace.DeletionTimestamp.IsZero() {
		t.Errorf("namespace of a Project that was lost is deleted at %v, %v; want it to stay", namespace.DeletionTimestamp, err)
	}
}
