// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/audit"
)

const (
	apiserver   = "groundskeeper-apiserver"
	manager     = "groundskeeper-controller-manager"
	systemSpace = "groundskeeper-system"
)

// TestInstall installs the build of before as docs/install.md does, uses all kinds through its Service, upgrades to this one while clients
// continue, replaces its pods and then its store, meets a policy of somebody else, loses its API server, and removes it by the command of the
// plugin: nothing is left.
func TestInstall(t *testing.T) {
	h := newHost(t)
	empty := h.everything(t)
	before, now := builds()
	h.install(t, before)
	b := h.useAllKinds(t)
	h.upgrade(t, now)
	h.podsAreReady(t)
	for _, name := range []string{apiserver, manager} {
		h.replacePods(t, name)
	}
	h.isReady(t, "example")
	h.outlivesAPolicy(t)
	h.survivesLoss(t, now)
	h.restore(t, now)
	b.publish(t, "later") // the discoverer works, too
	b.copied(t, "later")
	h.uninstall(t, b)
	h.isEmpty(t, empty)
	if err := audit.CheckPermissions(h.audit, audit.APIServer, audit.Manager, b.account()); err != nil {
		t.Error(err)
	}
}

// useAllKinds makes an object of each kind. The backend is discovered by a pod.
func (h *host) useAllKinds(t *testing.T) *backend {
	t.Helper()
	examples, err := filepath.Abs("../../artifacts/examples")
	if err != nil {
		t.Fatal(err)
	}
	h.kubectl(t, "apply", "-f", filepath.Join(examples, "project.yaml"))
	h.isReady(t, "example")
	for _, text := range []string{
		`{"apiVersion":"kubernikus.sap.cc/v1","kind":"Kluster","metadata":{"name":"web","namespace":"default"},"spec":{"noCloud":true}}`,
		`{"apiVersion":"midonet.org/v1","kind":"Translation","metadata":{"name":"web","namespace":"default"},"resources":[]}`,
	} {
		file := filepath.Join(t.TempDir(), "object.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h.kubectl(t, "apply", "-f", file)
	}
	b := newBackendIn(t, h.cluster, "installed", "installed-user")
	b.publish(t, "web")
	b.copied(t, "web")
	b.works(t)
	// A webhook responds as well: it is served by a pod.
	out, err := h.try(t.Context(), "delete", "namespace", h.projectNamespace(t), "--dry-run=server")
	if err == nil || !strings.Contains(out, "you must delete the corresponding project") {
		t.Errorf("the namespace of a project may be deleted: %v %s", err, out)
	}
	return b
}

func (h *host) projectNamespace(t *testing.T) string {
	t.Helper()
	project := &gardenerv1beta1.Project{}
	if err := h.Get(t.Context(), client.ObjectKey{Name: "example"}, project); err != nil {
		t.Fatal(err)
	}
	return *project.Spec.Namespace
}

func (h *host) isReady(t *testing.T, name string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		project := &gardenerv1beta1.Project{}
		if err := h.Get(ctx, client.ObjectKey{Name: name}, project); err != nil {
			return err
		}
		if project.Status.Phase != gardenerv1beta1.ProjectReady {
			return fmt.Errorf("project %s is %q", name, project.Status.Phase)
		}
		return nil
	})
}

// podsAreReady: all of them, in namespaces that let only restricted ones run, and none was ever restarted.
func (h *host) podsAreReady(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		for namespace, want := range map[string]int{systemSpace: 2, adminNamespace: 1} {
			object, pods := &corev1.Namespace{}, &corev1.PodList{}
			if err := h.Get(ctx, client.ObjectKey{Name: namespace}, object); err != nil {
				return err
			}
			if object.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				return fmt.Errorf("namespace %s has the labels %v", namespace, object.Labels)
			}
			if err := h.List(ctx, pods, client.InNamespace(namespace)); err != nil {
				return err
			}
			if len(pods.Items) != want {
				return fmt.Errorf("namespace %s has %d pods, want %d", namespace, len(pods.Items), want)
			}
			for i := range pods.Items {
				pod := &pods.Items[i]
				if !isReady(pod) {
					return fmt.Errorf("pod %s is not ready: %+v", pod.Name, pod.Status)
				}
				if pod.Namespace == systemSpace && pod.Status.ContainerStatuses[0].RestartCount > 0 {
					return fmt.Errorf("pod %s was restarted: %+v", pod.Name, pod.Status.ContainerStatuses[0].LastTerminationState)
				}
			}
		}
		return nil
	})
}

// replacePods deletes the pods of a Deployment; what was stored is there afterwards.
func (h *host) replacePods(t *testing.T, name string) {
	t.Helper()
	h.kubectl(t, "delete", "pods", "--namespace", systemSpace, "--selector", "app.kubernetes.io/name="+name)
	h.kubectl(t, "rollout", "status", "--namespace", systemSpace, "deployment/"+name, "--timeout=120s")
}

// uninstall removes the installation by the command. The backend of Translations does not respond: they are abandoned, and the
// controller that would make them again is stopped first.
func (h *host) uninstall(t *testing.T, b *backend) {
	t.Helper()
	out, err := h.plugin(t.Context(), "uninstall", "--dry-run", "--abandon=translations")
	for _, want := range []string{"1. The controller manager restarts without", "default/web", "gimbal-discovery/installed", "example: ", "deployments groundskeeper-system/" + apiserver} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("the plan does not report %q: %v %s", want, err, out)
		}
	}
	namespace := h.projectNamespace(t)
	out, err = h.plugin(t.Context(), "uninstall", "--yes", "--abandon=translations", "--timeout=90s")
	if err != nil || !strings.Contains(out, "Groundskeeper has been removed") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("it printed:\n%s", out)
	// The namespace of the Project stays, as it should, and can be deleted, as can any other: nothing is registered that does not
	// respond.
	h.kubectl(t, "get", "namespace", namespace)
	create(t, h.cluster, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	h.kubectl(t, "delete", "namespace", "shop", namespace, b.namespace, "--timeout=90s")
}

// try runs kubectl as the administrator; it may fail.
func (h *host) try(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, h.Kubectl(), append([]string{"--kubeconfig", h.AdminKubeconfig()}, args...)...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}
