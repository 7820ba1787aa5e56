// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// hookedConfig configures the webhook that limits objects, and the port of profiles, which the documentation uses.
const hookedConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
server:
  debugging: {enabled: true, port: %s}
  webhooks:
    resourceSize:
      limits:
      - {apiGroups: [kubernikus.sap.cc], resources: [klusters], count: 2}
      - {apiGroups: [core.gardener.cloud], resources: [projects], size: 4Ki}
      unrestrictedSubjects: [{kind: User, name: root}]
`

// hooked is a plane with the webhooks of an installation and with servers that make their certificates themselves.
type hooked struct {
	*plane.Plane
	client client.WithWatch
	// debugging is the address of the manager's profiles.
	debugging string
}

// TestWebhooks tests the webhooks on one plane; the last parts make it unusable.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	p := startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, Managers: 1, ManagerConfig: write(t, fmt.Sprintf(hookedConfig, port)),
		Webhooks: true, SelfManagedCertificates: true,
	})
	h := &hooked{p, clientOf(t, p.Config()), "127.0.0.1:" + port}
	// The pages show the objects of a plane that has no others, and delete all.
	t.Run("commands of the documentation", h.documentation)
	t.Run("namespaces of projects", h.projectNamespaces)
	t.Run("other namespaces", h.otherNamespaces)
	t.Run("kubeconfigs", h.kubeconfigs)
	t.Run("limits", h.limits)
	t.Run("edited CAs", h.editedBundles)
	t.Run("rotation under load", h.rotation)
	t.Run("outage", h.outage)
}

func (h *hooked) projectNamespaces(t *testing.T) {
	project := h.project(t)
	namespace := project.NamespaceName()
	want := fmt.Sprintf("direct deletion of namespace %q is not permitted (you must delete the corresponding project %q)", namespace, project.Name)
	eventually(t, func(ctx context.Context) error { // kube-apiserver receives webhooks by a watch
		if err := h.client.Delete(ctx, namespaceNamed(namespace), client.DryRunAll); err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("not rejected yet: %w", err)
		}
		return nil
	})
	out, err := h.kubectl(t, "delete", "namespace", namespace)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("kubectl delete namespace: %s, %v", out, err)
	}
	// Without its labels it is the namespace of a project even so.
	unlabelled := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"gardener.cloud/role":null,"project.gardener.cloud/name":null}}}`))
	if err := h.client.Patch(t.Context(), namespaceNamed(namespace), unlabelled); err != nil {
		t.Fatal(err)
	}
	if err := h.client.Delete(t.Context(), namespaceNamed(namespace)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without labels: %v", err)
	}
	labelled := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"gardener.cloud/role":"project","project.gardener.cloud/name":"`+project.Name+`"}}}`))
	if err := h.client.Patch(t.Context(), namespaceNamed(namespace), labelled); err != nil {
		t.Fatal(err)
	}

	// A Kluster keeps the namespace of a Project that is being deleted.
	kluster := klusterIn(namespace, "keep", "")
	if err := h.client.Create(t.Context(), kluster); err != nil {
		t.Fatal(err)
	}
	if err := remove(t.Context(), h.client, project); err != nil {
		t.Fatal(err)
	}
	want = fmt.Sprintf("deletion of namespace %q is not permitted (it still contains Kluster keep)", namespace)
	if err := h.client.Delete(t.Context(), namespaceNamed(namespace)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("while its project is being deleted: %v", err)
	}
	h.drop(t, kluster)
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, h.client, project) })
	if err := h.client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is still there: %v", err)
	}
}

func (h *hooked) otherNamespaces(t *testing.T) {
	namespace := h.namespace(t, "plain")
	kluster := klusterIn(namespace, "keep", "")
	if err := h.client.Create(t.Context(), kluster); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("deletion of namespace %q is not permitted (it still contains Kluster keep)", namespace)
	if err := h.client.Delete(t.Context(), namespaceNamed(namespace)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("with a Kluster: %v", err)
	}
	h.drop(t, kluster)
	if err := h.client.Delete(t.Context(), namespaceNamed(namespace)); err != nil {
		t.Errorf("empty: %v", err)
	}
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, h.client, namespaceNamed(namespace)) })
}

func (h *hooked) kubeconfigs(t *testing.T) {
	const secretValue = "hunter2hunter2"
	bad := "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: \"https://a\"}}]\n" +
		"users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: " + secretValue + ", interactiveMode: Never}}}]\n"
	good := strings.Replace(bad, "exec: {apiVersion: client.authentication.k8s.io/v1, command: "+secretValue+", interactiveMode: Never}", "token: "+secretValue, 1)
	project, plain := h.project(t).NamespaceName(), h.namespace(t, "plain")
	if err := h.client.Create(t.Context(), klusterIn(plain, "kay", "")); err != nil {
		t.Fatal(err)
	}
	backend := &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: plain, Name: "backend"},
		Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "backend-secret"},
	}
	if err := h.client.Create(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		namespace, secret, key, value string
		rejected                      bool
	}{
		"any in a project":          {project, "any", "kubeconfig", bad, true},
		"a good one in a project":   {project, "good", "kubeconfig", good, false},
		"broken in a project":       {project, "broken", "kubeconfig", "{" + secretValue, true},
		"another key in a project":  {project, "config", "config", bad, false},
		"of a Kluster":              {plain, "kay-secret", "kubeconfig", bad, true},
		"of no client":              {plain, "other", "kubeconfig", bad, false},
		"of a backend":              {plain, "backend-secret", "config", bad, true},
		"of a backend, another key": {plain, "backend-secret", "kubeconfig", bad, false},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: tc.secret}, StringData: map[string]string{tc.key: tc.value}}
		err := h.client.Create(t.Context(), secret, client.DryRunAll)
		switch {
		case tc.rejected && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "data["+tc.key+"]")):
			t.Errorf("%s: %v", name, err)
		case !tc.rejected && err != nil:
			t.Errorf("%s: %v", name, err)
		case err != nil && strings.Contains(err.Error(), secretValue):
			t.Errorf("%s: the error has it: %v", name, err)
		}
	}
	h.rejectedRotation(t, plain, good, bad)
}

// rejectedRotation checks that the commands of docs/backend-credentials.md print nothing of a Secret that the webhook rejects.
func (h *hooked) rejectedRotation(t *testing.T, namespace, good, bad string) {
	t.Helper()
	manifest := func(kubeconfig string) string {
		out, err := h.kubectl(t, "create", "secret", "generic", "backend-secret", "--namespace", namespace, "--from-file=config="+write(t, kubeconfig),
			"--dry-run=client", "-o", "yaml")
		if err != nil {
			t.Fatal(err)
		}
		return write(t, out)
	}
	if _, err := h.kubectl(t, "create", "-f", manifest(good)); err != nil {
		t.Fatal(err)
	}
	rejected := manifest(bad)
	for _, command := range [][]string{{"replace"}, {"apply", "--server-side", "--force-conflicts"}} {
		out, err := h.kubectl(t, append(command, "-f", rejected)...)
		if err == nil || !strings.Contains(out, "data[config]") {
			t.Errorf("kubectl %s: %s, %v, want that the webhook rejects data[config]", command[0], out, err)
		}
		for _, content := range []string{bad[:30], base64.StdEncoding.EncodeToString([]byte(bad))[:40]} {
			if strings.Contains(out, content) {
				t.Errorf("kubectl %s prints the kubeconfig: %s", command[0], out)
			}
		}
	}
}

func (h *hooked) limits(t *testing.T) {
	namespace := h.project(t).NamespaceName()
	for _, name := range []string{"one", "two"} {
		if err := h.client.Create(t.Context(), klusterIn(namespace, name, "")); err != nil {
			t.Fatal(err)
		}
	}
	third := klusterIn(namespace, "three", "")
	if err := h.client.Create(t.Context(), third); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "there are 2 klusters.kubernikus.sap.cc") {
		t.Errorf("a third: %v", err)
	}
	root, err := h.ConfigFor("root", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if err := clientOf(t, root).Create(t.Context(), third); err != nil {
		t.Errorf("a third of another client without limits: %v", err)
	}
	large := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "l"), Annotations: map[string]string{"x": strings.Repeat("x", 4<<10)}}}
	if err := h.client.Create(t.Context(), large); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "4096 are allowed") {
		t.Errorf("a large one: %v", err)
	}
}

// outage kills the manager: what it guards is rejected, in words that report why, and all else continues.
// outage: without the controller manager, and with one that does not respond, the namespaces of Projects cannot be deleted, and all else
// works.
func (h *hooked) outage(t *testing.T) {
	kill := func() error { return h.Managers[0].Kill(t.Context()) }
	t.Run("hangs", func(t *testing.T) {
		h.without(t, "exceeded", func() error { return syscall.Kill(h.Managers[0].PID(), syscall.SIGSTOP) }, kill)
	})
	t.Run("is killed", func(t *testing.T) { h.without(t, "refused", kill, func() error { return nil }) })
}

// without begins an outage of the controller manager, with the error of what it has to decide about, and ends it.
func (h *hooked) without(t *testing.T, reason string, begin, end func() error) {
	project, plain := h.project(t).NamespaceName(), h.namespace(t, "plain")
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	err := h.client.Delete(t.Context(), namespaceNamed(project))
	if err == nil || !strings.Contains(err.Error(), "project-namespaces.deletion.groundskeeper.io") || !strings.Contains(err.Error(), reason) {
		t.Errorf("the namespace of a project: error = %v, want one of the webhook with %q", err, reason)
	}
	for name, act := range map[string]func() error{
		"a namespace": func() error { return h.client.Delete(t.Context(), namespaceNamed(plain)) },
		"a Secret":    func() error { return h.client.Create(t.Context(), secretWith(project, "a", "kubeconfig")) },
		"a Kluster":   func() error { return h.client.Create(t.Context(), klusterIn(project, "a", "")) },
		"a Project": func() error {
			return h.client.Create(t.Context(), &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "o")}})
		},
		"a deployment": func() error { return h.client.Create(t.Context(), secretWith(project, "b", "data")) },
	} {
		if err := act(); err != nil {
			t.Errorf("%s is blocked: %v", name, err)
		}
	}
	if err := errors.Join(end(), h.Managers[0].Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := h.client.Delete(ctx, namespaceNamed(project)); err == nil || !strings.Contains(err.Error(), "direct deletion of namespace") {
			return fmt.Errorf("after the outage: %w", err)
		}
		return nil
	})
}

func secretWith(namespace, name, key string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{key: "x"}}
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// project creates a Project and waits until it is Ready.
func (h *hooked) project(t *testing.T) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "h")}}
	if err := h.client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return isReady(ctx, h.client, project) })
	return project
}

func (h *hooked) namespace(t *testing.T, prefix string) string {
	t.Helper()
	namespace := namespaceNamed(name(t, prefix))
	if err := h.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// drop deletes an object that no client cleans up after.
func (h *hooked) drop(t *testing.T, object client.Object) {
	t.Helper()
	for _, patch := range []string{`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`, `{"metadata":{"finalizers":null}}`} {
		if err := h.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		if err := client.IgnoreNotFound(h.client.Delete(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
		if confirmDeleted(t.Context(), h.client, object) == nil {
			return
		}
	}
}

func (h *hooked) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.Kubectl(), append([]string{"--kubeconfig=" + h.AdminKubeconfig()}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(h.Dir(), "kubectl"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), errors.Join(err, errors.New(string(out)))
	}
	return string(out), nil
}
