// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	// dropIn is the name of the binary, of its ServiceAccount and of its Role.
	dropIn = "groundskeeper-local-volume-node-cleanup"
	// managedClass is the class that the controller manager of the plane cleans up.
	managedClass = "managed"
)

// volumePlane is a plane of which Kubernetes binds volumes, protects them and runs StatefulSets. It has no kubelet, so
// nodes are objects only.
type volumePlane struct {
	*plane.Plane
	audit string
	next  atomic.Int64
}

// newVolumePlane starts a plane with a controller manager that cleans up one class, with the permissions in artifacts/.
func newVolumePlane(t *testing.T) *volumePlane {
	t.Helper()
	dir := t.TempDir()
	p := &volumePlane{audit: filepath.Join(dir, "audit.log")}
	policy := filepath.Join(dir, "policy.yaml")
	config := filepath.Join(dir, "manager.yaml")
	for path, content := range map[string]string{policy: auditPolicy, config: `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
controllers:
  localVolume:
    storageClassNames: [` + managedClass + `]
    pvcDeletionDelay: 2s
    unknownNodeDeletionDelay: 2s
`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	started, err := startAudited(t.Context(), t, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + p.audit},
		KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
			"persistentvolume-protection-controller", "statefulset-controller"},
		ManagerConfig: config,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p.Plane = started
	apply := exec.Command(p.Kubectl(), "--kubeconfig", p.AdminKubeconfig(), "apply", "-k", "../../artifacts/local-volume")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

// volumes is a storage class, a namespace and some nodes of one test.
type volumes struct {
	t     *testing.T
	plane *volumePlane
	c     client.WithWatch
	class string
	ns    string
}

// newVolumes makes a class and a namespace, in which the drop-in is allowed to do what it is allowed to do in its own.
func (p *volumePlane) newVolumes(t *testing.T, class string) *volumes {
	t.Helper()
	name := fmt.Sprintf("lv%d", p.next.Add(1))
	if class == "" {
		class = name
	}
	v := &volumes{t: t, plane: p, c: clientOf(t, p.Config()), class: class, ns: name}
	immediate := storagev1.VolumeBindingImmediate
	v.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	v.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &immediate})
	role := &rbacv1.Role{}
	if err := v.c.Get(t.Context(), client.ObjectKey{Namespace: "groundskeeper-system", Name: dropIn}, role); err != nil {
		t.Fatal(err)
	}
	v.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: dropIn}, Rules: role.Rules})
	v.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: dropIn},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: dropIn},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "groundskeeper-system", Name: dropIn}}})
	return v
}

func (v *volumes) create(object client.Object) {
	v.t.Helper()
	if err := v.c.Create(v.t.Context(), object); err != nil {
		v.t.Fatal(err)
	}
}

// node makes a node, whose name is prefixed, with a hostname label: the same name when none is given.
func (v *volumes) node(name string, hostname ...string) *corev1.Node {
	v.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: v.ns + "-" + name, Labels: map[string]string{corev1.LabelHostname: v.ns + "-" + name}}}
	if len(hostname) > 0 {
		node.Labels[corev1.LabelHostname] = v.ns + "-" + hostname[0]
	}
	v.create(node)
	return node
}

// lose deletes nodes and returns when the loss of the last one has not been observed.
func (v *volumes) lose(nodes ...*corev1.Node) (before time.Time) {
	v.t.Helper()
	for _, node := range nodes {
		before = time.Now()
		if err := v.c.Delete(v.t.Context(), node); err != nil {
			v.t.Fatal(err)
		}
	}
	return before
}

// volume makes a local volume on a host. Its provisioner is an external one, as that of the local static provisioner
// is: otherwise Kubernetes would try to delete a Released volume itself, and fail.
func (v *volumes) volume(name, host string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v.t.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: v.ns + "-" + name,
		Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "local-volume-provisioner"}}}
	volume.Spec.StorageClassName = v.class
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt/" + name}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{v.ns + "-" + host}}},
	}}}}
	for _, f := range change {
		f(volume)
	}
	v.create(volume)
	return volume
}

// claim makes a claim of a volume and waits until it is bound.
func (v *volumes) claim(volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	v.t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: volume.Name}}
	claim.Spec.VolumeName = volume.Name
	claim.Spec.StorageClassName = new(volume.Spec.StorageClassName)
	claim.Spec.AccessModes = volume.Spec.AccessModes
	claim.Spec.Resources.Requests = volume.Spec.Capacity
	v.create(claim)
	eventually(v.t, func(ctx context.Context) error {
		if err := v.c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim %s is %s", claim.Name, claim.Status.Phase)
		}
		return v.c.Get(ctx, client.ObjectKeyFromObject(volume), volume)
	})
	return claim
}

// bound makes a volume on a host with a claim.
func (v *volumes) bound(name, host string, change ...func(*corev1.PersistentVolume)) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	v.t.Helper()
	volume := v.volume(name, host, change...)
	return volume, v.claim(volume)
}

// Waits until objects have been deleted.
func (v *volumes) absent(objects ...client.Object) {
	v.t.Helper()
	for _, object := range objects {
		eventually(v.t, func(ctx context.Context) error { return confirmDeleted(ctx, v.c, object) })
	}
}

// stays fails when an object has been deleted or on its way.
func (v *volumes) stays(what string, objects ...client.Object) {
	v.t.Helper()
	for _, object := range objects {
		current := object.DeepCopyObject().(client.Object)
		if err := v.c.Get(v.t.Context(), client.ObjectKeyFromObject(object), current); err != nil {
			v.t.Fatalf("%s: %v", what, err)
		}
		if current.GetUID() != object.GetUID() || !current.GetDeletionTimestamp().IsZero() {
			v.t.Fatalf("%s: %s was deleted", what, object.GetName())
		}
	}
}

// phase waits until a volume has a phase.
func (v *volumes) phase(volume *corev1.PersistentVolume, phase corev1.PersistentVolumePhase) {
	v.t.Helper()
	eventually(v.t, func(ctx context.Context) error {
		if err := v.c.Get(ctx, client.ObjectKeyFromObject(volume), volume); err != nil {
			return err
		}
		if volume.Status.Phase != phase {
			return fmt.Errorf("volume %s is %s", volume.Name, volume.Status.Phase)
		}
		return nil
	})
}

// event waits for an event with a reason on an object.
func (v *volumes) event(object client.Object, reason string) corev1.Event {
	v.t.Helper()
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var found corev1.Event
	eventually(v.t, func(ctx context.Context) error {
		list := &corev1.EventList{}
		if err := v.c.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"involvedObject.name": object.GetName(), "reason": reason}); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("%s has no event %s", object.GetName(), reason)
		}
		found = list.Items[0]
		return nil
	})
	return found
}

// cleaner is a running drop-in.
type cleaner struct {
	*child
	t       *testing.T
	address string
}

// clean starts the drop-in for the class, as the ServiceAccount in artifacts/, and waits until it knows everything.
func (v *volumes) clean(flags ...string) *cleaner {
	v.t.Helper()
	return v.cleanAs("system:serviceaccount:groundskeeper-system:"+dropIn, flags...)
}

func (v *volumes) cleanAs(user string, flags ...string) *cleaner {
	v.t.Helper()
	c := v.startAs(user, flags...)
	eventually(v.t, func(context.Context) error {
		_, err := c.read("/readyz")
		return err
	})
	return c
}

func (v *volumes) startAs(user string, flags ...string) *cleaner {
	v.t.Helper()
	return v.startWith(v.kubeconfigOf(user), flags...)
}

// kubeconfigOf writes a kubeconfig of a ServiceAccount.
func (v *volumes) kubeconfigOf(user string) string {
	v.t.Helper()
	kubeconfig := filepath.Join(v.t.TempDir(), "kubeconfig")
	if err := v.plane.KubeconfigFor(kubeconfig, user, "system:serviceaccounts", "system:serviceaccounts:groundskeeper-system"); err != nil {
		v.t.Fatal(err)
	}
	return kubeconfig
}

func (v *volumes) startWith(kubeconfig string, flags ...string) *cleaner {
	v.t.Helper()
	address := "127.0.0.1:" + freePort(v.t)
	args := append([]string{"--kubeconfig=" + kubeconfig, "--storageclass-names=" + v.class, "--pvc-deletion-delay=2", "--unknown-node-deletion-delay=2", "--namespace=" + v.ns, "--listen-address=" + address}, flags...)
	return &cleaner{child: start(v.t, v.t.Context(), dropIn, args...), t: v.t, address: address}
}

// read queries the drop-in for a page.
func (c *cleaner) read(path string) (string, error) {
	response, err := http.Get("http://" + c.address + path)
	if err != nil {
		return "", errors.Join(err, errors.New(c.stderrText()))
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, response.StatusCode, body)
	}
	return string(body), err
}

func (c *cleaner) stderrText() string { return strings.Join(c.stderr.lines(), "\n") }

// Waits until the log has a text.
func (c *cleaner) message(text string) {
	c.t.Helper()
	eventually(c.t, func(context.Context) error {
		if !strings.Contains(c.stderrText(), text) {
			return fmt.Errorf("the log does not report %q:\n%s", text, c.stderrText())
		}
		return nil
	})
}

// metric waits until the metrics have a line.
func (c *cleaner) metric(line string) {
	c.t.Helper()
	eventually(c.t, func(context.Context) error {
		page, err := c.read("/metrics")
		if err == nil && !strings.Contains("\n"+page, "\n"+line+"\n") {
			err = fmt.Errorf("the metrics do not have %q", line)
		}
		return err
	})
}

// kill ends the process as a crash would.
func (c *cleaner) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	c.exitCode()
}

// denials returns what was denied to Groundskeeper's processes for want of permissions, and how many requests each user sent.
func (p *volumePlane) denials(t *testing.T) (rejected []string, requests map[string]int) {
	t.Helper()
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name(t, "mark")}}
	if err := clientOf(t, p.Config()).Create(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	var content []byte
	eventually(t, func(context.Context) (err error) {
		if content, err = os.ReadFile(p.audit); err == nil && !bytes.Contains(content, []byte(mark.Name)) {
			err = errors.New("the audit log is late")
		}
		return err
	})
	requests = map[string]int{}
	for line := range bytes.Lines(content[:bytes.LastIndexByte(content, '\n')+1]) { // the last line may be incomplete
		var event audit.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		requests[event.User.Username]++
		if event.Forbidden() {
			rejected = append(rejected, fmt.Sprintf("%s may not %s %s", event.User.Username, event.Verb, event.RequestURI))
		}
	}
	return rejected, requests
}

// ignoreExpired is client.IgnoreNotFound for deletions in tests.
func ignoreExpired(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
