// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package highavailability

import (
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// backupLabels name the pods that export and import.
var backupLabels = map[string]string{"app.kubernetes.io/name": "groundskeeper-backup"}

// examples returns the pods of artifacts/examples/backup.
func examples(t *testing.T) map[string]metav1.ObjectMeta {
	t.Helper()
	documents := func(file string) []string {
		content, err := os.ReadFile(root + "artifacts/examples/backup/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(content), "\n---\n")
	}
	var job batchv1.CronJob
	strictly(t, []byte(documents("cronjob.yaml")[1]), &job)
	pods := map[string]metav1.ObjectMeta{"export": job.Spec.JobTemplate.Spec.Template.ObjectMeta}
	pods["export"] = metav1.ObjectMeta{Namespace: job.Namespace, Labels: pods["export"].Labels}
	for _, file := range []string{"import-pod.yaml", "import-pod-etcd.yaml"} {
		var pod corev1.Pod
		strictly(t, []byte(documents(file)[0]), &pod)
		pods[file] = pod.ObjectMeta
	}
	return pods
}

// TestBackupsReachEtcd checks that backups reach the installed etcd, and that no client mistakes them for an API server.
func TestBackupsReachEtcd(t *testing.T) {
	i := render(t, "high-availability")
	for name, pod := range examples(t) {
		if pod.Namespace != i.etcd.Namespace {
			t.Fatalf("%s is in namespace %q", name, pod.Namespace)
		}
		if !i.admits(t, etcd, "client", pod.Labels) {
			t.Errorf("%s with labels %v does not reach etcd", name, pod.Labels)
		}
		if i.admits(t, etcd, "peer", pod.Labels) {
			t.Errorf("%s is admits as a member of etcd", name)
		}
		for _, policy := range i.policies {
			if matches(t, &policy.Spec.PodSelector, pod.Labels) {
				t.Errorf("%s is under NetworkPolicy %s", name, policy.Name)
			}
			for _, what := range policy.Spec.PolicyTypes {
				if what == networkingv1.PolicyTypeEgress {
					t.Errorf("NetworkPolicy %s limits what leaves a pod: does a backup leave?", policy.Name)
				}
			}
		}
		for _, service := range i.services {
			if len(service.Spec.Selector) > 0 && contains(pod.Labels, service.Spec.Selector) {
				t.Errorf("Service %s leads to %s", service.Name, name)
			}
		}
		for _, w := range i.workloads {
			if matches(t, w.selector, pod.Labels) {
				t.Errorf("%s is taken for a pod of %s", name, w.name)
			}
		}
	}
	if i.admits(t, etcd, "client", map[string]string{"app.kubernetes.io/part-of": "groundskeeper"}) {
		t.Error("any pod of Groundskeeper reaches etcd")
	}
}

// admits reports whether the policy of a workload lets pods of its namespace in at a port.
func (i *installation) admits(t *testing.T, policy, port string, pod map[string]string) bool {
	t.Helper()
	for _, rule := range i.policies[policy].Spec.Ingress {
		for _, p := range rule.Ports {
			for _, from := range rule.From {
				if p.Port.String() == port && from.NamespaceSelector == nil && matches(t, from.PodSelector, pod) {
					return true
				}
			}
		}
	}
	return false
}

func matches(t *testing.T, selector *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	chooses, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return chooses.Matches(labels.Set(pod))
}

// TestAPIServerLivesWithoutEtcd checks that an API server without etcd is not ready but live, because a restart would not help and
// would add the delay until kubelet restarts it. One whose etcd is full stays ready: it still serves reads and deletions, and without ready
// replicas every deletion of a namespace would wait.
func TestAPIServerLivesWithoutEtcd(t *testing.T) {
	for _, overlay := range []string{"high-availability", "external-etcd", "single-replica"} {
		container := render(t, overlay).workload(t, apiserver).template.Spec.Containers[0]
		for what, want := range map[*corev1.Probe]string{
			container.StartupProbe: "/livez", container.LivenessProbe: "/livez?exclude=etcd",
			container.ReadinessProbe: "/readyz?exclude=etcd-space",
		} {
			if what.HTTPGet.Path != want {
				t.Errorf("%s: a probe queries %s instead of %s", overlay, what.HTTPGet.Path, want)
			}
		}
	}
}
