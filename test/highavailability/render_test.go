// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package highavailability

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const root = "../../"

// workload is what runs pods.
type workload struct {
	kind, name string
	replicas   int32
	selector   *metav1.LabelSelector
	template   corev1.PodTemplateSpec
}

// installation is what an overlay consists of, as far as checked.
type installation struct {
	workloads   []workload
	deployments map[string]appsv1.Deployment
	etcd        *appsv1.StatefulSet
	services    map[string]corev1.Service
	budgets     map[string]policyv1.PodDisruptionBudget
	policies    map[string]networkingv1.NetworkPolicy
	roles       map[string]rbacv1.Role
	config      map[string]corev1.ConfigMap
}

// render builds an overlay of artifacts/install as kubectl apply -k does.
func render(t *testing.T, overlay string) *installation {
	t.Helper()
	kubectl := root + "_output/bin/kubectl"
	if _, err := os.Stat(kubectl); err != nil {
		t.Fatalf("%v: make kubernetes builds it", err)
	}
	var complaints bytes.Buffer
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", root+"artifacts/install/"+overlay)
	command.Stderr = &complaints
	rendered, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	i := &installation{
		deployments: map[string]appsv1.Deployment{}, services: map[string]corev1.Service{},
		budgets: map[string]policyv1.PodDisruptionBudget{}, policies: map[string]networkingv1.NetworkPolicy{}, roles: map[string]rbacv1.Role{},
		config: map[string]corev1.ConfigMap{},
	}
	for document := range strings.SplitSeq(string(rendered), "\n---\n") {
		i.add(t, []byte(document))
	}
	for _, d := range i.deployments {
		i.workloads = append(i.workloads, workload{"Deployment", d.Name, *d.Spec.Replicas, d.Spec.Selector, d.Spec.Template})
	}
	if i.etcd != nil {
		i.workloads = append(i.workloads, workload{"StatefulSet", i.etcd.Name, *i.etcd.Spec.Replicas, i.etcd.Spec.Selector, i.etcd.Spec.Template})
	}
	return i
}

// add reads one object; a field that its kind does not have is a mistake.
func (i *installation) add(t *testing.T, document []byte) {
	t.Helper()
	var object metav1.PartialObjectMetadata
	read(t, document, &object, yaml.Unmarshal)
	switch object.Kind {
	case "Deployment":
		var d appsv1.Deployment
		strictly(t, document, &d)
		i.deployments[d.Name] = d
	case "StatefulSet":
		i.etcd = &appsv1.StatefulSet{}
		strictly(t, document, i.etcd)
	case "Service":
		var s corev1.Service
		strictly(t, document, &s)
		i.services[s.Name] = s
	case "PodDisruptionBudget":
		var b policyv1.PodDisruptionBudget
		strictly(t, document, &b)
		i.budgets[b.Name] = b
	case "NetworkPolicy":
		var p networkingv1.NetworkPolicy
		strictly(t, document, &p)
		i.policies[p.Name] = p
	case "ConfigMap":
		var c corev1.ConfigMap
		strictly(t, document, &c)
		i.config[c.Name] = c
	case "Role":
		var r rbacv1.Role
		strictly(t, document, &r)
		i.roles[r.Name] = r
	}
}

func strictly(t *testing.T, document []byte, into any) {
	t.Helper()
	read(t, document, into, yaml.UnmarshalStrict)
}

func read(t *testing.T, document []byte, into any, unmarshal func([]byte, any, ...yaml.JSONOpt) error) {
	t.Helper()
	if err := unmarshal(document, into); err != nil {
		t.Fatalf("%v in:\n%s", err, document)
	}
}

// selected returns the workloads whose pods a selector chooses.
func (i *installation) selected(t *testing.T, selector *metav1.LabelSelector) []workload {
	t.Helper()
	chooses, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	var chosen []workload
	for _, w := range i.workloads {
		if chooses.Matches(labels.Set(w.template.Labels)) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}

// port reports whether a container of the workload has the port of that name or number.
func (w workload) port(port string) bool {
	for _, c := range w.template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port || strconv.Itoa(int(p.ContainerPort)) == port {
				return true
			}
		}
	}
	return false
}

// flags returns the arguments of the first container.
func (w workload) flags() map[string]string {
	flags, c := map[string]string{}, w.template.Spec.Containers[0]
	for _, argument := range append(c.Command, c.Args...) {
		name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		flags[name] = value
	}
	return flags
}

func (i *installation) workload(t *testing.T, name string) workload {
	t.Helper()
	for _, w := range i.workloads {
		if w.name == name {
			return w
		}
	}
	t.Fatalf("there is no %s", name)
	return workload{}
}
