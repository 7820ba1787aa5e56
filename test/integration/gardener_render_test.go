// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// manifests are what an installation consists of, by kind and name.
type manifests map[string]*unstructured.Unstructured

// rendered returns the manifests of a kustomization of artifacts/, with components on top as a user puts them there.
func rendered(t *testing.T, base string, components ...string) manifests {
	t.Helper()
	dir := artifact(base)
	if len(components) > 0 {
		dir = t.TempDir()
		k := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
		relative := func(path string) string {
			absolute, err := filepath.Abs(artifact(path))
			if err == nil {
				path, err = filepath.Rel(dir, absolute)
			}
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
		k["resources"] = []string{relative(base)}
		var names []string
		for _, component := range components {
			names = append(names, relative(component))
		}
		k["components"] = names
		content, err := yaml.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), shared.Kubectl(), "kustomize", dir)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		t.Fatalf("%s %v: %v: %s", base, components, err, complaint.String())
	}
	return parsed(t, &out)
}

func parsed(t *testing.T, content io.Reader) manifests {
	t.Helper()
	all := manifests{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(content))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		object := &unstructured.Unstructured{}
		if err = errors.Join(err, yaml.UnmarshalStrict(document, &object.Object)); err != nil {
			t.Fatal(err)
		}
		all[object.GetKind()+" "+object.GetName()] = object
	}
}

// names returns those of the manifests of a kind, sorted.
func (m manifests) names(kind string) []string {
	var found []string
	for _, object := range m {
		if object.GetKind() == kind {
			found = append(found, object.GetName())
		}
	}
	slices.Sort(found)
	return found
}

// args returns those of the one container of a Deployment.
func (m manifests) args(t *testing.T, deployment string) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(m["Deployment "+deployment].Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%s has %d containers: %v", deployment, len(containers), err)
	}
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// config returns the configuration of the controller manager.
func (m manifests) config(t *testing.T) string {
	t.Helper()
	for _, name := range m.names("ConfigMap") {
		if content, _, _ := unstructured.NestedString(m["ConfigMap "+name].Object, "data", "config.yaml"); strings.HasPrefix(name, manager) {
			return content
		}
	}
	t.Fatal("there is no configuration of the controller manager")
	return ""
}

// dangling are references to what is neither in the manifests nor made by another client.
func (m manifests) dangling(elsewhere ...string) []string {
	var missing []string
	for key, object := range m {
		for _, wanted := range references(object) {
			if m[wanted] == nil && !slices.Contains(elsewhere, wanted) {
				missing = append(missing, fmt.Sprintf("%s refers to %s", key, wanted))
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// references returns the objects that an object cannot do without, by kind and name.
func references(object *unstructured.Unstructured) []string {
	var found []string
	add := func(kind string, from map[string]any, path ...string) {
		if name, ok, _ := unstructured.NestedString(from, path...); ok && name != "" {
			found = append(found, kind+" "+name)
		}
	}
	if object.GetNamespace() != "" && object.GetNamespace() != "kube-system" {
		found = append(found, "Namespace "+object.GetNamespace())
	}
	add("Service", object.Object, "spec", "service", "name")
	if kind, ok, _ := unstructured.NestedString(object.Object, "roleRef", "kind"); ok {
		add(kind, object.Object, "roleRef", "name")
	}
	subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
	for _, subject := range subjects {
		add("ServiceAccount", subject.(map[string]any), "name")
	}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for _, webhook := range webhooks {
		add("Service", webhook.(map[string]any), "clientConfig", "service", "name")
	}
	add("ServiceAccount", object.Object, "spec", "template", "spec", "serviceAccountName")
	volumes, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "volumes")
	for _, volume := range volumes {
		add("ConfigMap", volume.(map[string]any), "configMap", "name")
		add("Secret", volume.(map[string]any), "secret", "secretName")
		add("PersistentVolumeClaim", volume.(map[string]any), "persistentVolumeClaim", "claimName")
	}
	return found
}

// ofKubernetes are the roles that every cluster has.
var ofKubernetes = []string{"ClusterRole system:auth-delegator", "Role extension-apiserver-authentication-reader"}

// TestInstallationsBesideGardener checks that an installation beside Gardener has no object that Gardener has under the same name.
func TestInstallationsBesideGardener(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		installation manifests
		deployments  []string
		apiServices  []string
		webhooks     []string
		enabled      string
	}{
		{
			installation: rendered(t, "install/controllers-only"),
			deployments:  []string{manager},
			enabled:      "enabled: [project-stale, project-activity]",
		},
		{
			installation: rendered(t, "install/single-replica", "install/beside-gardener"),
			deployments:  []string{apiserver, manager},
			apiServices:  []string{"v1.gimbal.heptio.com", "v1.kubernikus.sap.cc", "v1.midonet.org"},
			webhooks:     []string{"groundskeeper"},
			enabled:      `enabled: ["*", -project]`,
		},
	} {
		m := test.installation
		if missing := m.dangling(ofKubernetes...); len(missing) > 0 {
			t.Errorf("%s", strings.Join(missing, "\n"))
		}
		for kind, want := range map[string][]string{
			"Deployment": test.deployments, "APIService": test.apiServices, "ValidatingWebhookConfiguration": test.webhooks,
		} {
			if got := m.names(kind); !slices.Equal(got, want) {
				t.Errorf("%s %q, want %q", kind, got, want)
			}
		}
		for _, role := range m.names("ClusterRole") {
			if strings.HasPrefix(role, "gardener.cloud:") && !strings.HasPrefix(role, "gardener.cloud:groundskeeper:") {
				t.Errorf("ClusterRole %s is Gardener's", role)
			}
		}
		if !strings.Contains(m.config(t), test.enabled) {
			t.Errorf("the configuration is\n%s\nwithout %s", m.config(t), test.enabled)
		}
		if m["ClusterRole "+manager+"-gardener"] == nil {
			t.Error("the controller manager is not allowed to list the objects that use a Gardener's Project")
		}
		if slices.Contains(test.deployments, apiserver) != slices.Contains(m.names("ServiceAccount"), apiserver) {
			t.Error("what is there of the API server is not all or nothing")
		}
	}
}

// TestBesideGardenerChangesNothingElse checks that an installation beside Gardener differs from the standard one only in objects
// that exist in Gardener, and in what the controllers of Projects need.
func TestBesideGardenerChangesNothingElse(t *testing.T) {
	t.Parallel()
	plain, beside := rendered(t, "install/single-replica"), rendered(t, "install/single-replica", "install/beside-gardener")
	var absent []string
	for key := range plain {
		if beside[key] == nil && !strings.HasPrefix(key, "ConfigMap ") {
			absent = append(absent, key)
		}
	}
	for _, key := range absent {
		ofProjects := strings.HasPrefix(key, "ClusterRole gardener.cloud:") || strings.HasSuffix(key, " groundskeeper-project-contents")
		if !ofProjects && key != "APIService v1beta1.core.gardener.cloud" {
			t.Errorf("%s does not exist", key)
		}
	}
	want := append(plain.args(t, apiserver), "--runtime-config=core.gardener.cloud/v1beta1=false")
	if got := beside.args(t, apiserver); !slices.Equal(got, want) {
		t.Errorf("the API server is started with %q, want %q", got, want)
	}
}
