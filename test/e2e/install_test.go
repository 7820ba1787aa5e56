// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/plane/image"
)

const (
	apiserver     = "groundskeeper-apiserver"
	manager       = "groundskeeper-controller-manager"
	systemSpace   = "groundskeeper-system"
	partOf        = "app.kubernetes.io/part-of"
	confirmation  = "confirmation.gardener.cloud/deletion"
	installFolder = "artifacts/install/single-replica"
)

// host is a cluster in which Groundskeeper is installed by its manifests, as pods.
type host struct {
	*cluster
	// folder has the kustomization that is applied: the one of artifacts with the images of this build.
	folder string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir := filepath.Join(folder, "host")
	h := &host{}
	c, err := start(t.Context(), plane.Options{
		Dir: dir, Node: true, Images: []string{archive("pause"), archive(apiserver), archive(manager)},
		KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "disruption-controller"},
		// Our Services have endpoints here.
		KubeAPIServerFlags: []string{"--enable-aggregator-routing=true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.cluster = c
	t.Cleanup(func() {
		if t.Failed() {
			h.describe(t)
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	h.addVolume(t, filepath.Join(dir, "node"))
	h.writeKustomization(t)
	return h
}

// describe logs why pods and registrations may not be ready.
func (h *host) describe(t *testing.T) {
	t.Helper()
	for _, args := range []string{
		"get pods,endpointslices --output=wide --namespace " + systemSpace, "logs deployment/" + apiserver + " --tail=10 --namespace " + systemSpace,
		"logs deployment/" + manager + " --tail=10 --namespace " + systemSpace, "describe apiservice/v1beta1.core.gardener.cloud",
	} {
		command := exec.Command(h.Kubectl(), append([]string{"--kubeconfig", h.AdminKubeconfig()}, strings.Fields(args)...)...)
		out, _ := command.CombinedOutput()
		t.Logf("kubectl %s: %s", args, out)
	}
}

// addVolume makes a volume on the node, as there is nobody to make one for a claim.
func (h *host) addVolume(t *testing.T, disk string) {
	t.Helper()
	const path = "/var/lib/volume"
	if err := os.MkdirAll(filepath.Join(disk, path), 0o777); err != nil {
		t.Fatal(err)
	}
	onNode := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{plane.NodeName}}
	create(t, h.cluster, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{onNode}}},
			}},
		},
	})
}

// writeKustomization names the images of this build, as a user names those in his registry.
func (h *host) writeKustomization(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	h.folder = filepath.Join(root, "_output", "e2e-install")
	if err := os.MkdirAll(h.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	type renamed struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	}
	var images []renamed
	for _, name := range []string{apiserver, manager} {
		reference, err := image.Reference(archive(name))
		if err != nil {
			t.Fatal(err)
		}
		to, tag, _ := strings.Cut(reference, ":")
		images = append(images, renamed{"groundskeeper.io/" + name, to, tag})
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{"../../" + installFolder}, "images": images,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.folder, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInstall installs Groundskeeper with one command, uses all kinds through its Service, replaces its pods, and removes
// it in the order of docs/install.md.
func TestInstall(t *testing.T) {
	h := newHost(t)
	h.kubectl(t, "apply", "-k", h.folder)
	for _, name := range []string{apiserver, manager} {
		h.kubectl(t, "rollout", "status", "--namespace", systemSpace, "deployment/"+name, "--timeout=90s")
	}
	for _, group := range []string{"v1beta1.core.gardener.cloud", "v1.kubernikus.sap.cc", "v1.midonet.org", "v1.gimbal.heptio.com"} {
		h.kubectl(t, "wait", "--for=condition=Available", "apiservice/"+group, "--timeout=60s")
	}
	h.useAllKinds(t)
	for _, name := range []string{apiserver, manager} {
		h.replacePods(t, name)
	}
	h.isReady(t, "example")
	h.uninstall(t)
}

// useAllKinds makes an object of each kind.
func (h *host) useAllKinds(t *testing.T) {
	t.Helper()
	examples, err := filepath.Abs("../../artifacts/examples")
	if err != nil {
		t.Fatal(err)
	}
	h.kubectl(t, "apply", "-f", filepath.Join(examples, "project.yaml"))
	h.isReady(t, "example")
	h.kubectl(t, "apply", "-f", filepath.Join(examples, "discoverybackends.yaml"))
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
	// A webhook answers as well: it is served by a pod.
	out, err := h.try(t, "delete", "namespace", h.projectNamespace(t), "--dry-run=server")
	if err == nil || !strings.Contains(out, "you must delete the corresponding project") {
		t.Errorf("the namespace of a project may be deleted: %v %s", err, out)
	}
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

// replacePods deletes the pods of a Deployment; what was stored is there afterwards.
func (h *host) replacePods(t *testing.T, name string) {
	t.Helper()
	h.kubectl(t, "delete", "pods", "--namespace", systemSpace, "--selector", "app.kubernetes.io/name="+name)
	h.kubectl(t, "rollout", "status", "--namespace", systemSpace, "deployment/"+name, "--timeout=90s")
}

// uninstall removes the installation: objects, registrations, workloads, namespaces.
func (h *host) uninstall(t *testing.T) {
	t.Helper()
	h.kubectl(t, "annotate", "project/example", confirmation+"=true")
	h.kubectl(t, "annotate", "kluster/web", confirmation+"=true", "groundskeeper.io/detach=true")
	h.kubectl(t, "delete", "discoverybackends", "--all", "--namespace", adminNamespace, "--timeout=60s")
	h.kubectl(t, "delete", "kluster/web", "translation/web", "--wait=false")
	// The controllers of Klusters and Translations are off: nobody else takes the finalizers.
	for _, name := range []string{"kluster/web", "translation/web"} {
		h.kubectl(t, "patch", name, "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`)
	}
	h.kubectl(t, "delete", "project/example", "--timeout=60s")
	h.kubectl(t, "delete", "apiservices,validatingwebhookconfigurations", "--selector", partOf+"=groundskeeper")
	h.kubectl(t, "delete", "-k", h.folder, "--ignore-not-found", "--timeout=90s")
	for _, namespace := range []string{systemSpace, adminNamespace} {
		if err := h.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
			t.Errorf("namespace %s: %v", namespace, err)
		}
	}
	if left := h.labelled(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// Namespaces can be deleted again: nothing is registered that does not answer.
	create(t, h.cluster, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	h.kubectl(t, "delete", "namespace/shop", "--timeout=60s")
}

// labelled are the objects of all kinds that carry our label.
func (h *host) labelled(t *testing.T) (left []string) {
	t.Helper()
	kinds := strings.Fields(h.kubectl(t, "api-resources", "--verbs=list,delete", "--output=name"))
	slices.Sort(kinds)
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "endpoints" }) // they are EndpointSlices as well, and kubectl warns of them
	out := h.kubectl(t, "get", strings.Join(kinds, ","), "--all-namespaces", "--ignore-not-found", "--output=name", "--selector", partOf+"=groundskeeper")
	return strings.Fields(out)
}

// try runs kubectl as the administrator; it may fail.
func (h *host) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), h.Kubectl(), append([]string{"--kubeconfig", h.AdminKubeconfig()}, args...)...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}
