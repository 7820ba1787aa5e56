// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const (
	artifacts = "../../artifacts"
	committed = "../../charts/groundskeeper"
)

// render does what "helm template" does, with values as YAML.
func render(t *testing.T, values, namespace string) (map[string]object, error) {
	t.Helper()
	loaded, err := loader.Load(committed)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	options := common.ReleaseOptions{Name: "groundskeeper", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(loaded, given, options, common.DefaultCapabilities.Copy())
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]object{}
	for name, content := range files {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq("\n"+content, "\n---") {
			var o object
			if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, document)
			}
			if o == nil {
				continue
			}
			if _, twice := objects[o.id()]; twice {
				t.Fatalf("%s is there twice", o.id())
			}
			objects[o.id()] = o
		}
	}
	return objects, nil
}

func mustTemplate(t *testing.T, values string) map[string]object {
	t.Helper()
	objects, err := render(t, values, "default")
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// same fails unless objects are those of the directories of artifacts, and what docs/helm.md lists as additions of the chart.
func same(t *testing.T, is map[string]object, directories ...string) {
	t.Helper()
	want := map[string]object{}
	for _, directory := range directories {
		objects, err := build(artifacts, directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			want[o.id()] = o
		}
	}
	for _, own := range []string{"ValidatingAdmissionPolicy/", "ValidatingAdmissionPolicyBinding/"} {
		delete(is, "admissionregistration.k8s.io/v1/"+own+"/groundskeeper-helm-uninstall")
	}
	delete(is, "rbac.authorization.k8s.io/v1/ClusterRole//groundskeeper-helm-uninstall")
	for id, o := range is {
		if o.at("metadata", "annotations", "helm.sh/resource-policy") == "keep" {
			annotations := fields(o, "metadata", "annotations")
			delete(annotations, "helm.sh/resource-policy")
			if len(annotations) == 0 {
				delete(fields(o, "metadata"), "annotations")
			}
		}
		if want[id] == nil {
			t.Errorf("%s is in the chart, and in no directory of artifacts", id)
		} else if !reflect.DeepEqual(plain(t, o), plain(t, want[id])) {
			t.Errorf("%s is\n%s, and in artifacts\n%s", id, plain(t, o), plain(t, want[id]))
		}
	}
	for id := range want {
		if is[id] == nil {
			t.Errorf("%s is not in the chart", id)
		}
	}
}

// plain makes objects that were read in two ways comparable.
func plain(t *testing.T, o object) string {
	t.Helper()
	written, err := yaml.Marshal(map[string]any(o))
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

func TestTheChartIsThatOfTheArtifacts(t *testing.T) {
	files, err := chart(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if is, err := os.ReadFile(filepath.Join(committed, name)); err != nil || string(is) != content {
			t.Errorf("%s is stale: \"make generate\" writes it (%v)", name, err)
		}
	}
	err = filepath.WalkDir(committed, func(file string, entry fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(committed, file); err == nil && !entry.IsDir() && files[name] == "" {
			t.Errorf("%s is not of the chart: \"make generate\" removes it", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLint is "helm lint --strict".
func TestLint(t *testing.T) {
	for mode := range modes {
		for _, message := range lint.RunAll(committed, map[string]any{"mode": mode}, "default").Messages {
			if message.Severity >= support.WarningSev {
				t.Errorf("mode %s: %v", mode, message)
			}
		}
	}
}

func TestEachModeHasTheObjectsOfItsDirectory(t *testing.T) {
	for mode, directory := range modes {
		t.Run(mode, func(t *testing.T) {
			same(t, mustTemplate(t, "mode: "+mode), directory)
		})
	}
}

func TestEachFeatureHasTheObjectsOfItsDirectory(t *testing.T) {
	for feature, directory := range features {
		t.Run(feature, func(t *testing.T) {
			required := ""
			if feature == "clusterAPI" {
				required = "kluster: {enabled: true}, "
			}
			without, with := mustTemplate(t, limits+"features: {"+required+"}"), mustTemplate(t, limits+"features: {"+required+feature+": {enabled: true}}")
			for id := range without {
				// The feature is enabled in the configuration, which changes its name.
				if !isConfig(without[id]) && without[id].text("kind") != "Deployment" && reflect.DeepEqual(without[id], with[id]) {
					delete(with, id)
				}
			}
			for id, o := range with {
				if isConfig(o) || o.text("kind") == "Deployment" {
					delete(with, id)
				}
			}
			same(t, with, directory)
		})
	}
}

func TestTheHostNetworkIsThatOfTheComponent(t *testing.T) {
	for mode, directory := range modes {
		t.Run(mode, func(t *testing.T) {
			objects := mustTemplate(t, "{mode: "+mode+", apiserver: {hostNetwork: true}, controllerManager: {hostNetwork: true}}")
			same(t, objects, withComponent(t, "install/host-network", directory))
		})
	}
}

// withComponent returns a directory, relative to artifacts, that has one of them with a component.
func withComponent(t *testing.T, component, directory string) string {
	t.Helper()
	to := t.TempDir()
	from, err := filepath.Abs(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Rel(to, from)
	if err != nil {
		t.Fatal(err)
	}
	back, err := filepath.Rel(from, to)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s]\ncomponents: [%s]\n",
		filepath.Join(there, directory), filepath.Join(there, component))
	if err := os.WriteFile(filepath.Join(to, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return back
}

// The ports of the controller manager are in its configuration, and the container has the same.
func TestTheManagerHasThePortsOfItsConfiguration(t *testing.T) {
	for config, want := range map[string][]int{
		"": {2718, 2719},
		"server: {health: {port: 9080}, webhooks: {port: 9443}}": {9080, 9443},
		"server: {webhooks: {port: 9443}}":                       {2718, 9443},
	} {
		for mode := range modes {
			values := fmt.Sprintf("{mode: %s, controllerManager: {config: '{kind: ControllerManagerConfiguration, %s}'}}", mode, config)
			objects := mustTemplate(t, values)
			service := objects["v1/Service/groundskeeper-system/groundskeeper-controller-manager"]
			if target := at(t, service, "spec.ports.0.targetPort"); target != "webhooks" {
				t.Errorf("mode %s: targetPort of the webhooks = %q, want the name of the port", mode, target)
			}
			var got []int
			ports, _ := containerOf(objects[manager])["ports"].([]any)
			for _, port := range ports {
				number, _ := port.(map[string]any)["containerPort"].(float64)
				got = append(got, int(number))
			}
			if !slices.Equal(got, want) {
				t.Errorf("mode %s, configuration %q: ports = %v, want %v", mode, config, got, want)
			}
		}
	}
}

func TestNamespacesMayExist(t *testing.T) {
	objects, err := render(t, "namespaces: {create: false}", systemNamespace)
	if err != nil {
		t.Fatal(err)
	}
	for id, o := range objects {
		if o.text("kind") == "Namespace" {
			t.Errorf("%s is created", id)
		}
	}
}

// A first installation can register the API after the API server is ready.
func TestTheAPIServicesCanBeRegisteredLater(t *testing.T) {
	for values, want := range map[string]int{"": 4, "apiServices: {create: false}": 0} {
		count := 0
		for _, o := range mustTemplate(t, values) {
			if o.text("kind") == "APIService" {
				count++
			}
		}
		if count != want {
			t.Errorf("values %q: %d APIServices, want %d", values, count, want)
		}
	}
}

// Objects that values remove from the installation must not delete the data.
func TestObjectsWithDataAreRetained(t *testing.T) {
	kept := 0
	for id, o := range mustTemplate(t, "") {
		keeps := o.at("metadata", "annotations", "helm.sh/resource-policy") == "keep"
		if kind := o.text("kind"); keeps != (kind == "Namespace" || kind == "PersistentVolumeClaim") {
			t.Errorf("%s is kept: %t", id, keeps)
		}
		if keeps {
			kept++
		}
	}
	if kept != 3 {
		t.Errorf("%d objects are kept, not 3", kept)
	}
}

// The garbage collector knows how much memory a container may have, so that it runs before the limit ends the process.
func TestTheCollectorKnowsTheLimit(t *testing.T) {
	for mode := range modes {
		known := 0
		for id, o := range mustTemplate(t, "mode: "+mode) {
			if o.text("kind") != "Deployment" || o.text("metadata", "name") == "groundskeeper-etcd" {
				continue
			}
			if !strings.Contains(plain(t, o), "- name: GOMEMLIMIT\n          valueFrom:\n            resourceFieldRef:\n              resource: limits.memory") {
				t.Errorf("mode %s: %s has no GOMEMLIMIT", mode, id)
			}
			known++
		}
		if known == 0 {
			t.Errorf("mode %s has no Deployments", mode)
		}
	}
}
