// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	"groundskeeper.io/groundskeeper/test/plane"
)

// removal is a plane with objects of all kinds, that is torn down by "kubectl groundskeeper uninstall".
type removal struct {
	*shop
	network *network
	// config is the manager's, without the controller that makes Translations; converting has it.
	config, converting     string
	kept, announced, plain client.ObjectKey
}

// TestUninstall removes an installation from a plane, and is interrupted again and again.
func TestUninstall(t *testing.T) {
	t.Parallel()
	rare(t)
	r := newRemoval(t)
	r.isRejected()
	r.isShown()
	r.isInterrupted()
	r.confirmDeleted()
	r.neverStarts()
}

func newRemoval(t *testing.T) *removal {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plane")
	text := "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n" +
		"leaderElection: {leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 500ms}\n"
	p, err := plane.Start(t.Context(), plane.Options{
		Dir: dir, APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true, Webhooks: true, MidoNet: true, ManagerConfig: write(t, text),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := clientOf(t, p.Config())
	d := &drainPlane{Plane: p, c: c}
	d.kubectl(t, "apply", "--server-side", "-f", "testdata/crds", "--field-manager=installer")
	d.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	d.kubectl(t, "apply", "-k", "../../artifacts/kluster")
	content, err := os.ReadFile(filepath.Join(dir, "manager-config.yaml")) // with the credentials of MidoNet
	if err != nil {
		t.Fatal(err)
	}
	with := func(lines string) string {
		return write(t, strings.Replace(string(content), "controllers:\n", "controllers:\n  credentials: {allowPlainHTTP: true}\n  kluster: {enabled: true}\n"+lines, 1))
	}
	r := &removal{network: &network{Plane: p, t: t, c: c}, converting: with("")}
	r.config = with("  enabled: ['*', -translation-convert, -translation-annotate]\n")
	if err := p.Managers[0].Restart(t.Context(), "--config="+r.converting); err != nil {
		t.Fatal(err)
	}
	r.shop = d.newShop(t)
	r.network.node("node-a", "10.1.0.0/24", "192.0.2.1")
	r.fill()
	return r
}

// fill makes objects of all kinds: a backend in maintenance, a Kluster that is announced and one that is not, two Projects,
// of which one has a namespace with something in it.
func (r *removal) fill() {
	t := r.T
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Spec: gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}}}
	r.create(project)
	eventually(t, func(ctx context.Context) error { return isReady(ctx, r.c, project) })
	namespace := project.NamespaceName()
	r.kept = client.ObjectKey{Namespace: namespace, Name: "precious"}
	r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "precious"}})
	kubeconfig, err := os.ReadFile(r.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*kubernikusv1.Kluster{klusterIn(namespace, "plain", "1.36.3"), klusterIn(namespace, "announced", "1.36.3")} {
		k.Spec.NoCloud = true
		if k.Name == "announced" {
			k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
			r.announced = client.ObjectKeyFromObject(k)
		} else {
			r.plain = client.ObjectKeyFromObject(k)
			k.Annotations = map[string]string{kubernikusv1.TerminationProtectionAnnotation: "yes"}
		}
		r.create(k, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: k.SecretName()}, Data: map[string][]byte{"kubeconfig": kubeconfig}})
	}
	eventually(t, func(ctx context.Context) error {
		k := &kubernikusv1.Kluster{}
		if err := r.c.Get(ctx, r.announced, k); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(k.Status.Conditions, kubernikusv1.ConditionAnnounced) {
			return fmt.Errorf("conditions %+v", k.Status.Conditions)
		}
		return nil
	})
	route := r.apply("dev", proxyManifest)
	r.drain(r.us)
	r.weights(route, "[0 1][0 30]")
	eventually(t, func(ctx context.Context) error {
		list, err := r.network.translations(ctx)
		if err == nil && len(list) < 5 {
			err = fmt.Errorf("%d Translations", len(list))
		}
		for i := range list {
			err = errors.Join(err, notSynced(&list[i]))
		}
		return err
	})
}

// uninstall runs the command. With a context that ends it is interrupted, as by Ctrl-C.
func (r *removal) uninstall(ctx context.Context, args ...string) (string, error) {
	r.Helper()
	all := append([]string{"uninstall", "--kubeconfig", r.AdminKubeconfig()}, args...)
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(r.Kubectl()), "kubectl-groundskeeper"), all...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = time.Minute
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

// isRejected checks that an uninstallation that would be blocked does not begin, and that the reason is printed.
func (r *removal) isRejected() {
	r.Helper()
	rejected := func(want string, args ...string) {
		r.Helper()
		out, err := r.uninstall(r.Context(), append(args, "--yes")...)
		if err == nil || !strings.Contains(out, want) || !strings.Contains(out, "Nothing was changed") {
			r.Fatalf("want it rejected with %q: %v %s", want, err, out)
		}
	}
	rejected("Pass its file with --config")
	rejected(`Restart the controller manager with "-translation-convert"`, "--config", r.converting)
	if err := r.Managers[0].Stop(r.Context()); err != nil {
		r.Fatal(err)
	}
	rejected("the controller manager does not work", "--config", r.config)
	if err := r.Managers[0].Start(r.Context(), "--config="+r.config); err != nil {
		r.Fatal(err)
	}
	if err := r.Managers[0].Ready(r.Context()); err != nil {
		r.Fatal(err)
	}
	rejected("is protected: kubectl annotate", "--config", r.config)
	r.kubectl(r.T, "annotate", "--namespace", r.plain.Namespace, "kluster/"+r.plain.Name, kubernikusv1.TerminationProtectionAnnotation+"-")
}

// isShown checks that the plan is printed, and that neither a dry run nor the input "no" executes it.
func (r *removal) isShown() {
	r.Helper()
	for _, args := range [][]string{{"--dry-run"}, nil} {
		out, err := r.uninstall(r.Context(), append(args, "--config", r.config)...)
		if (err == nil) != (args != nil) {
			r.Fatalf("%q: %v %s", args, err, out)
		}
		for _, want := range []string{
			"kept: 1 member, namespace " + r.kept.Namespace, "namespaces stay", "Klusters are detached", r.announced.Namespace + "/announced: its announcement is withdrawn",
			"1. DiscoveryBackends come back to service", "gimbal-discovery/" + r.us.Name + ": 1 routes", "Translations are deleted, and their resources are removed from MidoNet",
			"apiservices v1.midonet.org", "validatingwebhookconfigurations groundskeeper", "Objects of the installation are deleted", "clusterroles gardener.cloud:admin", "groundskeeper-system with 0 pods",
		} {
			if !strings.Contains(out, want) {
				r.Errorf("%q: the plan does not report %q:\n%s", args, want, out)
			}
		}
	}
	for _, object := range []client.Object{
		&kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: r.plain.Namespace, Name: r.plain.Name}},
		&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: r.us.Namespace, Name: r.us.Name}},
		&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "kept"}},
	} {
		if err := r.c.Get(r.Context(), client.ObjectKeyFromObject(object), object); err != nil || !object.GetDeletionTimestamp().IsZero() {
			r.Errorf("%T is being deleted: %v", object, err)
		}
	}
}

// isInterrupted: it ends when it is requested to, and continues when it is started again, until it is done.
func (r *removal) isInterrupted() {
	r.Helper()
	for patience := 2 * time.Second; ; patience += 500 * time.Millisecond {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		out, err := r.uninstall(ctx, "--config", r.config, "--yes", "--timeout", "90s")
		interrupted := ctx.Err() != nil
		cancel()
		r.Logf("after %s: %v\n%s", patience, err, out)
		switch {
		case err == nil:
			if !strings.Contains(out, "Groundskeeper has been removed") && !strings.Contains(out, "nothing of an installation is there") {
				r.Errorf("it does not report that it is done: %s", out)
			}
			return
		case !interrupted:
			r.Fatalf("it failed: %v", err)
		}
	}
}

// confirmDeleted: nothing is left of it, what is not owned by Groundskeeper stays, and namespaces can be deleted.
func (r *removal) confirmDeleted() {
	r.Helper()
	if out, err := r.uninstall(r.Context()); err != nil || !strings.Contains(out, "nothing of an installation is there") {
		r.Errorf("the second time: %v %s", err, out)
	}
	if out := r.kubectl(r.T, "get", "apiservices,validatingwebhookconfigurations,clusterroles,clusterrolebindings,namespaces", "--output=name"); strings.Contains(out, "groundskeeper") ||
		strings.Contains(out, midonetv1.GroupName) || strings.Contains(out, "gardener.cloud") {
		r.Errorf("left behind: %s", out)
	}
	if out := r.kubectl(r.T, "get", "rolebindings,serviceaccounts,resourcequotas,leases", "--all-namespaces", "--output=name"); strings.Contains(out, "groundskeeper") || strings.Contains(out, "gardener") {
		r.Errorf("left behind: %s", out)
	}
	namespace := &corev1.Namespace{}
	if err := r.c.Get(r.Context(), client.ObjectKey{Name: r.kept.Namespace}, namespace); err != nil {
		r.Fatal(err)
	}
	if len(namespace.OwnerReferences) > 0 || namespace.Labels[gardenerv1beta1.LabelRole] != "" || !namespace.DeletionTimestamp.IsZero() {
		r.Errorf("the namespace that stays is %+v", namespace.ObjectMeta)
	}
	if err := r.c.Get(r.Context(), r.kept, &corev1.ConfigMap{}); err != nil {
		r.Errorf("what is in it: %v", err)
	}
	secrets := &corev1.SecretList{}
	if err := r.c.List(r.Context(), secrets, client.InNamespace(r.kept.Namespace)); err != nil || len(secrets.Items) != 2 {
		r.Errorf("the Secrets of Klusters: %d, %v", len(secrets.Items), err)
	}
	for i := range secrets.Items {
		if len(secrets.Items[i].Finalizers) > 0 {
			r.Errorf("Secret %s is kept by %q", secrets.Items[i].Name, secrets.Items[i].Finalizers)
		}
	}
	r.emptyNetwork()
	for _, name := range []string{"another", r.kept.Namespace} {
		object := namespaceNamed(name)
		if err := r.c.Create(r.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			r.Fatal(err)
		}
		r.kubectl(r.T, "delete", "namespace", name, "--timeout=60s")
	}
}

// neverStarts: an installation whose pods never start is removed although its API does not respond, but not where an object belongs
// to a Project. The plane runs no pods.
func (r *removal) neverStarts() {
	r.Helper()
	for _, server := range r.APIServers {
		if err := server.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
	}
	r.kubectl(r.T, "delete", "nodes", "--all")
	r.kubectl(r.T, "apply", "-k", "../../artifacts/install/external-etcd") // without a volume, which no controller of the plane would release
	for _, name := range []string{"v1beta1.core.gardener.cloud", "v1.kubernikus.sap.cc", "v1.midonet.org", "v1.gimbal.heptio.com"} {
		r.kubectl(r.T, "wait", "--for=condition=Available=False", "apiservice/"+name, "--timeout=60s")
	}
	r.kubectl(r.T, "create", "namespace", "garden-former")
	r.kubectl(r.T, "annotate", "namespace", "garden-former", gardenerv1beta1.AnnotationProjectUID+"=1")
	if out, err := r.uninstall(r.Context(), "--yes"); err == nil || !strings.Contains(out, "namespace garden-former belongs to a Project") {
		r.Errorf("it removes an API that may have objects: %v %s", err, out)
	}
	r.kubectl(r.T, "annotate", "namespace", "garden-former", gardenerv1beta1.AnnotationProjectUID+"-")
	if out, err := r.uninstall(r.Context(), "--yes", "--timeout=90s"); err != nil || !strings.Contains(out, "the API was never served") {
		r.Fatalf("an installation that never started is not removed: %v %s", err, out)
	}
	if out, err := r.uninstall(r.Context()); err != nil || !strings.Contains(out, "nothing of an installation is there") {
		r.Errorf("the second time: %v %s", err, out)
	}
	r.kubectl(r.T, "delete", "namespace", "garden-former", "--timeout=60s")
}

// emptyNetwork: nothing is left in MidoNet.
func (r *removal) emptyNetwork() {
	r.Helper()
	hand := r.network.manually()
	chains, err := hand.List(r.Context(), midonet.Query{Kind: "Chain", Tenant: "midonetkube"})
	if err != nil {
		r.Fatal(err)
	}
	if len(chains) > 0 {
		r.Errorf("%d chains are left in the backend", len(chains))
	}
}
