// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// limits are values that each feature can be enabled with.
const limits = `
controllerManager:
  config: |
    apiVersion: config.groundskeeper.io/v1alpha1
    kind: ControllerManagerConfiguration
    server: {webhooks: {resourceSize: {limits: [{apiGroups: [""]}]}}}
`

const (
	apiserver = "apps/v1/Deployment/groundskeeper-system/groundskeeper-apiserver"
	manager   = "apps/v1/Deployment/groundskeeper-system/groundskeeper-controller-manager"
	etcd      = "apps/v1/StatefulSet/groundskeeper-system/groundskeeper-etcd"
	// container is the path of the only container in Groundskeeper's pods.
	container = "spec.template.spec.containers.0"
	claim     = "v1/PersistentVolumeClaim/groundskeeper-system/groundskeeper-etcd"
)

// at returns what is at a path of an object as YAML, a number in the path being that of an item.
func at(t *testing.T, o object, path string) string {
	t.Helper()
	var value any = map[string]any(o)
	for field := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[field]
		case []any:
			value = v[0]
			if field == "last" {
				value = v[len(v)-1]
			}
		}
	}
	written, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(written))
}

// settings list for each value what it sets, and where that is in the installation.
var settings = []struct{ value, set, id, path, want string }{
	{"image.registry", "example.com:5000/gk", apiserver, container + ".image", "example.com:5000/gk/groundskeeper-apiserver:latest"},
	{"image.tag", "v1", manager, container + ".image", "groundskeeper.io/groundskeeper-controller-manager:v1"},
	{"image.pullPolicy", "Always", apiserver, container + ".imagePullPolicy", "Always"},
	{"image.pullSecrets", "[{name: registry}]", manager, "spec.template.spec.imagePullSecrets", "- name: registry"},
	{"apiserver.image.name", "api", apiserver, container + ".image", "groundskeeper.io/api:latest"},
	{"apiserver.image.tag", "v2", apiserver, container + ".image", "groundskeeper.io/groundskeeper-apiserver:v2"},
	{"apiserver.image.digest", digest, apiserver, container + ".image", "groundskeeper.io/groundskeeper-apiserver@" + digest},
	{"apiserver.replicas", "0", apiserver, "spec.replicas", "0"},
	{"apiserver.resources", "{limits: {memory: 4Gi}}", apiserver, container + ".resources.limits.memory", "4Gi"},
	{"apiserver.port", "9443", apiserver, container + ".args.0", "--secure-port=9443"},
	{"apiserver.port", "9443", apiserver, container + ".ports.0.containerPort", "9443"},
	{"apiserver.hostNetwork", "true", apiserver, "spec.template.spec.dnsPolicy", "ClusterFirstWithHostNet"},
	{"controllerManager.hostNetwork", "true", manager, "spec.template.spec.hostNetwork", "true"},
	{"apiserver.extraArgs", "[--v=2, '--feature-gates={{x}}']", apiserver, container + ".args.last", "--feature-gates={{x}}"},
	{"apiserver.nodeSelector", "{disk: ssd}", apiserver, "spec.template.spec.nodeSelector", "disk: ssd"},
	{"apiserver.tolerations", "[{operator: Exists}]", apiserver, "spec.template.spec.tolerations", "- operator: Exists"},
	{"apiserver.affinity", "{nodeAffinity: {x: v}}", apiserver, "spec.template.spec.affinity.nodeAffinity.x", "v"},
	{"controllerManager.image.name", "m", manager, container + ".image", "groundskeeper.io/m:latest"},
	{"controllerManager.image.tag", "v2", manager, container + ".image", "groundskeeper.io/groundskeeper-controller-manager:v2"},
	{"controllerManager.image.digest", digest, manager, container + ".image", "groundskeeper.io/groundskeeper-controller-manager@" + digest},
	{"controllerManager.replicas", "3", manager, "spec.replicas", "3"},
	{"controllerManager.resources", "{requests: {cpu: 2}}", manager, container + ".resources.requests.cpu", "2"},
	{"controllerManager.extraArgs", "[--health-address=:1]", manager, container + ".args.last", "--health-address=:1"},
	{"controllerManager.nodeSelector", "{disk: ssd}", manager, "spec.template.spec.nodeSelector", "disk: ssd"},
	{"controllerManager.tolerations", "[{key: a, effect: NoSchedule}]", manager, "spec.template.spec.tolerations.0.key", "a"},
	{"controllerManager.affinity", "{podAffinity: {x: v}}", manager, "spec.template.spec.affinity.podAffinity.x", "v"},
	{"etcd.image", "registry.example.com/etcd:1", etcd, container + ".image", "registry.example.com/etcd:1"},
	{"etcd.resources", "{limits: {memory: 1Gi}}", etcd, container + ".resources.limits.memory", "1Gi"},
	{"etcd.extraArgs", "[--log-level=debug]", etcd, container + ".command.last", "--log-level=debug"},
	{"etcd.nodeSelector", "{disk: ssd}", etcd, "spec.template.spec.nodeSelector", "disk: ssd"},
	{"etcd.tolerations", "[{operator: Exists}]", etcd, "spec.template.spec.tolerations", "- operator: Exists"},
	{"volume.size", "20Gi", etcd, "spec.volumeClaimTemplates.0.spec.resources.requests.storage", "20Gi"},
	{"volume.storageClassName", "fast", etcd, "spec.volumeClaimTemplates.0.spec.storageClassName", "fast"},
	{"volume.size", "20Gi", claim, "spec.resources.requests.storage", "20Gi"},
	{"volume.storageClassName", "fast", claim, "spec.storageClassName", "fast"},
	{"controllerManager.config", "{}", "", "config", "'{}'"},
	{"features.discovery.enabled", "true", "", "config.controllers.discovery.image", "groundskeeper.io/groundskeeper-discoverer:latest"},
	{"discoverer.image.name", "d", "", "config.controllers.discovery.image", "groundskeeper.io/d:latest"},
	{"discoverer.image.tag", "v3", "", "config.controllers.discovery.image", "groundskeeper.io/groundskeeper-discoverer:v3"},
	{"discoverer.image.digest", digest, "", "config.controllers.discovery.image", "groundskeeper.io/groundskeeper-discoverer@" + digest},
	{"features.kluster.enabled", "true", "", "config.controllers.kluster.enabled", "true"},
	{"features.clusterAPI.enabled", "true", "", "config.controllers.kluster.clusterAPI.enabled", "true"},
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// elsewhere are the values that have their own test.
var elsewhere = []string{"mode", "namespaces.create", "apiServices.create", "allowModeChange", "features.resourceSize.enabled"}

func TestEachValueIsOfUse(t *testing.T) {
	before := mustTemplate(t, "")
	for _, s := range settings {
		t.Run(s.value+"/"+s.path, func(t *testing.T) {
			values := "{}"
			if s.value != "controllerManager.config" {
				values = nested(s.value, s.set)
			}
			if strings.HasPrefix(s.value, "discoverer.") {
				values += "\nfeatures: {discovery: {enabled: true}}"
			}
			if s.value == "features.clusterAPI.enabled" {
				values = "features: {kluster: {enabled: true}, clusterAPI: {enabled: true}}"
			}
			if s.id == etcd {
				values += "\nmode: high-availability"
			}
			if s.id != "" {
				objects := mustTemplate(t, values)
				if is := at(t, objects[s.id], s.path); is != s.want {
					t.Errorf("%s is %q, not %q", s.path, is, s.want)
				}
				if was := at(t, before[s.id], s.path); was == s.want {
					t.Errorf("%s was %q without the value", s.path, was)
				}
				return
			}
			if s.value == "controllerManager.config" {
				values = nested(s.value, "\"a: b\n\"")
				s.path, s.want = "config.a", "b"
			}
			config, name := configOf(t, mustTemplate(t, values))
			if is := at(t, object{"config": config}, s.path); is != s.want {
				t.Errorf("%s is %q, not %q", s.path, is, s.want)
			}
			if _, was := configOf(t, before); name == was {
				t.Error("the ConfigMap has the name that it had, so pods would not restart")
			}
		})
	}
}

// configOf returns the configuration of the controller manager, and the name of its ConfigMap, which the Deployment must have.
func configOf(t *testing.T, objects map[string]object) (map[string]any, string) {
	t.Helper()
	for _, o := range objects {
		if !isConfig(o) {
			continue
		}
		config, name := map[string]any{}, o.text("metadata", "name")
		if err := yaml.Unmarshal([]byte(o.text("data", "config.yaml")), &config); err != nil {
			t.Fatal(err)
		}
		if mounted := at(t, objects[manager], "spec.template.spec.volumes.0.configMap.name"); mounted != name {
			t.Errorf("the ConfigMap is %s, and the Deployment has %s", name, mounted)
		}
		return config, name
	}
	t.Fatal("there is no configuration")
	return nil, ""
}

func TestNoValueIsWithoutATest(t *testing.T) {
	written, err := os.ReadFile(filepath.Join(committed, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(written, &values); err != nil {
		t.Fatal(err)
	}
	tested := slices.Clone(elsewhere)
	for _, s := range settings {
		tested = append(tested, s.value)
	}
	all := leaves(values, "", tested)
	slices.Sort(all)
	slices.Sort(tested)
	tested = slices.Compact(tested)
	if !reflect.DeepEqual(all, tested) {
		t.Errorf("values are %q, and tests are for %q", all, tested)
	}
}

// leaves returns the paths of values, down to where one is known.
func leaves(values map[string]any, prefix string, known []string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		deeper, ok := values[name].(map[string]any)
		if ok && len(deeper) > 0 && !slices.Contains(known, prefix+name) {
			all = append(all, leaves(deeper, prefix+name+".", known)...)
			continue
		}
		all = append(all, prefix+name)
	}
	return all
}

// nested writes the value of a path as YAML.
func nested(path, value string) string {
	parts := strings.Split(path, ".")
	for i := len(parts) - 1; i > 0; i-- {
		value = "{" + parts[i] + ": " + value + "}"
	}
	return parts[0] + ": " + value
}

func TestInvalidValuesAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"mode: many":            "mode",
		"modes: single-replica": "modes",
		"replicas: 2":           "replicas",
		"image: {registry: registry.example.com/}":                                 "registry",
		"image: {pullPolicy: Sometimes}":                                           "pullPolicy",
		"image: {pullSecrets: [registry]}":                                         "pullSecrets",
		"apiserver: {replicas: two}":                                               "replicas",
		"apiserver: {replicas: -1}":                                                "replicas",
		"apiserver: {replicas: 2}":                                                 "one volume",
		"apiserver: {port: 443}":                                                   "port",
		"apiserver: {hostNetwork: yes please}":                                     "hostNetwork",
		"apiserver: {extraArgs: [v=2]}":                                            "extraArgs",
		"apiserver: {extraArgs: --v=2}":                                            "extraArgs",
		"apiserver: {image: {digest: latest}}":                                     "digest",
		"apiserver: {resources: {memory: 1Gi}}":                                    "resources",
		"apiserver: {config: x}":                                                   "config",
		"controllerManager: {tolerations: [{effect: Never}]}":                      "effect",
		"controllerManager: {config: {kind: x}}":                                   "config",
		"controllerManager: {config: 'a: b: c'}":                                   "no YAML",
		"volume: {size: big}":                                                      "size",
		"features: {discovery: true}":                                              "discovery",
		"features: {resourceSize: {enabled: true}}":                                "server.webhooks.resourceSize.limits",
		"controllerManager: {config: '{controllers: {kluster: {enabled: true}}}'}": "set features.kluster.enabled",
		"controllerManager: {config: '{controllers: {discovery: {image: x}}}'}":    "set features.discovery.enabled",
		"features: {clusterAPI: {enabled: true}}":                                  "set features.kluster.enabled, too",
		"{controllerManager: {config: '{controllers: {kluster: {enabled: true, clusterAPI: {enabled: true}}}}'}, features: {kluster: {enabled: true}}}": "set features.clusterAPI.enabled",
		"{controllerManager: {config: '{kind: Other}'}, features: {kluster: {enabled: true}}}":                                                          "config.groundskeeper.io/v1alpha1 only",
	} {
		_, err := render(t, values, "default")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not contain %q", values, err, want)
		}
	}
	if _, err := render(t, "", systemNamespace); err == nil || !strings.Contains(err.Error(), "leave out --namespace") {
		t.Errorf("a release in the namespace that it creates: error %v", err)
	}
}
