// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/plane/image"
)

// host is a cluster in which Groundskeeper is installed by its manifests, as pods.
type host struct {
	*cluster
	// Where kustomizations of this test lie: outside of the manifests, as a user's do.
	directory string
}

// build is something that can be installed: manifests, and images that are on the node.
type build struct{ name, artifacts, images string }

// builds returns the one of before and this one.
func builds() (before, now build) {
	return build{"before", previous + "/artifacts", previous + "/images"}, build{"now", "../../artifacts", images}
}

// productImages returns those that an installation needs.
func productImages() []string { return []string{apiserver, manager, discoverer} }

func (b build) archive(name string) string { return filepath.Join(b.images, name+".tar") }

func newHost(t *testing.T) *host {
	t.Helper()
	dir := filepath.Join(directory, "host")
	archives := []string{archive("pause")}
	before, now := builds()
	if _, err := os.Stat(filepath.Join(previous, "commit")); err != nil {
		t.Fatalf("%v: \"test/e2e/previous.sh _output/previous\" makes what the upgrade begins with", err)
	}
	for _, b := range []build{before, now} {
		for _, name := range productImages() {
			archives = append(archives, b.archive(name))
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{directory: filepath.Join(root, "_output", "e2e-install")}
	c, err := start(t.Context(), plane.Options{
		Dir: dir, Node: true, Images: archives,
		KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "disruption-controller"},
		// Groundskeeper's Services have endpoints here.
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
	for _, name := range []string{"first", "restored"} {
		h.addVolume(t, filepath.Join(dir, "node"), name)
	}
	return h
}

// describe logs why pods and registrations may not be ready.
func (h *host) describe(t *testing.T) {
	t.Helper()
	for _, args := range []string{
		"get pods,endpointslices --output=wide --all-namespaces",
		"logs deployment/" + apiserver + " --tail=10 --namespace " + systemSpace,
		"logs --selector app.kubernetes.io/name=" + manager + " --prefix --tail=25 --namespace " + systemSpace,
		"describe apiservice/v1beta1.core.gardener.cloud",
		"describe pods --selector app.kubernetes.io/name=" + manager + " --namespace " + systemSpace,
	} {
		out, _ := h.try(context.Background(), strings.Fields(args)...)
		t.Logf("kubectl %s: %s", args, out)
	}
	// A manager does not log what it waits for.
	names, _ := h.try(context.Background(), "get", "pods", "--namespace", systemSpace, "--selector", "app.kubernetes.io/name="+manager, "--output=name")
	for _, pod := range strings.Fields(names) {
		path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:2718/proxy/readyz?verbose", systemSpace, strings.TrimPrefix(pod, "pod/"))
		out, _ := h.try(context.Background(), "get", "--raw", path)
		t.Logf("%s: %s", path, out)
	}
}

// addVolume makes a volume on the node, because nothing creates one for a claim.
func (h *host) addVolume(t *testing.T, disk, name string) {
	t.Helper()
	path := "/var/lib/volume-" + name
	if err := os.MkdirAll(filepath.Join(disk, path), 0o777); err != nil {
		t.Fatal(err)
	}
	onNode := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{plane.NodeName}}
	create(t, h.cluster, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
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

// kustomization writes what a user of the build writes: which images there are, and that all controllers run, with the permissions
// that these need. It returns the directory to apply. There is a MidoNet, which does not respond.
func (h *host) kustomization(t *testing.T, b build) string {
	t.Helper()
	to := filepath.Join(h.directory, b.name)
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	type renamed struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	}
	var names []renamed
	references := map[string]string{}
	for _, name := range productImages() {
		reference, err := image.Reference(b.archive(name))
		if err != nil {
			t.Fatal(err)
		}
		newName, tag, _ := strings.Cut(reference, ":")
		names = append(names, renamed{"groundskeeper.io/" + name, newName, tag})
		references[name] = reference
	}
	config := fmt.Sprintf("apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\ncontrollers:\n  discovery: {image: %q}\n  kluster: {enabled: true}\n"+
		"  translation: {midonet: {url: \"http://%s:9/midonet-api\"}}\n", references[discoverer], h.Address())
	artifacts, err := filepath.Abs(b.artifacts)
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(to, artifacts)
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, part := range []string{"install/single-replica", "discovery", "kluster"} {
		resources = append(resources, filepath.Join(relative, part))
	}
	generated, err := configMapOf(b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources, "images": names,
		"configMapGenerator": []any{map[string]any{"name": generated, "namespace": systemSpace, "behavior": "replace", "files": []string{"config.yaml"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"kustomization.yaml": string(text), "config.yaml": config} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// configMapOf returns the name of the ConfigMap that a build's kustomization generates from the configuration: it was another one
// once.
func configMapOf(b build) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.artifacts, "install", "base", "kustomization.yaml"))
	if err != nil {
		return "", err
	}
	var kustomization struct {
		ConfigMapGenerator []struct {
			Name string `json:"name"`
		} `json:"configMapGenerator"`
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		return "", err
	}
	if len(kustomization.ConfigMapGenerator) != 1 {
		return "", fmt.Errorf("%s generates %d ConfigMaps", b.artifacts, len(kustomization.ConfigMapGenerator))
	}
	return kustomization.ConfigMapGenerator[0].Name, nil
}

// install applies a build, and waits until all of it works. It registers the API when the API server is ready.
func (h *host) install(t *testing.T, b build) {
	t.Helper()
	kustomization := h.kustomization(t, b)
	h.kubectl(t, "apply", "-k", kustomization, "--selector", "app.kubernetes.io/component!=apiservice")
	h.kubectl(t, "rollout", "status", "--namespace", systemSpace, "deployment/"+apiserver, "--timeout=120s")
	h.kubectl(t, "apply", "-k", kustomization)
	for _, name := range []string{apiserver, manager} {
		h.kubectl(t, "rollout", "status", "--namespace", systemSpace, "deployment/"+name, "--timeout=120s")
	}
	for _, group := range []string{"v1beta1.core.gardener.cloud", "v1.kubernikus.sap.cc", "v1.midonet.org", "v1.gimbal.heptio.com"} {
		h.kubectl(t, "wait", "--for=condition=Available", "apiservice/"+group, "--timeout=90s")
	}
}
