// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/test/plane"
)

// backups is a plane whose store is encrypted, exported, lost and restored, as docs/backup.md specifies.
type backups struct {
	losses
	// going is a Project that waits in its deletion for held, an object in its namespace.
	going *gardenerv1beta1.Project
	held  *corev1.ConfigMap
	// others are objects of the other kinds.
	others []client.Object
	// encryption is the flag that server and commands need now.
	encryption string
}

// TestBackup encrypts a store and rotates its key while clients write, exports it, deletes it, and imports the export. It checks
// that an incomplete import is rejected, that no namespace is lost, and that controllers continue.
func TestBackup(t *testing.T) {
	rare(t)
	t.Parallel()
	p := startPlane(t, plane.Options{Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, Managers: 1})
	b := &backups{losses: losses{Plane: p, client: clientOf(t, p.Config()), server: p.APIServers[0]}}
	b.old, b.young = b.create(t, "old"), b.create(t, "young")
	for _, project := range []*gardenerv1beta1.Project{b.old, b.young} {
		b.ready(t, project)
	}
	b.fillAll(t)
	t.Run("rotation", b.testRotation)
	t.Run("disaster", b.testDisaster)
}

// fillAll creates an object of every other kind, and a Project whose deletion does not end.
func (b *backups) fillAll(t *testing.T) {
	t.Helper()
	namespace := b.old.NamespaceName()
	b.others = []client.Object{
		klusterIn(namespace, "web", "1.36.3"),
		&midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chain.x"}, Resources: []midonetv1.BackendResource{{Kind: "Chain", Body: `{"id":"1"}`}}},
		backend(metav1.ObjectMeta{Namespace: namespace, Name: name(t, "us"), Finalizers: []string{"example.com/hold"}}),
	}
	for _, object := range b.others {
		if err := b.client.Create(t.Context(), object); err != nil {
			t.Fatalf("%T: %v", object, err)
		}
	}
	b.going = b.create(t, "zgoing")
	b.ready(t, b.going)
	b.held = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.going.NamespaceName(), Name: "held", Finalizers: []string{"example.com/hold"}}}
	if err := b.client.Create(t.Context(), b.held); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return remove(ctx, b.client, b.going) })
	eventually(t, func(ctx context.Context) error {
		namespace := &corev1.Namespace{}
		if err := b.client.Get(ctx, client.ObjectKey{Name: b.going.NamespaceName()}, namespace); err != nil || namespace.DeletionTimestamp.IsZero() {
			return fmt.Errorf("namespace %s is not being deleted: %w", b.going.NamespaceName(), err)
		}
		return nil
	})
}

// hasNoMembers checks that no binding of a lost Project is left, and those of other Projects are.
func (b *backups) hasNoMembers(t *testing.T, lost *gardenerv1beta1.Project) {
	t.Helper()
	for _, project := range []*gardenerv1beta1.Project{lost, b.old} {
		bindings, inCluster := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
		ofProject := client.MatchingLabels{gardenerv1beta1.LabelProjectName: project.Name}
		if err := errors.Join(b.client.List(t.Context(), bindings, ofProject), b.client.List(t.Context(), inCluster, ofProject)); err != nil {
			t.Fatal(err)
		}
		if left := len(bindings.Items) + len(inCluster.Items); (left == 0) != (project == lost) {
			t.Errorf("bindings of Project %s after the import = %d, want none: %t", project.Name, left, project == lost)
		}
	}
}

func (b *backups) testDisaster(t *testing.T) {
	dir := b.EmbeddedEtcdDir(0)
	file := filepath.Join(t.TempDir(), "backup.jsonl")
	stop := b.writes(t)
	b.command(t, 0, "exported", "export", file, "--embedded-etcd-dir="+dir, b.encryption)
	stop()
	before := b.uids(t)
	b.exportsTidy(t, dir)
	late := b.create(t, "zlate")
	b.ready(t, late)
	// Its namespace has an owner, as earlier versions set it. Groundskeeper's controller manager would remove it.
	if err := b.Managers[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	owned := fmt.Appendf(nil, `{"metadata":{"ownerReferences":[{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project","name":%q,"uid":%q}]}}`, late.Name, late.UID)
	if err := b.client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late.NamespaceName()}}, client.RawPatch(types.MergePatchType, owned)); err != nil {
		t.Fatal(err)
	}
	own := "--kubeconfig=" + filepath.Join(b.Dir(), "kubeconfigs", apiserver+".kubeconfig")
	fresh := "--embedded-etcd-dir=" + filepath.Join(t.TempDir(), "fresh")
	b.command(t, 1, "it would be deleted", "import", file, fresh, own)
	b.command(t, 1, "namespace "+late.NamespaceName()+" belongs to Project "+late.Name+" (uid "+string(late.UID)+"), which the backup does not have",
		"import", file, "--check-only", own)
	// Beside a Gardener it is Gardener's that serves Projects, and owns the namespace.
	const beside = "--runtime-config=core.gardener.cloud/v1beta1=false"
	b.command(t, 0, "no namespace was compared", "import", file, "--check-only", beside, own)
	b.command(t, 1, "a server serves kubernikus.sap.cc/v1", "import", file, fresh, beside, own)
	orphan := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/ownerReferences"}]`))
	if err := b.client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late.NamespaceName()}}, orphan); err != nil {
		t.Fatal(err)
	}
	b.command(t, 0, "no namespace of the cluster would be deleted", "import", file, "--check-only", own)
	b.command(t, 0, "namespace "+late.NamespaceName()+" belongs to Project "+late.Name+" with uid "+string(late.UID)+", which does not exist", "import", file, "--check-only", own)
	b.command(t, 1, "--remove-bindings: the user of the import is not allowed to list rolebindings in namespace "+late.NamespaceName(), "import", file, fresh, own, "--remove-bindings")
	admin := "--kubeconfig=" + b.AdminKubeconfig()
	b.command(t, 0, "its members keep their roles, unless --remove-bindings removes them: rolebinding "+late.NamespaceName()+"/", "import", file, "--check-only", admin)
	b.command(t, 1, "a server serves core.gardener.cloud/v1beta1", "import", file, fresh, own)
	b.command(t, 1, "another process uses this directory", "import", file, "--embedded-etcd-dir="+dir, "--without-cluster")

	b.replaceStore(t, "")
	b.rejection(t, "it is empty", b.encryption)
	b.nothingIsCollected(t)
	b.interrupted(t, file)
	b.command(t, 0, "which the cluster knows now", "import", file, "--embedded-etcd-dir="+dir, b.encryption, admin, "--remove-bindings")
	b.hasNoMembers(t, late)
	restart(t, b.server, b.encryption)
	restart(t, b.Managers[0])
	eventually(t, func(ctx context.Context) error {
		out, err := b.plugin(ctx, "status")
		if want := "belongs to Project " + late.Name + " with uid " + string(late.UID); !strings.Contains(out, want) {
			return fmt.Errorf("status prints %q, %w, want %q", out, err, want)
		}
		return nil
	})

	b.nothingIsCollected(t)
	for _, project := range []*gardenerv1beta1.Project{b.old, b.young} {
		b.ready(t, project)
	}
	after := b.uids(t)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("objects before: %v\nafter: %v", before, after)
	}
	b.claimsWork(t)
	b.deletionEnds(t)
	// The new store is recorded as any other: its loss is noticed.
	b.recordedAfter(t, 0)
	b.replaceStore(t, "")
	b.rejection(t, "it is empty", b.encryption)
}

// exportsTidy leaves behind what an export that was killed does, and wants the next one to remove it.
func (b *backups) exportsTidy(t *testing.T, dir string) {
	t.Helper()
	directory := t.TempDir()
	left, long := filepath.Join(directory, backup.NameAt(time.Unix(0, 0))+".partial"), time.Now().Add(-2*time.Hour)
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, long, long)); err != nil {
		t.Fatal(err)
	}
	b.command(t, 0, "removed "+filepath.Base(left), "export", "--directory="+directory, "--embedded-etcd-dir="+dir, b.encryption)
}

// claimsWork wants the names that restored objects hold.
func (b *backups) claimsWork(t *testing.T) {
	t.Helper()
	thief := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "t")}, Spec: gardenerv1beta1.ProjectSpec{Namespace: new(b.young.NamespaceName())}}
	below := backend(metav1.ObjectMeta{Namespace: b.young.NamespaceName(), Name: b.others[2].GetName() + "-east"})
	for _, object := range []client.Object{thief, below} {
		if err := b.client.Create(t.Context(), object); !apierrors.IsForbidden(err) {
			t.Errorf("%T takes the name of another: %v", object, err)
		}
	}
}

// deletionEnds lets go what the Project that is being deleted waits for.
func (b *backups) deletionEnds(t *testing.T) {
	t.Helper()
	release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(b.going), b.going); err != nil || b.going.DeletionTimestamp.IsZero() {
		t.Errorf("the Project is not being deleted any more: %v", err)
	}
	if err := b.client.Patch(t.Context(), copyOf(b.held), release); err != nil {
		t.Fatal(err)
	}
	// The controller of namespaces may be at its longest pause, a minute.
	finally(t, func(ctx context.Context) error { return confirmDeleted(ctx, b.client, b.going) })
	heir := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "heir")}, Spec: gardenerv1beta1.ProjectSpec{Namespace: new(b.going.NamespaceName())}}
	if err := b.client.Create(t.Context(), heir); err != nil {
		t.Errorf("the name of a deleted Project is not free: %v", err)
	}
}

// uids returns those of all Groundskeeper's objects.
func (b *backups) uids(t *testing.T) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	for _, list := range []client.ObjectList{&gardenerv1beta1.ProjectList{}, klusterList(), translationList(), backendList()} {
		eventually(t, func(ctx context.Context) error { return b.client.List(ctx, list) })
		err := eachOf(list, func(object client.Object) error {
			uids[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetUID()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return uids
}
