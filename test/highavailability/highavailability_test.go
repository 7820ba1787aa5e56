// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package highavailability

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	apiserver = "groundskeeper-apiserver"
	manager   = "groundskeeper-controller-manager"
	etcd      = "groundskeeper-etcd"
)

// TestReplicas checks that every referenced object exists, and that every workload tolerates the loss of one pod.
func TestReplicas(t *testing.T) {
	for overlay, replicas := range map[string]map[string]int32{
		"high-availability": {apiserver: 2, manager: 2, etcd: 3},
		"external-etcd":     {apiserver: 2, manager: 2},
	} {
		t.Run(overlay, func(t *testing.T) {
			i := render(t, overlay)
			if len(i.workloads) != len(replicas) {
				t.Fatalf("%d workloads", len(i.workloads))
			}
			for name, n := range replicas {
				w := i.workload(t, name)
				if w.replicas != n {
					t.Errorf("%s has %d replicas", name, w.replicas)
				}
				if chosen := i.selected(t, w.selector); len(chosen) != 1 || chosen[0].name != name {
					t.Errorf("the selector of %s chooses the pods of %d", name, len(chosen))
				}
				budget := i.budgets[name]
				if chosen := i.selected(t, budget.Spec.Selector); len(chosen) != 1 || chosen[0].name != name || *budget.Spec.MaxUnavailable != intstr.FromInt32(1) {
					t.Errorf("the budget of %s: %+v", name, budget.Spec)
				}
				if len(w.template.Spec.TopologySpreadConstraints) == 0 {
					t.Errorf("%s is not spread over zones", name)
				}
				restricted(t, w)
				probed(t, w)
			}
			for _, name := range []string{apiserver, manager} {
				rolling := i.deployments[name].Spec.Strategy.RollingUpdate
				if rolling == nil || *rolling.MaxUnavailable != intstr.FromInt32(0) || *rolling.MaxSurge != intstr.FromInt32(1) {
					t.Errorf("the update of %s: %+v", name, i.deployments[name].Spec.Strategy)
				}
			}
			i.servicesLead(t)
			i.policiesName(t)
		})
	}
}

// servicesLead checks that every Service leads to pods with its ports.
func (i *installation) servicesLead(t *testing.T) {
	t.Helper()
	for name, service := range i.services {
		var found []workload
		for _, w := range i.workloads {
			if len(service.Spec.Selector) > 0 && contains(w.template.Labels, service.Spec.Selector) {
				found = append(found, w)
			}
		}
		if len(found) != 1 {
			t.Errorf("Service %s leads to the pods of %d", name, len(found))
			continue
		}
		for _, port := range service.Spec.Ports {
			if !found[0].port(port.TargetPort.String()) {
				t.Errorf("Service %s: %s has no port %s", name, found[0].name, port.TargetPort.String())
			}
		}
	}
}

// policiesName checks that every workload has a policy for its pods alone, and that its ports are theirs.
func (i *installation) policiesName(t *testing.T) {
	t.Helper()
	protected := map[string]bool{}
	for name, policy := range i.policies {
		chosen := i.selected(t, &policy.Spec.PodSelector)
		if len(chosen) != 1 {
			t.Errorf("NetworkPolicy %s is for %d workloads", name, len(chosen))
			continue
		}
		protected[chosen[0].name] = true
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if !chosen[0].port(port.Port.String()) {
					t.Errorf("NetworkPolicy %s: %s has no port %s", name, chosen[0].name, port.Port.String())
				}
			}
			for _, from := range rule.From {
				if from.PodSelector != nil && len(i.selected(t, from.PodSelector)) == 0 && !contains(from.PodSelector.MatchLabels, backupLabels) {
					t.Errorf("NetworkPolicy %s admits no client: %+v", name, from)
				}
			}
		}
	}
	if len(protected) != len(i.workloads) {
		t.Errorf("policies are for %v only", protected)
	}
}

func contains(labels, some map[string]string) bool {
	for key, value := range some {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// restricted checks what the pod security standard of the namespace requests.
func restricted(t *testing.T, w workload) {
	t.Helper()
	spec := w.template.Spec
	if s := spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: %+v", w.name, s)
	}
	if spec.HostNetwork || spec.HostPID || spec.HostIPC {
		t.Errorf("%s has a namespace of the host", w.name)
	}
	for _, v := range spec.Volumes {
		if v.Secret == nil && v.ConfigMap == nil && v.PersistentVolumeClaim == nil && v.EmptyDir == nil && v.Projected == nil {
			t.Errorf("%s: volume %s", w.name, v.Name)
		}
	}
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Privileged != nil && *s.Privileged || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			t.Fatalf("%s, container %s: %+v", w.name, c.Name, s)
		}
		if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s, container %s: %+v", w.name, c.Name, s.Capabilities)
		}
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				t.Errorf("%s, container %s has a port of the host", w.name, c.Name)
			}
		}
	}
}

// probed checks that probes query ports that exist, and that every volume that is mounted is there.
func probed(t *testing.T, w workload) {
	t.Helper()
	volumes := map[string]bool{"data": w.kind == "StatefulSet"}
	for _, v := range w.template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range w.template.Spec.Containers {
		for what, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || !w.port(probe.HTTPGet.Port.String()) {
				t.Errorf("%s: the %s probe: %+v", w.name, what, probe)
			}
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s has no volume %s", w.name, m.Name)
			}
		}
	}
}

// TestEtcdMembers checks that the members of etcd and the API servers use the same names.
func TestEtcdMembers(t *testing.T) {
	i := render(t, "high-availability")
	member, service := i.workload(t, etcd), i.services[i.etcd.Spec.ServiceName]
	if service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		t.Errorf("Service %s: members cannot find each other before they are ready: %+v", service.Name, service.Spec)
	}
	var members, servers []string
	domain := service.Name + "." + service.Namespace + ".svc"
	for n := range member.replicas {
		name := fmt.Sprintf("%s-%d", i.etcd.Name, n)
		members = append(members, fmt.Sprintf("%s=https://%s.%s:2380", name, name, domain))
		servers = append(servers, fmt.Sprintf("https://%s.%s:2379", name, domain))
	}
	flags := member.flags()
	for flag, want := range map[string]string{
		"name": "$(POD_NAME)", "initial-cluster": strings.Join(members, ","),
		"advertise-client-urls": "https://$(POD_NAME)." + domain + ":2379", "initial-advertise-peer-urls": "https://$(POD_NAME)." + domain + ":2380",
		"client-cert-auth": "", "peer-client-cert-auth": "",
	} {
		if got, ok := flags[flag]; !ok || got != want {
			t.Errorf("etcd --%s=%s, not %s", flag, got, want)
		}
	}
	mounted(t, member, "groundskeeper-etcd-tls", flags["cert-file"], flags["key-file"], flags["trusted-ca-file"], flags["peer-cert-file"], flags["peer-key-file"], flags["peer-trusted-ca-file"])

	state := false
	for _, env := range member.template.Spec.Containers[0].Env {
		if from := env.ValueFrom; env.Name == "ETCD_INITIAL_CLUSTER_STATE" && from != nil && from.ConfigMapKeyRef != nil {
			_, state = i.config[from.ConfigMapKeyRef.Name].Data[from.ConfigMapKeyRef.Key]
		}
	}
	if !state { // a change of the StatefulSet would restart members while one is missing
		t.Error("a member cannot be replaced without a restart of the others")
	}

	server := i.workload(t, apiserver)
	flags = server.flags()
	if got, want := flags["etcd-servers"], strings.Join(servers, ","); got != want {
		t.Errorf("API servers: --etcd-servers=%s, not %s", got, want)
	}
	if _, ok := flags["embedded-etcd-dir"]; ok {
		t.Error("API servers have an etcd inside")
	}
	mounted(t, server, "groundskeeper-etcd-client-tls", flags["etcd-cafile"], flags["etcd-certfile"], flags["etcd-keyfile"])
	if _, ok := i.workload(t, manager).flags()["etcd-certificates"]; !ok {
		t.Error("nothing issues the certificates of etcd")
	}
	var secrets []string
	for _, rule := range i.roles[manager+"-etcd"].Rules {
		secrets = append(secrets, rule.ResourceNames...)
	}
	if want := []string{"groundskeeper-etcd-ca", "groundskeeper-etcd-tls", "groundskeeper-etcd-client-tls"}; !slices.Equal(secrets, want) {
		t.Errorf("the controller manager may write %v, not %v", secrets, want)
	}
	for _, w := range i.workloads {
		for _, v := range w.template.Spec.Volumes {
			if v.Secret != nil && v.Secret.SecretName == "groundskeeper-etcd-ca" {
				t.Errorf("%s can read the key of the CA", w.name)
			}
		}
	}
}

// mounted checks that files are those of a Secret.
func mounted(t *testing.T, w workload, secret string, files ...string) {
	t.Helper()
	directory := ""
	for _, v := range w.template.Spec.Volumes {
		if v.Secret == nil || v.Secret.SecretName != secret {
			continue
		}
		for _, m := range w.template.Spec.Containers[0].VolumeMounts {
			if m.Name == v.Name {
				directory = m.MountPath
			}
		}
	}
	for n, file := range files {
		if name, ok := strings.CutPrefix(file, directory+"/"); directory == "" || !ok || !slices.Contains([]string{"ca.crt", "tls.crt", "tls.key"}, name) {
			t.Errorf("%s: file %d, %q, is not of Secret %s", w.name, n, file, secret)
		}
	}
}

// TestExternalEtcd checks that an external etcd requires two Secrets and no other change.
func TestExternalEtcd(t *testing.T) {
	i := render(t, "external-etcd")
	server := i.workload(t, apiserver)
	flags := server.flags()
	if flags["etcd-servers"] != "$(ETCD_SERVERS)" {
		t.Errorf("--etcd-servers=%s", flags["etcd-servers"])
	}
	mounted(t, server, "groundskeeper-etcd-client-tls", flags["etcd-cafile"], flags["etcd-certfile"], flags["etcd-keyfile"])
	if _, ok := i.workload(t, manager).flags()["etcd-certificates"]; ok {
		t.Error("it would make certificates for an etcd that does not exist")
	}
	env := server.template.Spec.Containers[0].Env
	at := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "ETCD_SERVERS" })
	if at < 0 || env[at].ValueFrom.SecretKeyRef.Name != "groundskeeper-etcd-servers" || env[at].ValueFrom.SecretKeyRef.Key != "servers" {
		t.Errorf("%+v", env)
	}
}
